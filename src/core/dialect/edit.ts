import type { Node } from "jsonc-parser"
import { member, type Property, parseJsonc, properties } from "../config-text.ts"
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
  const before = text ?? ""
  const root = parseJsonc(before)
  if (root) {
    const addition = (dialect === "permission" ? addToMap : addToArray)(before, root, id, effect, marked)
    return "reason" in addition ? addition : { text: applyEdits(before, addition.edits), created: addition.created }
  }
  const value = dialect === "permission" ? { skill: { [id]: effect } } : [{ action: "skill", resource: id, effect }]
  const schema = text === null ? [{ key: "$schema", value: SCHEMA }] : []
  const rule = { key: dialect, value, ...(marked && { marker: MARKER }) }
  const made = applyEdits(before, insertFirstDocument(before, [...schema, rule]))
  return { text: made, created: { path: [], was: text } }
}

/**
 * What makes an edit unsafe on the way to the rule: a key that stands twice, a reference (the host reads another text
 * than we edit), a value that is no effect. `root` is the raw text's tree, `view` the host's.
 */
export function pathFault(text: string, root: Node, view: Node | undefined, id: string): SectionFault | null {
  let [raw, seen]: (Node | undefined)[] = [root, view]
  for (const [depth, key] of ["permission", "skill", id].entries()) {
    const hidden = hiddenKey(raw, seen, key)
    if (hidden) return { offset: hidden.offset, reason: "reference" }
    const found: readonly Property[] = properties(raw).filter((property) => property.key === key)
    const [first, second] = found
    if (second) return { offset: second.node.offset, reason: "duplicate_key" }
    const value: Node | undefined = first?.value
    if (value?.type === "string" && hasReference(rawTextOf(text, value)))
      return { offset: value.offset, reason: "reference" }
    if (depth === 2 && value && !isEffect(value.value)) return { offset: value.offset, reason: "unknown_effect" }
    raw = value
    seen = member(seen, key)
  }
  return arrayFault(text, root, view, id)
}

function arrayFault(text: string, root: Node, view: Node | undefined, id: string): SectionFault | null {
  const hidden = hiddenKey(root, view, "permissions")
  if (hidden) return { offset: hidden.offset, reason: "reference" }
  const [, second] = properties(root).filter((property) => property.key === "permissions")
  if (second) return { offset: second.node.offset, reason: "duplicate_key" }
  const elements = member(root, "permissions")?.children ?? []
  const seen = member(view, "permissions")?.children ?? []
  const named = elements.find(
    (element, index) =>
      [element, seen[index]].some((node) => member(node, "resource")?.value === id) &&
      hasReference(rawTextOf(text, element)),
  )
  return named ? { offset: named.offset, reason: "reference" } : null
}

/** A key of the raw text that is another one, the one in question, to the host. */
function hiddenKey(raw: Node | undefined, seen: Node | undefined, key: string): Node | undefined {
  // The host's view of a config has no `__proto__`, see config-text.ts.
  const written = properties(raw).filter((property) => property.key !== "__proto__")
  const read = properties(seen)
  return written.find((property, index) => property.key !== key && read[index]?.key === key)?.node
}

const hasReference = (text: string): boolean => /\{(?:env|file):[^}]+\}/.test(text)
