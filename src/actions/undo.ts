import type { FileChange } from "../core/candidates.ts"
import { parseJsonc, positionAt, properties } from "../core/config-text.ts"
import { findExactRules } from "../core/dialect/edit.ts"
import { decide } from "../core/evaluate.ts"
import { takenBack } from "../core/inverse.ts"
import { compareIds } from "../core/order.ts"
import { compileAll, firstOf, outcomesOf, sideEffectsOf } from "../core/outcome.ts"
import { type Draft, merged } from "../core/plan-all.ts"
import { replaceRecords } from "../core/sidecar.ts"
import { withoutRules } from "../core/take-back.ts"
import { compilePattern, isLiteral } from "../core/wildcard.ts"
import { type GlobalFile, type World, worldWith } from "../core/world.ts"
import { type Intent, readChanges } from "../files/journal.ts"
import { cut } from "../tool/budget.ts"
import { isProblem, nothingToUndo, type Problem, protectedSkills, undoConflict } from "../tool/problems.ts"
import type { Host } from "./ports.ts"
import type { Ground } from "./rehearse.ts"
import { protectedAmong } from "./targets.ts"

/** A change of this config as the journal tells it. */
export interface PastChange {
  readonly intent: Intent
  /** The change that took it back, while that one stands. */
  readonly undoneBy: string | null
}

/** The finished changes of this host's config, newest first. */
export async function pastChanges(host: Host): Promise<PastChange[]> {
  const changes = await readChanges(host.stateDirectory)
  const undone = new Map<string, string>()
  return changes
    .filter(({ state }) => state === "done")
    .map(({ intent }) => intent)
    .filter((intent) => intent.configDirectory === host.configDirectory && intent.generation === host.generation)
    .toReversed()
    .map((intent) => {
      const undoneBy = undone.get(intent.change) ?? null
      if (intent.undoes !== undefined && undoneBy === null) undone.set(intent.undoes, intent.change)
      return { intent, undoneBy }
    })
}

/** Takes one change back: the newest of this session that still stands, or the one that the call names. */
export async function undoing(ground: Ground): Promise<{ draft: Draft; undoes: string } | Problem> {
  const { world, scene, request, caller } = ground
  const past = choose(await pastChanges(scene.host), request.change, scene.host)
  if (isProblem(past)) return past
  const covered = new Map(past.targets.map((id) => [id, coveredBy(id, world.skills)]))
  const guarded = protectedAmong(scene.host, [...new Set([...covered].flatMap(([id, ids]) => [id, ...ids]))])
  if (guarded.length > 0) return protectedSkills(guarded)
  const edits = editsBack(world, past)
  if (isProblem(edits)) return edits
  const records = replaceRecords(world.records, world.generation, past.targets, past.former)
  const changes = merged(edits)
  const texts = new Map(changes.map(({ file, after }) => [file.name, after]))
  const next = worldWith(world, texts, records)
  const unfit = next.files.find((file) => file.text?.error)
  if (unfit) return undoConflict(unfit.path, { reason: "the file would not parse any more" })
  const before = compileAll(world.rulesets(new Map()))
  const after = compileAll(next.rulesets(new Map()), before)
  const sideEffects = before.flatMap((was, i) => sideEffectsOf(world, past.targets, was, after[i] ?? was))
  const [path] = past.files.map(({ path }) => path)
  if (sideEffects.length > 0) return undoConflict(path ?? "", cut("sideEffects", sideEffects, SHOWN))
  const own = firstOf(after).get(caller.id)
  const targets = past.targets.map((id) => {
    const covers = covered.get(id) ?? []
    const effect = own ? decide(own, covers[0] ?? id).effect : ("ask" as const)
    return { wish: { id, effect, ...(covers.length > 0 && { covers }) }, reason: "undone" as const }
  })
  const outcomes = outcomesOf(world, firstOf(before), firstOf(after))
  return { draft: { targets, changes, edits, records, outcomes, unreached: [], rule: null }, undoes: past.change }
}

const SHOWN = 20

/** The registered skills that a pattern rule is about; none for an exact one. */
const coveredBy = (id: string, skills: readonly string[]): string[] =>
  isLiteral(id) ? [] : skills.filter(compilePattern(id).matches).sort(compareIds)

/** The change that is meant, or those that can be named. */
function choose(past: readonly PastChange[], named: string | undefined, host: Host): Intent | Problem {
  const refuse = (message: string, data: object = {}) => nothingToUndo(message, { ...data, changes: newest(past) })
  if (named === undefined) {
    const own = past.find(
      ({ intent, undoneBy }) =>
        intent.session === host.caller.session && intent.undoes === undefined && undoneBy === null,
    )
    return own?.intent ?? refuse("no change of this session to this config stands")
  }
  const found = past.find(({ intent }) => intent.change === named)
  if (!found) return refuse(`no change \`${named}\` of this config is known`, { change: named })
  return found.undoneBy === null
    ? found.intent
    : refuse(`\`${named}\` is undone already; undo \`${found.undoneBy}\` to make it again`, {
        change: named,
        undoneBy: found.undoneBy,
      })
}

const MAX_CHANGES = 10
const MAX_TARGETS = 5

/** The last changes as an answer tells them, newest first: each can be named. */
export const newest = (past: readonly PastChange[]) =>
  past.slice(0, MAX_CHANGES).map(({ intent, undoneBy }) => ({
    change: intent.change,
    time: intent.time,
    action: intent.action,
    ...cut("targets", [...intent.targets], MAX_TARGETS),
    ...(intent.note !== undefined && { note: intent.note }),
    ...(undoneBy !== null && { undoneBy }),
  }))

/** The edits that take a change back, last edit first; by its text where that is found, else by its rules. */
function editsBack(world: World, past: Intent): FileChange[] | Problem {
  const edits: FileChange[] = []
  for (const path of new Set(past.inverse.map(({ file }) => file))) {
    const file = world.files.find((candidate) => candidate.path === path)
    if (!file) return undoConflict(path, { reason: "it is no global file of this host" })
    const own = past.inverse.filter((inverse) => inverse.file === path).toReversed()
    const rules = past.rules.filter((rule) => rule.file === path)
    if (!stands(file.text?.raw ?? null, rules, "after")) return conflict(file, past)
    const back = byText(file, own, rules) ?? byRules(file, rules, own[0]?.section ?? "permission")
    if (!back) return conflict(file, past)
    edits.push(...back)
  }
  return edits
}

/** Whether each rule is as the change found it, or left it. */
const stands = (text: string | null, rules: Intent["rules"], when: "before" | "after"): boolean => {
  const root = text === null ? undefined : parseJsonc(text)
  return rules.every((rule) => (findExactRules(root, rule.id).at(-1)?.effect ?? null) === rule[when])
}

function byText(file: GlobalFile, inverses: Intent["inverse"], rules: Intent["rules"]): FileChange[] | null {
  const edits: FileChange[] = []
  let now = file.text?.raw ?? null
  for (const inverse of inverses) {
    const after = takenBack(now, inverse)
    if (after === undefined) return null
    edits.push({ file, section: inverse.section, before: now, after })
    now = after
  }
  return stands(now, rules, "before") ? edits : null
}

function byRules(file: GlobalFile, rules: Intent["rules"], section: FileChange["section"]): FileChange[] | null {
  const before = file.text?.raw ?? null
  const after = before === null ? undefined : withoutRules(before, rules)
  return after === undefined ? null : [{ file, section, before, after }]
}

/** Both texts: the rules that the change left, and the section as it stands now. */
function conflict(file: GlobalFile, past: Intent): Problem {
  const rules = past.rules.filter((rule) => rule.file === file.path)
  const text = file.text?.raw ?? ""
  const sections = properties(parseJsonc(text)).filter(({ key }) => key === "permission" || key === "permissions")
  const found = sections.map(({ node }) => ({
    line: positionAt(text, node.offset).line,
    text: text.slice(node.offset, Math.min(node.offset + node.length, node.offset + MAX_TEXT)),
  }))
  return undoConflict(file.path, {
    change: past.change,
    ...cut(
      "ours",
      rules.map(({ id, before, after }) => ({ id, before, after })),
      SHOWN,
    ),
    ...cut("found", found, SHOWN),
  })
}

/** Of a section in a conflict, in characters. */
const MAX_TEXT = 2_000
