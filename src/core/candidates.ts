import { type ConfigText, parseJsonc, positionAt } from "./config-text.ts"
import { addRule, findExactRules, pathFault } from "./dialect/edit.ts"
import {
  type CreatedSection,
  type Dialect,
  type ExactRule,
  removeRule,
  restoredDocument,
  setEffect,
} from "./dialect/section.ts"
import type { Effect } from "./rule.ts"
import type { SidecarRecord } from "./sidecar.ts"
import { applyEdits } from "./span-edit.ts"
import type { GlobalFile, Wish, World } from "./world.ts"

export interface FileChange {
  readonly file: GlobalFile
  /** The top-level section that the edit is in. */
  readonly section: Dialect
  readonly before: string | null
  /** Null removes a file that this tool had made. */
  readonly after: string | null
}

export type ChangeReason =
  | "disabled"
  | "enabled"
  | "rule_changed"
  | "rule_added"
  | "rule_removed"
  | "allow_added"
  | "previous_restored"
  | "undone"
  | "record_dropped"
  | "record_added"

/** One way to bring the wish about. */
export interface Candidate {
  readonly reason: ChangeReason
  readonly changes: readonly FileChange[]
  /** The sidecar's records for this id afterwards; they replace all that it holds for it. */
  readonly records: readonly SidecarRecord[]
  /** Effects that fulfil the wish this way: where rules are taken out, a broader `ask` may be what is left. */
  readonly accepts: (after: Effect) => boolean
  /** The rule that was added, changed or removed, and where it stood or stands. */
  readonly rule: () => {
    readonly effect: Effect
    readonly file: string
    readonly line: number
    readonly column: number
  }
}

/** Where a file cannot be edited safely. */
export interface FileFault {
  readonly kind: "config_unsupported"
  readonly file: string
  readonly line: number
  readonly column: number
  readonly reason: string
}

export interface Found {
  readonly file: GlobalFile
  readonly rule: ExactRule
}

/** All exact rules for an id in the global files, in load order. */
export const findExact = (files: readonly GlobalFile[], id: string): readonly Found[] =>
  files.flatMap((file) => findExactRules(file.text?.rawTree, id).map((rule) => ({ file, rule })))

/** Ways to the wish, best first: change a rule where it stands, put back what stood there, take rules out, add one. */
export function* candidates(world: World, wish: Wish, exact: readonly Found[]): Generator<Candidate | FileFault> {
  const fault = exact.map(({ file }) => faultOf(file, wish.id)).find((problem) => problem !== null)
  if (fault) {
    yield fault
    return
  }
  const enabling = wish.effect === "allow"
  const other = exact.filter(({ rule }) => rule.effect !== wish.effect)
  if (enabling && other.length > 0) {
    const previous = other.flatMap(({ file }) => recordOf(world, file, wish.id)?.previous ?? []).at(-1)
    if (previous === "allow") yield* inPlace(world, wish, other, "previous_restored")
    yield withoutExact(world, wish, other)
  }
  yield* inPlace(world, wish, other, enabling ? "allow_added" : "rule_changed")
  for (const file of world.preference(world.files)) {
    const fault = faultOf(file, wish.id)
    if (fault) yield fault
    else
      for (const dialect of world.dialectsFor(file))
        if (canHold(dialect, wish.id)) yield added(world, wish, exact, file, dialect)
  }
}

/** JavaScript takes this key of a map for the object's prototype. */
const canHold = (dialect: Dialect, id: string): boolean => dialect === "permissions" || id !== "__proto__"

export const exactly =
  (wish: Wish) =>
  (after: Effect): boolean =>
    after === wish.effect

const noLongerDenied = (after: Effect): boolean => after !== "deny"

function* inPlace(world: World, wish: Wish, exact: readonly Found[], reason: ChangeReason): Generator<Candidate> {
  for (const { file, rule } of exact.toReversed()) {
    const before = rawOf(file)
    const known = recordOf(world, file, wish.id)
    const record = makeRecord(world, file, wish, known ? known.previous : rule.effect, sectionOf(known))
    yield {
      reason,
      changes: [
        { file, section: rule.dialect, before, after: applyEdits(before, setEffect(before, rule, wish.effect)) },
      ],
      records: reason === "previous_restored" ? [] : [record],
      accepts: exactly(wish),
      rule: () => ({ effect: wish.effect, ...placeOf(file, before, rule) }),
    }
  }
}

/** Takes these exact rules for an id out. */
export function takeOut(world: World, id: string, exact: readonly Found[]): FileChange[] | FileFault {
  const fault = exact.map(({ file }) => faultOf(file, id)).find((problem) => problem !== null)
  const effects = new Set(exact.map(({ rule }) => rule.effect))
  return fault ?? strip(world, { id, effect: "allow" }, exact, ({ effect }) => effects.has(effect))
}

function withoutExact(world: World, wish: Wish, exact: readonly Found[]): Candidate {
  const [first] = exact
  if (!first) throw new Error("no exact rule to take out")
  return {
    reason: "rule_removed",
    changes: strip(world, wish, exact, (rule) => rule.effect !== "allow"),
    records: [],
    accepts: noLongerDenied,
    rule: () => ({ effect: first.rule.effect, ...placeOf(first.file, rawOf(first.file), first.rule) }),
  }
}

/** Takes out the exact rules that `goes` names, one at a time, so that each edit sees the text that it edits. */
function strip(world: World, wish: Wish, exact: readonly Found[], goes: (rule: ExactRule) => boolean): FileChange[] {
  const files = [...new Set(exact.map(({ file }) => file))]
  return files.map((file) => {
    const before = rawOf(file)
    const created = sectionOf(recordOf(world, file, wish.id))
    let after: string | null = before
    let section: Dialect = "permission"
    for (let left = exact.length; left > 0 && after !== null; left--) {
      const root = parseJsonc(after)
      const rule = findExactRules(root, wish.id).find(goes)
      if (!root || !rule) break
      section = rule.dialect
      const whole: string | null | undefined = created && restoredDocument(after, root, rule, created)
      after = whole === undefined ? applyEdits(after, removeRule(after, root, rule, created)) : whole
    }
    return { file, section, before, after }
  })
}

function added(
  world: World,
  wish: Wish,
  exact: readonly Found[],
  file: GlobalFile,
  dialect: Dialect,
): Candidate | FileFault {
  const stripped = strip(world, wish, exact, () => true)
  const own = stripped.find((change) => change.file === file)
  const base = own ? own.after : (file.text?.raw ?? null)
  const addition = addRule(base, dialect, wish.id, wish.effect, file.name.endsWith(".jsonc"))
  if ("reason" in addition) return faultAt(file, base ?? "", addition)
  const written = findExactRules(parseJsonc(addition.text), wish.id).find((rule) => rule.dialect === dialect)
  if (!written) throw new Error("an added rule cannot be found again")
  const known = recordOf(world, file, wish.id)
  const previous = known ? known.previous : exact.find((found) => found.file === file)?.rule.effect
  const section = addition.created ?? neighbourSection(world, file, dialect) ?? null
  return {
    reason: wish.effect === "allow" ? "allow_added" : "rule_added",
    changes: [
      ...stripped.filter((change) => change.file !== file),
      { file, section: dialect, before: file.text?.raw ?? null, after: addition.text },
    ].filter((change) => change.before !== change.after),
    accepts: exactly(wish),
    records: [makeRecord(world, file, wish, previous, section)],
    rule: () => ({ effect: wish.effect, ...placeOf(file, addition.text, written) }),
  }
}

/** A place is refused where its text is not what the host makes of it, or where a key stands twice. */
function faultOf(file: GlobalFile, id: string): FileFault | null {
  if (!file.text?.tree) return null
  if (!file.text.rawTree)
    return { kind: "config_unsupported", file: file.name, line: 1, column: 1, reason: "reference" }
  const fault = pathFault(file.text.raw, file.text.rawTree, file.text.tree, id)
  return fault && faultAt(file, file.text.raw, fault)
}

const faultAt = (file: GlobalFile, text: string, fault: { offset: number; reason: string }): FileFault => ({
  kind: "config_unsupported",
  file: file.name,
  ...positionAt(text, fault.offset),
  reason: fault.reason,
})

const placeOf = (file: GlobalFile, text: string, rule: ExactRule) => ({
  file: file.path,
  ...positionAt(text, rule.node.offset),
})

const rawOf = (file: GlobalFile): string => textOf(file.text)

function textOf(text: ConfigText | null): string {
  if (!text) throw new Error("an exact rule in a file that does not exist")
  return text.raw
}

const recordOf = (world: World, file: GlobalFile, id: string): SidecarRecord | undefined =>
  world.records.find(
    (record) => record.file === file.name && record.id === id && record.generation === world.generation,
  )

const sectionOf = (record: SidecarRecord | undefined): CreatedSection | undefined => record?.sections?.[0]

/** Rules that share a section which this tool made all remember what stood there: any of them may go last. */
const neighbourSection = (world: World, file: GlobalFile, dialect: Dialect): CreatedSection | undefined =>
  world.records
    .filter((record) => record.file === file.name && record.generation === world.generation)
    .flatMap((record) => record.sections ?? [])
    .find(({ path }) => path.length === 0 || path[0] === dialect)

function makeRecord(
  world: World,
  file: GlobalFile,
  wish: Wish,
  previous: Effect | undefined,
  section: CreatedSection | null | undefined,
): SidecarRecord {
  return {
    generation: world.generation,
    file: file.name,
    id: wish.id,
    effect: wish.effect,
    ...(previous && { previous }),
    ...(section && { sections: [section] }),
  }
}
