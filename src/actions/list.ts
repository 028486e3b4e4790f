import { compareIds } from "../core/order.ts"
import { compareSidecar } from "../core/sidecar.ts"
import { compilePattern } from "../core/wildcard.ts"
import { unfinishedChanges } from "../files/journal.ts"
import type { ListBody, Next, Notice, Row } from "../tool/answer-schema.ts"
import { bytesOf, cut, fits, MAX_BYTES, PAGE_BYTES } from "../tool/budget.ts"
import { decodeCursor, encodeCursor } from "../tool/cursor.ts"
import { envelope, type Outcome, render } from "../tool/envelope.ts"
import type { Request } from "../tool/input.ts"
import { notice } from "../tool/notices.ts"
import { configUnparsable, invalidInput, isProblem, type Problem } from "../tool/problems.ts"
import { ROW_FIELDS } from "../tool/vocabulary.ts"
import { dialectFor, globalFiles, realPathOf, targetFile } from "./global-files.ts"
import type { Host } from "./ports.ts"
import { globalSkillRules, readSidecar } from "./records.ts"
import { type FullRow, rowOf } from "./rows.ts"
import { lookAround, type Scene, stateIn, stateOf, tokensOf } from "./world.ts"

const MAX_AGENTS = 40
const MAX_CONSISTENCY = 20

/** `list`: every skill, its state for the caller, and what the tool would write to. Writes nothing. */
export async function list(host: Host, request: Request, given: readonly Notice[]): Promise<Outcome | Problem> {
  const scene = await lookAround(host, request.agent)
  if (isProblem(scene)) return scene
  const all = scene.skills.map((skill) => rowOf(scene, skill)).sort(byId)
  const filtered = all.filter((row) => keeps(request, row))
  const filter = JSON.stringify([request.match, request.where, request.query, request.agent])
  const after = request.cursor === undefined ? null : decodeCursor(request.cursor, filter)
  if (after === "unusable")
    return invalidInput(
      "the cursor does not belong to this call",
      "start again without `cursor`, with the same filters",
      {
        field: "cursor",
      },
    )
  const rest = after === null ? filtered : filtered.filter((row) => compareIds(keyOf(row), after) > 0)
  const notices = [...given, ...scene.notices, ...(await standingNotices(scene, all))]
  const summaryOnly = request.limit === 0
  const first = after === null && !summaryOnly
  const details = first ? await detailsOf(scene) : {}
  const problem = configProblem(scene)
  const summary = summaryOf(scene, all)
  const page = (rows: readonly Row[], shown: number): Outcome => {
    const last = rest[shown - 1]
    const missing = shown < rest.length && !summaryOnly
    const nextCursor = missing && last ? encodeCursor(filter, keyOf(last)) : null
    const partial = missing || after !== null
    const found = partial ? [notice("rows_missing", { shown, total: filtered.length })] : []
    return {
      body: {
        callerAgent: { id: scene.caller?.id ?? null, verified: scene.verified },
        summary,
        skills: [...rows],
        page: { total: filtered.length, returned: rows.length, nextCursor },
        ...details,
      } satisfies ListBody,
      notices: [...found, ...notices],
      next: nextOf(request, nextCursor, filtered),
      ...(problem && { problem }),
    }
  }
  return fillPage(host, request, rest, page)
}

/** Adds whole rows for as long as the answer stays within its budget. */
function fillPage(
  host: Host,
  request: Request,
  rest: readonly FullRow[],
  page: (rows: readonly Row[], shown: number) => Outcome,
): Outcome {
  const most = request.limit ?? rest.length
  const budget = request.limit === undefined ? PAGE_BYTES : MAX_BYTES
  const rendered = (outcome: Outcome) => render(envelope("list", host, outcome))
  const rows: Row[] = []
  // The widest frame: the notice of missing rows and a cursor are both in it.
  let bytes = bytesOf(rendered(page([], Math.min(1, rest.length - 1)))) + CURSOR_BYTES
  for (const full of rest.slice(0, most)) {
    const whole = project(full, request)
    const size = bytesOf(render({ row: [whole] }))
    const row = size > LARGEST_ROW && "description" in whole ? withoutDescription(whole) : whole
    bytes += row === whole ? size : bytesOf(render({ row: [row] }))
    if (bytes > budget) break
    rows.push(row)
  }
  // A page that shows nothing would never come to an end.
  const [next] = rest
  if (rows.length === 0 && next && most > 0) rows.push(withoutDescription(project(next, request)))
  let outcome = page(rows, rows.length)
  for (; rows.length > 1 && !fits(rendered(outcome)); rows.pop()) outcome = page(rows, rows.length)
  return outcome
}

/** Room for a cursor and the words around it. */
const CURSOR_BYTES = 1_024
/** A row beyond this leaves no room for others. */
const LARGEST_ROW = 8 * 1024

function project(row: FullRow, request: Request): Row {
  const line = row.description?.split(/\r\n|\n|\r/, 1)[0] ?? null
  const whole: Row = { ...row, description: line }
  if (!request.fields) return whole
  const wanted = new Set<string>(request.fields)
  return Object.fromEntries(
    ROW_FIELDS.flatMap((field) => (wanted.has(field) && field in whole ? [[field, whole[field]]] : [])),
  )
}

const withoutDescription = (row: Row): Row => ({ ...row, description: null, truncated: ["description"] })

/** Skills without an id come last, by path. */
const keyOf = (row: FullRow): string => (row.id === null ? `1${row.path ?? ""}` : `0${row.id}`)
const byId = (a: FullRow, b: FullRow): number => compareIds(keyOf(a), keyOf(b))

function keeps(request: Request, row: FullRow): boolean {
  const { match, where, query } = request
  if (match !== undefined && !(row.id !== null && compilePattern(match).matches(row.id))) return false
  if (where?.source !== undefined && row.source !== where.source) return false
  if (where?.scope !== undefined && row.scope !== where.scope) return false
  if (where?.state !== undefined && row.state !== asState(where.state)) return false
  if (where?.path !== undefined && !(row.path !== null && compilePattern(where.path).matches(row.path))) return false
  if (query === undefined) return true
  const wanted = query.toLowerCase()
  return [row.id, row.name, row.description, row.path].some((text) => text?.toLowerCase().includes(wanted))
}

const asState = (word: string): string => (word === "allow" || word === "deny" ? stateOf(word) : word)

function summaryOf(scene: Scene, rows: readonly FullRow[]): ListBody["summary"] {
  const count = (state: string) => rows.filter((row) => row.state === state).length
  const agents = scene.agents.map((agent) => {
    const states = scene.skills.map((skill) => stateIn(agent.now, skill))
    const of = (state: string) => states.filter((other) => other === state).length
    return {
      id: agent.id,
      hidden: agent.hidden,
      skillTool: agent.skillTool,
      available: of("available"),
      ask: of("ask"),
      disabled: of("disabled"),
      tokens: tokensOf(agent.now, scene.skills),
    }
  })
  return {
    total: rows.length,
    available: count("available"),
    disabled: count("disabled"),
    ask: count("ask"),
    diverged: scene.skills.filter((skill) => diverges(scene, skill)).length,
    derivedIds: scene.skills.filter((skill) => skill.idFrom === "path").length,
    ...cut("agents", agents, MAX_AGENTS),
  }
}

const diverges = (scene: Scene, skill: Scene["skills"][number]): boolean =>
  scene.agents.some(
    (agent) =>
      !agent.hidden &&
      agent !== scene.caller &&
      stateIn(agent.now, skill) !== stateIn(scene.caller?.now ?? null, skill),
  )

async function detailsOf(scene: Scene): Promise<Pick<ListBody, "config" | "sidecar" | "consistency">> {
  const { host, observation } = scene
  const files = globalFiles(host, observation)
  const { file, why } = targetFile(host, files)
  const { dialect, note } = dialectFor(host, file, observation.configJson)
  const realFile = await realPathOf(file.path)
  const sidecar = await readSidecar(host)
  const registered = new Set(scene.skills.flatMap((skill) => skill.id ?? []))
  const records = sidecar.records.filter((record) => record.generation === host.generation)
  const findings = compareSidecar(records, globalSkillRules(observation), registered)
  const root = file.text?.tree?.children ?? []
  return {
    config: {
      file: file.path,
      ...(realFile && { realFile }),
      configDir: host.configDirectory,
      configDirs: [...host.configDirectories],
      hadPermissions: root.some((property) => property.children?.[0]?.value === "permissions"),
      dialect,
      notes: [why, note],
    },
    sidecar: { file: sidecar.path, ok: sidecar.error === null, error: sidecar.error },
    consistency: {
      ...cut("staleSidecarIds", findings.staleSidecarIds, MAX_CONSISTENCY),
      ...cut("unrecordedRules", findings.unrecordedRules, MAX_CONSISTENCY),
      ...cut("missingFromRegistry", findings.missingFromRegistry, MAX_CONSISTENCY),
    },
  }
}

async function standingNotices(scene: Scene, rows: readonly FullRow[]): Promise<Notice[]> {
  const notices: Notice[] = []
  const unfinished = await unfinishedChanges(scene.host.stateDirectory).catch(() => [])
  if (unfinished.length > 0)
    notices.push(notice("unfinished_change", { changes: unfinished.map(({ change }) => change) }))
  if (rows.some((row) => row.pending !== undefined)) notices.push(notice("restart_pending"))
  if (scene.caller && !scene.caller.next) notices.push(notice("model_differs", { agents: [scene.caller.id] }))
  const holders = [...new Set(globalSkillRules(scene.observation).map((rule) => rule.file))]
  if (holders.length > 1) notices.push(notice("both_files", { files: holders }))
  return notices
}

function configProblem(scene: Scene): Problem | undefined {
  for (const { path, text } of globalFiles(scene.host, scene.observation))
    if (text?.error) return configUnparsable({ file: path, ...text.error })
  return undefined
}

function nextOf(request: Request, nextCursor: string | null, rows: readonly FullRow[]): Next[] {
  const next: Next[] = []
  const { cursor: _, ...call } = request
  if (nextCursor !== null) next.push({ why: "the next page", input: { ...call, cursor: nextCursor } })
  const hidden = rows.find((row) => row.id !== null && row.state !== "available") ?? rows.find((row) => row.id !== null)
  if (hidden) next.push({ why: "why this skill is as it is", input: { action: "inspect", id: hidden.id } })
  return next
}
