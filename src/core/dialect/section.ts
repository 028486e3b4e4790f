import { type Node, parseTree, visit } from "jsonc-parser"
import { member, properties } from "../config-text.ts"
import type { Effect } from "../rule.ts"
import { type Edit, removeMembers, replaceValue } from "../span-edit.ts"

/** The two forms in which a document holds skill rules: OpenCode 1's map and OpenCode 2's array. */
export const DIALECTS = ["permission", "permissions"] as const
export type Dialect = (typeof DIALECTS)[number]

/** The keys that lead to the rules. */
const WAYS: Record<Dialect, readonly string[]> = { permission: ["permission", "skill"], permissions: ["permissions"] }

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

/** Stands for a comment in the text of an emptied section: secrets live in comments, and this text is kept in a file. */
const COMMENT = "…"

/** The text of a section that is about to be filled or replaced, its comments left out. */
export const formerText = (text: string, node: Node): string => {
  const raw = rawTextOf(text, node)
  return comments(raw).reduce((rest, comment) => rest.replace(comment, () => COMMENT), raw)
}

/** A former text with the comments of today in their old places; null where their number is another one. */
function refill(was: string, found: readonly string[]): string | null {
  const parts = was.split(COMMENT)
  return parts.length - 1 === found.length ? parts.map((part, i) => part + (found[i] ?? "")).join("") : null
}

export const rawTextOf = (text: string, node: Node): string => text.slice(node.offset, node.offset + node.length)

export const isEmpty = (container: Node): boolean => (container.children?.length ?? 0) === 0

export const setEffect = (text: string, rule: ExactRule, effect: Effect): Edit[] => [
  replaceValue(rule.effectNode, effect, text),
]

/** Takes a rule out, and with it as much of what was made for it as nothing else has come to live in. */
export function removeRule(text: string, root: Node, rule: ExactRule, created: CreatedSection | undefined): Edit[] {
  return (
    (created && restoreSections(text, root, rule, created)) || removeMembers(text, rule.container, [rule.index], MARKER)
  )
}

function restoreSections(text: string, root: Node, rule: ExactRule, created: CreatedSection): Edit[] | null {
  const edits = isWholeText(created) ? null : restoreSection(text, root, rule, created)
  const inner = WAYS[rule.dialect][created.path.length]
  if (edits || inner === undefined) return edits
  // What stands in a section that was made was made with it.
  return restoreSections(text, root, rule, { path: [...created.path, inner], was: null })
}

/**
 * What becomes of a text that was made as a whole for a rule, when that rule goes: its former text, or null for no
 * file; undefined when something else lives in it now.
 */
export function restoredDocument(
  text: string,
  root: Node,
  rule: ExactRule,
  created: CreatedSection,
): string | null | undefined {
  const isOurs = isWholeText(created) && isMadeFor(root, rule) && comments(text).length === 0
  return isOurs ? created.was : undefined
}

/** Where there was no object that could have been filled: no file, or one without text. */
const isWholeText = ({ path, was }: CreatedSection): boolean => path.length === 0 && !was?.startsWith("{")

function restoreSection(text: string, root: Node, rule: ExactRule, { path, was }: CreatedSection): Edit[] | null {
  const section = path.reduce<Node | undefined>(member, root)
  if (!section || !isMadeFor(section, rule, was ? parseTree(was)?.value : undefined)) return null
  const found = comments(rawTextOf(text, section))
  if (was === null) {
    const parent = path.slice(0, -1).reduce((node, key) => member(node, key) ?? node, root)
    const index = properties(parent).findIndex(({ value }) => value === section)
    return found.length > 0 ? null : removeMembers(text, parent, [index], MARKER)
  }
  const old = refill(was, found)
  return old === null ? null : [{ offset: section.offset, length: section.length, text: old }]
}

/** True when a section holds the rule alone, on the way that was made to it, and the `"*"` of its former string. */
function isMadeFor(section: Node, rule: ExactRule, star?: unknown): boolean {
  if (section.type === "array") return section === rule.container && section.children?.length === 1
  const members = properties(section).filter(({ key }) => section.parent || key !== "$schema")
  const [first, second] =
    star === undefined ? members : members.filter(({ key, value }) => key !== "*" || value.value !== star)
  if (!first || second || (star !== undefined && members.length !== 2)) return false
  return first.node === rule.node || isMadeFor(first.value, rule)
}

function comments(text: string): string[] {
  const found: string[] = []
  visit(text, { onComment: (offset, length) => found.push(text.slice(offset, offset + length)) })
  return found.filter((comment) => comment !== MARKER)
}
