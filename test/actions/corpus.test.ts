/** Real configs as a global file of each host: only the asked rule, nothing else, and back, judged by the naive reference. */
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Node } from "jsonc-parser"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { FileChange } from "../../src/core/candidates.ts"
import { decide } from "../../src/core/evaluate.ts"
import { SKILLS, UNKNOWN } from "../core/plan-world.ts"
import { naiveConfig } from "../core/reference.ts"
import { type CorpusFile, corpusFiles, hasCorpus, lineEndsOf, writeReferences } from "../corpus.ts"
import {
  type Action,
  KINDS,
  type Kind,
  makePlace,
  objectOf,
  type Planned,
  parsed,
  referenceHost,
} from "./reference-host.ts"

interface Row {
  files: number
  edits: number
  /** Ids for which no exact rule stood: disabled and enabled again, the file has its old bytes. */
  promised: number
  restored: number
  unchanged: number
  refused: Record<string, number>
}
const emptyRow = (): Row => ({ files: 0, edits: 0, promised: 0, restored: 0, unchanged: 0, refused: {} })

describe.skipIf(!hasCorpus)("real configs", () => {
  let place: ReturnType<typeof makePlace>
  beforeAll(() => {
    place = makePlace()
  })
  afterAll(() => place.remove())

  test.each(KINDS)("$name", { timeout: 120_000 }, async (kind) => {
    const rows = new Map<string, Row>()
    const failures: string[] = []
    // What is the beta's own is how it reads a document, whatever the id.
    const ids = (text: string) => (kind.name === "OpenCode 2 beta" ? [NEW] : targetsIn(text))
    for (const file of corpusFiles().filter(({ name }) => kind.names.includes(name))) {
      const label = kindOf(file.text)
      const row = rows.get(label) ?? emptyRow()
      rows.set(label, row)
      row.files++
      writeReferences(file.text, place)
      for (const id of ids(file.text))
        await tryOut(kind, place, file, id, row).catch((error) => failures.push(`${file.label}, ${id}: ${error}`))
    }
    console.log(kind.name)
    console.table(tableOf(rows))
    expect(failures).toEqual([])
  })
})

async function tryOut(
  kind: Kind,
  place: ReturnType<typeof makePlace>,
  file: CorpusFile,
  id: string,
  row: Row,
): Promise<void> {
  const path = join(place.configDir, file.name)
  const host = referenceHost(kind, place, file.name, [...new Set([...SKILLS, ...namedIn(file.text), id])])
  const ids = [
    ...new Set([...SKILLS, ...host.agents(file.text).flatMap(({ rules }) => rules.map(coveredBy)), UNKNOWN, id]),
  ]
  try {
    writeFileSync(path, file.bytes)
    const there = await step("disable")
    if (there === "refused") return
    const back = await step("enable")
    if (there === "unchanged") row.unchanged++
    if (there === "unchanged" || namedIn(file.text).includes(id)) return
    row.promised++
    expect([back, host.text()]).toEqual(["change", file.text])
    row.restored++
  } finally {
    for (const name of [file.name, "skill_management.state.json"]) rmSync(join(place.configDir, name), { force: true })
  }

  async function step(action: Action): Promise<Planned["kind"]> {
    const text = host.text()
    const planned = await host.plan(action, id)
    if (planned.kind === "refused") await expectRefused(action, planned.code)
    if (planned.kind !== "change") return planned.kind
    const { plan } = planned
    const reason = plan.targets[0]?.reason ?? ""
    const before = host.effects(ids)
    for (const change of plan.changes) expectOwnBytes(change, id)
    host.write(planned)
    row.edits++
    const after = host.effects(ids)
    for (const agent of host.agents(text)) {
      const [was, is] = [before[agent.id], after[agent.id]]
      expect([agent.id, { ...is, [id]: null }]).toEqual([agent.id, { ...was, [id]: null }])
      const foreseen = plan.outcomes.find((outcome) => outcome.agent.id === agent.id)?.after
      expect([agent.id, foreseen && decide(foreseen, id).effect]).toEqual([agent.id, is?.[id]])
      const reached = agent.inReach && !plan.unreached.some((blocked) => blocked.agent === agent.id)
      if (reached) expect(wishedFor(action, reason), agent.id).toContain(is?.[id])
    }
    // The first `enable` is content with a broad `ask`, the second is not (docs/reference/prediction.md).
    const asks = reason === "rule_removed" && host.agents().some((a) => a.inReach && after[a.id]?.[id] === "ask")
    const again = await host.plan(action, id)
    if (asks) expect(again).toMatchObject({ plan: { targets: [{ reason: "allow_added" }] } })
    else expect(again.kind).not.toBe("change")
    return "change"
  }

  async function expectRefused(action: Action, code: string): Promise<void> {
    row.refused[code] = (row.refused[code] ?? 0) + 1
    expect(await host.call(action, id)).toMatchObject({ ok: false, error: { code } })
    expect(readFileSync(path).equals(file.bytes)).toBe(true)
    // Another encoding is refused for what it is.
    const isUtf8 = Buffer.from(file.text, "utf8").equals(file.bytes)
    expect(code === "config_unparsable").toBe(isUtf8 && !parsed(file.text))
    if (code !== "not_effective") return
    const effect = action === "disable" ? "deny" : "allow"
    const [before, after] = [host.effects(ids), host.effects(ids, plainly(file.text, id, effect))]
    const others = (of: typeof before) => Object.values(of).map((own) => ({ ...own, [id]: null }))
    const served = host.agents().every((agent) => !agent.inReach || after[agent.id]?.[id] === effect)
    expect(served && JSON.stringify(others(before)) === JSON.stringify(others(after))).toBe(false)
  }
}

/** Where the rule goes, a broader `ask` may be what is left. */
const wishedFor = (action: Action, reason: string): string[] =>
  action === "disable" ? ["deny"] : reason === "rule_removed" ? ["allow", "ask"] : ["allow"]

/** The plainest edit there is, without a care for the text: the rule last in its section. */
function plainly(text: string, id: string, effect: string): string {
  const { permission, permissions, ...rest } = naiveConfig(text)
  if (Array.isArray(permissions))
    return JSON.stringify({ ...rest, permissions: [...permissions, { action: "skill", resource: id, effect }] })
  const map = typeof permission === "string" ? { "*": permission } : objectOf(permission)
  const skill = typeof map.skill === "string" ? { "*": map.skill } : objectOf(map.skill)
  return JSON.stringify({ ...rest, permission: { ...map, skill: { ...skill, [id]: effect } } })
}

const NEW = "new-skill"
const isPattern = (resource: string): boolean => /[*?]/.test(resource)
const coveredBy = ([, resource]: readonly [unknown, string, unknown]): string =>
  resource.replaceAll("*", "covered").replaceAll("?", "x")

/** The resources of a file's own rules for skills, at its top level. */
function resourcesIn(text: string): string[] {
  const { permission, permissions } = parsed(text) ? naiveConfig(text) : {}
  const elements = Array.isArray(permissions) ? permissions.map(objectOf) : []
  const named = elements.filter(({ action }) => action === "skill").map(({ resource }) => String(resource))
  return [...Object.keys(objectOf(objectOf(permission).skill)), ...named]
}

const namedIn = (text: string): string[] => resourcesIn(text).filter((resource) => !isPattern(resource))

/** A new id, an integer-like one, one that has an exact rule, one that a pattern covers. */
function targetsIn(text: string): string[] {
  const covered = resourcesIn(text)
    .filter(isPattern)
    .slice(-1)
    .map((pattern) => coveredBy(["", pattern, ""]))
  return [...new Set([NEW, "7", ...namedIn(text).slice(0, 1), ...covered])]
}

/** The form in which a file holds its skill rules, and how its lines end. */
function kindOf(text: string): string {
  if (text === "") return "no bytes"
  if (!parsed(text)) return "unparsable"
  const { permission, permissions } = naiveConfig(text)
  const { skill } = objectOf(permission)
  const sorts = [
    permissions !== undefined && "permissions array",
    permission === undefined && "no section",
    typeof permission === "string" && "permission: string",
    Array.isArray(permission) && "permission: array",
    skill === undefined && "permission without skill",
    typeof skill === "string" && "skill: string",
  ]
  const ends = lineEndsOf(text)
  return (sorts.find(Boolean) || "skill: map") + (ends === "LF" ? "" : `, ${ends}`)
}

function tableOf(rows: ReadonlyMap<string, Row>) {
  const all = emptyRow()
  for (const row of rows.values()) {
    for (const key of ["files", "edits", "promised", "restored", "unchanged"] as const) all[key] += row[key]
    for (const [code, count] of Object.entries(row.refused)) all.refused[code] = (all.refused[code] ?? 0) + count
  }
  const listed = [...[...rows].sort(), ["all", all] as const]
  const refused = (row: Row) =>
    Object.entries(row.refused)
      .map((entry) => entry.join(" "))
      .join(", ")
  return Object.fromEntries(listed.map(([label, row]) => [label, { ...row, refused: refused(row) }]))
}

/** Strings, comments, punctuation, literals: everything in a text but its blanks. */
const wordsOf = (text: string): string[] =>
  text.match(/"(?:[^"\\]|\\.)*"|\/\/[^\r\n]*|\/\*[\s\S]*?\*\/|[{}[\],:]|[^\s{}[\],:"]+/g) ?? []

const KEYS = ["permission", "permissions", "skill", "action", "resource", "effect", "*", "allow", "ask", "deny"]
const OWN_WORDS = [..."{}[],:", ...KEYS.map((key) => `"${key}"`), "// skill_management"]

const breaksOf = (text: string): string[] => [...new Set(text.match(/\r\n|\n|\r/g))]

/** Outside the reported section every byte stays; in it only words of the one rule come or go, in the file's habits. */
function expectOwnBytes({ file, before, after, section }: FileChange, id: string): void {
  const texts = [before ?? "", after ?? ""] as const
  const least = Math.min(texts[0].length, texts[1].length)
  let start = 0
  while (start < least && texts[0][start] === texts[1][start]) start++
  let tail = 0
  while (tail < least - start && texts[0].at(-1 - tail) === texts[1].at(-1 - tail)) tail++
  const inBoth = texts.every((text) => section in naiveConfig(text))
  for (const text of texts) {
    const [from, to] = spanOf(text, section, inBoth)
    expect(start).toBeGreaterThanOrEqual(from)
    expect(text.length - tail).toBeLessThanOrEqual(to)
  }
  const [old, fresh] = [wordsOf(texts[0]), wordsOf(texts[1])]
  const moved = [...surplus(old, fresh), ...surplus(fresh, old)]
  expect(moved.filter((word) => !OWN_WORDS.includes(word) && word !== JSON.stringify(id))).toEqual([])
  const changedInPlace = namedIn(texts[0]).includes(id) && namedIn(texts[1]).includes(id)
  if (!changedInPlace) expect(isPartOf(old, fresh) || isPartOf(fresh, old)).toBe(true)
  if (breaksOf(texts[0]).length > 0) expect(breaksOf(texts[0])).toEqual(expect.arrayContaining(breaksOf(texts[1])))
  if (file.name.endsWith(".json")) expect(texts[1]).not.toContain("// skill_management")
}

/** The stretch that a section takes; where one of the texts has none, the end of the document. */
function spanOf(text: string, section: string, inBoth: boolean): [from: number, to: number] {
  const members = parsed(text)?.children ?? []
  const isSection = (member: Node) => member.children?.[0]?.value === section
  const own = members.find(isSection)
  if (inBoth && own) return [own.offset, own.offset + own.length]
  const other = members.filter((member) => !isSection(member)).at(-1)
  return [other ? other.offset + other.length : 0, text.length]
}

/** The words of `some` that `all` has not as often. */
function surplus(some: readonly string[], all: readonly string[]): string[] {
  const left = new Map<string, number>()
  for (const word of all) left.set(word, (left.get(word) ?? 0) + 1)
  return some.filter((word) => {
    const count = left.get(word) ?? 0
    left.set(word, count - 1)
    return count <= 0
  })
}

/** Whether all words of `few` stand in `many`, in the same order. */
function isPartOf(few: readonly string[], many: readonly string[]): boolean {
  let at = 0
  for (const word of many) if (word === few[at]) at++
  return at === few.length
}
