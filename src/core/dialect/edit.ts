import type { Node } from "jsonc-parser"
import { type Property, parseJsonc, properties, REFERENCE } from "../config-text.ts"
import { type Effect, isEffect } from "../rule.ts"
import { applyEdits, insertFirstDocument } from "../span-edit.ts"
import { addToMap, findInMap } from "./edit-permission-map.ts"
import { addToArray, findInArray } from "./edit-permissions-array.ts"
import { type CreatedSection, type Dialect, type ExactRule, MARKER, rawTextOf, type SectionFault } from "./section.ts"

/** The exact rules for an id at the top level of a document, of both forms, in the order in which they count. */
export const findExactRules = (root: Node | undefined, id: string): ExactRule[] =>
  root ? [...findInMap(root, id), ...findInArray(root, id)] : []

const SCHEMA = "https://opencode.ai/config.json"

/**
 * Adds one rule where it is read last in this document. `text` null makes a new document, which names its schema.
 * `marked` says whether the file may hold comments.
 */
export function addRule(
  text: string | null,
  dialect: Dialect,
  id: string,
  effect: Effect,
  marked: boolean,
): { readonly text: string; readonly created: CreatedSection | null } | SectionFault {
  const root = text === null ? undefined : parseJsonc(text)
  if (text !== null && root) {
    const addition = (dialect === "permission" ? addToMap : addToArray)(text, root, id, effect, marked)
    return "reason" in addition ? addition : { text: applyEdits(text, addition.edits), created: addition.created }
  }
  const value = dialect === "permission" ? { skill: { [id]: effect } } : [{ action: "skill", resource: id, effect }]
  const schema = text === null ? [{ key: "$schema", value: SCHEMA }] : []
  const rule = { key: dialect, value, ...(marked && { marker: MARKER }) }
  const made = applyEdits(text ?? "", insertFirstDocument(text ?? "", [...schema, rule]))
  return { text: made, created: { path: [], was: text } }
}

/** A key that stands twice, or a reference, on the way to the rule: the host may read another text than we edit. */
export function pathFault(text: string, root: Node, id: string): SectionFault | null {
  const way = ["permission", "skill", id]
  let parent: Node | undefined = root
  for (const key of way) {
    const found: readonly Property[] = properties(parent).filter((property) => property.key === key)
    const [, second] = found
    if (second) return { offset: second.node.offset, reason: "duplicate_key" }
    const value: Node | undefined = found[0]?.value
    if (key === id && value && !isEffect(value.value)) return { offset: value.offset, reason: "unknown_effect" }
    if (value?.type === "string" && hasReference(rawTextOf(text, value)))
      return { offset: value.offset, reason: "reference" }
    parent = value
  }
  const arrays = properties(root).filter((property) => property.key === "permissions")
  if (arrays[1]) return { offset: arrays[1].node.offset, reason: "duplicate_key" }
  const exact = findExactRules(root, id).find((rule) => hasReference(rawTextOf(text, rule.node)))
  return exact ? { offset: exact.node.offset, reason: "reference" } : null
}

const hasReference = (text: string): boolean => text.search(REFERENCE) >= 0
