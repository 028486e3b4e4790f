import { type Node, visit } from "jsonc-parser"
import { member, properties } from "../config-text.ts"
import { type Effect, isEffect } from "../rule.ts"
import { type Edit, removeMembers, replaceValue } from "../span-edit.ts"

/** The two forms in which a document holds skill rules: OpenCode 1's map and OpenCode 2's array. */
export const DIALECTS = ["permission", "permissions"] as const
export type Dialect = (typeof DIALECTS)[number]

/** The same-line comment that marks a rule as written by this tool, in files that may hold comments. */
export const MARKER = "// skill_management"

/**
 * A place that had to be made, or to change its form, before a rule could stand in it, with the raw text that stood
 * there; null when nothing did. An empty path is the whole document.
 */
export interface CreatedSection {
  readonly path: readonly string[]
  readonly was: string | null
}

/** A rule whose pattern is exactly one id, at the top level of a global file. */
export interface ExactRule {
  readonly dialect: Dialect
  readonly effect: Effect
  /** The property or the element. */
  readonly node: Node
  readonly effectNode: Node
  readonly container: Node
  readonly index: number
}

export interface Addition {
  readonly edits: readonly Edit[]
  readonly created: CreatedSection | null
}

export type SectionFault = { readonly offset: number; readonly reason: string }

export const rawTextOf = (text: string, node: Node): string => text.slice(node.offset, node.offset + node.length)

export const setEffect = (text: string, rule: ExactRule, effect: Effect): Edit[] => [
  replaceValue(rule.effectNode, effect, text),
]

/** Takes a rule out, and with it the section that was made for it, when nothing else has come to live there. */
export function removeRule(text: string, root: Node, rule: ExactRule, created: CreatedSection | undefined): Edit[] {
  return (
    (created && restoreSection(text, root, rule, created)) ?? removeMembers(text, rule.container, [rule.index], MARKER)
  )
}

/**
 * What becomes of a whole document that was made for a rule, when that rule goes: its former text, or null for no
 * file; undefined when something else lives in it now.
 */
export function restoredDocument(
  text: string,
  root: Node,
  rule: ExactRule,
  created: CreatedSection,
): string | null | undefined {
  const grown = properties(root).filter(({ key }) => key !== "$schema")
  const [only] = grown
  if (!only || grown.length > 1 || !holdsOnly(only.value, rule)) return undefined
  return sameComments(text, created.was ?? "") ? created.was : undefined
}

function restoreSection(text: string, root: Node, rule: ExactRule, created: CreatedSection): Edit[] | null {
  const place = locate(root, created.path)
  if (!place || !holdsOnly(place.value, rule) || holdsOtherText(text, place.value, created.was)) return null
  if (created.was === null) return removeMembers(text, place.parent, [place.index], MARKER)
  return [{ offset: place.value.offset, length: place.value.length, text: created.was }]
}

function locate(root: Node, path: readonly string[]): { parent: Node; index: number; value: Node } | null {
  let parent = root
  for (const key of path.slice(0, -1)) {
    const next = member(parent, key)
    if (!next) return null
    parent = next
  }
  const index = properties(parent).findLastIndex((property) => property.key === path.at(-1))
  const value = properties(parent)[index]?.value
  return value ? { parent, index, value } : null
}

/** True when a section holds the rule and, at most, the `"*"` that stands for its former string. */
function holdsOnly(section: Node, rule: ExactRule): boolean {
  if (section === rule.container && section.type === "array") return section.children?.length === 1
  return properties(section).every(
    ({ key, node, value }) => node === rule.node || (key === "*" && isEffect(value.value)) || isAbove(value, rule),
  )
}

const isAbove = (value: Node, rule: ExactRule): boolean =>
  value.type === "object" && properties(value).some(({ node }) => node === rule.node) && holdsOnly(value, rule)

/** The old text goes back only if it still says the same: its `"*"` unchanged and no comment added since. */
function holdsOtherText(text: string, section: Node, was: string | null): boolean {
  const star = starEffect(section)
  const wasString = was?.startsWith('"') ? JSON.parse(was) : undefined
  return star !== wasString || !sameComments(rawTextOf(text, section), was ?? "")
}

const starEffect = (section: Node): unknown =>
  properties(section)
    .map(({ key, value }) => (key === "*" ? value.value : starEffect(value)))
    .find((effect) => effect !== undefined)

function sameComments(a: string, b: string): boolean {
  return JSON.stringify(comments(a)) === JSON.stringify(comments(b))
}

function comments(text: string): string[] {
  const found: string[] = []
  visit(text, { onComment: (offset, length) => found.push(text.slice(offset, offset + length)) })
  return found.filter((comment) => comment !== MARKER)
}
