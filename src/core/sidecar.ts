import type { CreatedSection } from "./dialect/section.ts"
import { compareIds } from "./order.ts"
import { type Effect, type Generation, isEffect, type Rule } from "./rule.ts"
import { compilePattern, isLiteral } from "./wildcard.ts"

export const SIDECAR_VERSION = 1

/** What this tool remembers of a rule that it wrote into one file for one host generation. */
export interface SidecarRecord {
  readonly generation: Generation
  /** File name inside the config directory, never a path. */
  readonly file: string
  readonly id: string
  readonly effect: Effect
  /** The effect of an exact rule that stood there before. */
  readonly previous?: Effect
  readonly note?: string
  readonly sections?: readonly CreatedSection[]
}

export type SidecarProblem = "not_json" | "newer_version" | "not_a_sidecar"

/** Decodes the sidecar's text; unknown or newer data is refused, never repaired. An absent file is an empty one. */
export function decodeSidecar(text: string | null): readonly SidecarRecord[] | SidecarProblem {
  if (text === null) return []
  let data: unknown
  try {
    data = JSON.parse(text)
  } catch {
    return "not_json"
  }
  if (!isObject(data) || !Number.isInteger(data.schemaVersion)) return "not_a_sidecar"
  const { schemaVersion, records, ...others } = data
  if (Number(schemaVersion) > SIDECAR_VERSION) return "newer_version"
  if (schemaVersion !== SIDECAR_VERSION || Object.keys(others).length > 0) return "not_a_sidecar"
  return Array.isArray(records) && records.every(isRecord) ? records : "not_a_sidecar"
}

/** Sorted by generation, file and id, so that a dotfiles repository sees only real changes. */
export function encodeSidecar(records: readonly SidecarRecord[]): string {
  const sorted = [...records].sort((a, b) => compareIds(recordKey(a), recordKey(b)))
  const lines = sorted.map(
    ({ generation, file, id, effect, previous, note, sections }) =>
      `    ${JSON.stringify({ generation, file, id, effect, previous, note, sections })}`,
  )
  const body = lines.length > 0 ? `[\n${lines.join(",\n")}\n  ]` : "[]"
  return `{\n  "schemaVersion": ${SIDECAR_VERSION},\n  "records": ${body}\n}\n`
}

export const recordKey = (record: Pick<SidecarRecord, "generation" | "file" | "id">): string =>
  [record.generation, record.file, record.id].join("\n")

/** A write touches the records of its own targets; all others stay, of other host generations too. */
export function replaceRecords(
  records: readonly SidecarRecord[],
  generation: Generation,
  ids: readonly string[],
  fresh: readonly SidecarRecord[],
): SidecarRecord[] {
  return [...records.filter((record) => record.generation !== generation || !ids.includes(record.id)), ...fresh]
}

export interface Consistency {
  readonly staleSidecarIds: readonly string[]
  readonly unrecordedRules: readonly { readonly resource: string; readonly effect: Effect }[]
  readonly missingFromRegistry: readonly string[]
}

/**
 * Compares this generation's records with the skill rules of the global files and the registry:
 * records without a matching rule, skill rules without a record, recorded ids (or patterns) that name no registered
 * skill any more.
 */
export function compareSidecar(
  records: readonly SidecarRecord[],
  rules: readonly (Rule & { readonly file: string; readonly secret?: true })[],
  registered: ReadonlySet<string | null>,
): Consistency {
  const keyed = rules.map((rule) => ({ rule, key: [rule.file, rule.effect, rule.resource].join("\n") }))
  const ruled = new Set(keyed.map(({ key }) => key))
  const keyOf = (record: SidecarRecord) => [record.file, record.effect, record.id].join("\n")
  const recorded = new Set(records.map(keyOf))
  return {
    staleSidecarIds: unique(records.filter((record) => !ruled.has(keyOf(record))).map((record) => record.id)),
    unrecordedRules: keyed
      .filter(({ key }) => !recorded.has(key))
      .map(({ rule: { resource, effect, secret } }) => ({ resource: secret ? "…" : resource, effect })),
    missingFromRegistry: unique(records.map((record) => record.id).filter((id) => !names(id, registered))),
  }
}

function names(pattern: string, registered: ReadonlySet<string | null>): boolean {
  if (registered.has(pattern)) return true
  const { matches } = compilePattern(pattern)
  return !isLiteral(pattern) && [...registered].some((id) => id !== null && matches(id))
}

const unique = (ids: readonly string[]): string[] => [...new Set(ids)].sort(compareIds)

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

function isRecord(value: unknown): value is SidecarRecord {
  if (!isObject(value)) return false
  const { generation, file, id, effect, previous, note, sections, ...others } = value
  return (
    (generation === "opencode-1" || generation === "opencode-2") &&
    typeof file === "string" &&
    typeof id === "string" &&
    isEffect(effect) &&
    (previous === undefined || isEffect(previous)) &&
    (note === undefined || typeof note === "string") &&
    Object.keys(others).length === 0 &&
    (sections === undefined || (Array.isArray(sections) && sections.every(isSection)))
  )
}

const isSection = (value: unknown): value is CreatedSection =>
  isObject(value) &&
  Array.isArray(value.path) &&
  value.path.every((key) => typeof key === "string") &&
  (value.was === null || typeof value.was === "string")
