import { member } from "../core/config-text.ts"
import type { Ruleset } from "../core/evaluate.ts"
import { compareSidecar } from "../core/sidecar.ts"
import { isFileProblem, readConfigFile } from "../files/config-file.ts"
import { unfinishedChanges } from "../files/journal.ts"
import type { ListBody, Next, Notice } from "../tool/answer-schema.ts"
import { cut } from "../tool/budget.ts"
import type { Outcome } from "../tool/envelope.ts"
import type { Request } from "../tool/input.ts"
import { notice } from "../tool/notices.ts"
import { configUnparsable, invalidInput, isProblem, type Problem } from "../tool/problems.ts"
import { modelDiffers } from "./differing.ts"
import { keeps } from "./filter.ts"
import { dialectFor, globalFiles, realPathOf, targetFile } from "./global-files.ts"
import { cursorBehind, fillPage, inOrder, type Page, resume } from "./page.ts"
import type { Host } from "./ports.ts"
import { tokensOf } from "./prompt.ts"
import { globalSkillRules, readSidecar } from "./records.ts"
import { type FullRow, rowsOf } from "./rows.ts"
import { lookAround, type Scene, stateIn } from "./world.ts"

const MAX_CHANGES = 10
const MAX_AGENTS = 40
const MAX_CONSISTENCY = 20

/** `list`: every skill, its state for the caller, and what the tool would write to. Writes nothing. */
export async function list(host: Host, request: Request, given: readonly Notice[]): Promise<Outcome | Problem> {
  const scene = await lookAround(host, request.agent)
  if (isProblem(scene)) return scene
  const all = inOrder(scene.skills.map(rowsOf(scene)))
  const filtered = all.filter(keeps(request))
  const traits = Object.entries(request.where ?? {}).sort()
  const filter = JSON.stringify([request.match, traits, request.query, request.agent])
  const from = request.cursor === undefined ? 0 : resume(request.cursor, filter, filtered)
  if (from === null) {
    const hint = "start again without `cursor`, with the same filters"
    return invalidInput("the cursor does not belong to this call", hint, { field: "cursor" })
  }
  const rest = filtered.slice(from)
  const notices = [...given, ...scene.notices, ...(await standingNotices(scene, all))]
  const summaryOnly = request.limit === 0
  const first = from === 0 && !summaryOnly
  const details = first ? await detailsOf(scene) : () => ({})
  const problem = await configProblem(scene)
  const summary = summaryOf(scene, all)
  const page: Page = (rows, share) => {
    const missing = rows.length < rest.length && !summaryOnly
    const nextCursor = missing && rows.length > 0 ? cursorBehind(from + rows.length - 1, filter, filtered) : null
    const found = missing || from > 0 ? [notice("rows_missing", { shown: rows.length, total: filtered.length })] : []
    return {
      body: {
        callerAgent: { id: scene.caller?.id ?? null, verified: scene.verified },
        summary: summary(share),
        skills: [...rows],
        page: { total: filtered.length, returned: rows.length, nextCursor },
        ...details(share),
      } satisfies ListBody,
      notices: [...found, ...notices],
      next: nextOf(request, nextCursor, filtered),
      ...(problem && { problem }),
    }
  }
  return fillPage(host, request, rest, page)
}

function summaryOf(scene: Scene, rows: readonly FullRow[]): (share: number) => ListBody["summary"] {
  const count = (state: string) => rows.filter((row) => row.state === state).length
  const statesIn = (ruleset: Ruleset | null) => scene.skills.map((skill) => stateIn(ruleset, skill))
  const seen = scene.agents.map((agent) => ({ agent, states: statesIn(agent.now) }))
  const agents = seen.map(({ agent, states }) => {
    const of = (state: string) => states.filter((other) => other === state).length
    return {
      id: agent.id,
      hidden: agent.hidden,
      skillTool: agent.skillTool,
      available: of("available"),
      ask: of("ask"),
      disabled: of("disabled"),
      tokens: tokensOf(states, agent.skillTool, scene.skills),
    }
  })
  const own = statesIn(scene.caller?.now ?? null)
  const others = seen.filter(({ agent }) => !agent.hidden && agent !== scene.caller)
  const counts = {
    total: rows.length,
    available: count("available"),
    disabled: count("disabled"),
    ask: count("ask"),
    diverged: own.filter((state, i) => others.some(({ states }) => states[i] !== state)).length,
    derivedIds: scene.skills.filter((skill) => skill.idFrom === "path").length,
  }
  return (share) => ({ ...counts, ...cut("agents", agents, Math.ceil(MAX_AGENTS * share)) })
}

type Details = Pick<ListBody, "config" | "sidecar" | "consistency">

async function detailsOf(scene: Scene): Promise<(share: number) => Details> {
  const { host, observation } = scene
  const files = globalFiles(host, observation)
  const { file, why } = targetFile(host, files)
  const { dialect, note } = dialectFor(host, file, observation.configJson)
  const realFile = await realPathOf(file.path)
  const sidecar = await readSidecar(host)
  const registered = new Set(scene.skills.flatMap((skill) => skill.id ?? []))
  const records = sidecar.records.filter((record) => record.generation === host.generation)
  const findings = compareSidecar(records, globalSkillRules(observation), registered)
  const most = (share: number) => Math.ceil(MAX_CONSISTENCY * share)
  return (share) => ({
    config: {
      file: file.path,
      ...(realFile && { realFile }),
      configDir: host.configDirectory,
      configDirs: [...host.configDirectories],
      hadPermissions: member(file.text?.tree, "permissions")?.type === "array",
      dialect,
      notes: [why, note],
    },
    sidecar: { file: sidecar.path, ok: sidecar.error === null, error: sidecar.error },
    consistency: {
      ...cut("staleSidecarIds", findings.staleSidecarIds, most(share)),
      ...cut("unrecordedRules", findings.unrecordedRules, most(share)),
      ...cut("missingFromRegistry", findings.missingFromRegistry, most(share)),
    },
  })
}

async function standingNotices(scene: Scene, rows: readonly FullRow[]): Promise<Notice[]> {
  const notices: Notice[] = []
  const unfinished = await unfinishedChanges(scene.host.stateDirectory).catch(() => [])
  const newestFirst = unfinished.map(({ change }) => change).toReversed()
  if (unfinished.length > 0) notices.push(notice("unfinished_change", cut("changes", newestFirst, MAX_CHANGES)))
  if (rows.some((row) => row.pending !== undefined)) notices.push(notice("restart_pending"))
  if (scene.caller && !scene.next) notices.push(...modelDiffers(scene, [scene.caller]))
  const holders = [...new Set(globalSkillRules(scene.observation).map((rule) => rule.file))]
  if (holders.length > 1) notices.push(notice("both_files", { files: holders }))
  return notices
}

async function configProblem(scene: Scene): Promise<Problem | undefined> {
  const broken = globalFiles(scene.host, scene.observation).find(({ text }) => text?.error)
  if (!broken?.text?.error) return undefined
  const found = await readConfigFile(broken.path)
  const lossy = !isFileProblem(found) && found.lossy
  return configUnparsable({ file: broken.path, ...broken.text.error, ...(lossy && { reason: "NotUtf8" }) })
}

function nextOf(request: Request, nextCursor: string | null, rows: readonly FullRow[]): Next[] {
  const next: Next[] = []
  const { cursor: _, ...call } = request
  if (nextCursor !== null) next.push({ why: "the next page", input: { ...call, cursor: nextCursor } })
  const hidden = rows.find((row) => row.id !== null && row.state !== "available") ?? rows.find((row) => row.id !== null)
  if (hidden) next.push({ why: "why this skill is as it is", input: { action: "inspect", id: hidden.id } })
  return next
}
