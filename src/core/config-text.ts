import { type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser"

export interface Position {
  readonly line: number
  readonly column: number
}

/** What the host puts in place of `{env:NAME}` and `{file:path}`; undefined when a file cannot be read. */
export type Substitute = (kind: "env" | "file", name: string) => string | undefined

/**
 * A config file's text as the host reads it: references are replaced in the *text*, then JSONC is parsed
 * (comments and trailing commas allowed). Positions always speak of the raw text.
 */
export interface ConfigText {
  readonly raw: string
  /** The root of the host's view; undefined for an empty text or one with errors. */
  readonly tree: Node | undefined
  /** The root of the raw text, the one that edits are made on; undefined when only the expanded text parses. */
  readonly rawTree: Node | undefined
  readonly error: (Position & { readonly reason: string }) | null
  /** Maps an offset of the host's view to a place in the raw text. */
  position(offset: number): Position
}

/**
 * A 0-byte text is an empty config. Any other text without an object as its root is an error, as it is for
 * OpenCode 1.18.34, which then does not start.
 */
export function readConfigText(raw: string, substitute: Substitute): ConfigText {
  const expanded = expand(raw, substitute)
  const view = parse(expanded.text)
  const rawView = expanded.text === raw ? view : parse(raw)
  const position = (offset: number) => positionAt(raw, expanded.rawOffset(offset))
  const fault = expanded.missing ?? view.fault
  return {
    raw,
    tree: fault ? undefined : view.tree,
    rawTree: rawView.fault ? undefined : rawView.tree,
    error: fault && raw !== "" ? { ...position(fault.offset), reason: fault.reason } : null,
    position,
  }
}

/** Lines end at `\r\n`, `\n` or `\r`; both numbers count from 1. */
export function positionAt(text: string, offset: number): Position {
  const lines = text.slice(0, offset).split(/\r\n|\n|\r/)
  return { line: lines.length, column: (lines.at(-1) ?? "").length + 1 }
}

/** The root object of a JSONC text, byte order mark allowed; undefined when it does not parse. */
export function parseJsonc(text: string): Node | undefined {
  const { tree, fault } = parse(text)
  return fault ? undefined : tree
}

interface Fault {
  readonly offset: number
  readonly reason: string
}

function parse(text: string): { tree: Node | undefined; fault: Fault | null } {
  const errors: ParseError[] = []
  // The parser takes a byte order mark for a token; a blank of the same width keeps every offset.
  const tree = parseTree(text.replace(/^\uFEFF/, " "), errors, { allowTrailingComma: true })
  const first = errors[0]
  if (first) return { tree, fault: { offset: first.offset, reason: printParseErrorCode(first.error) } }
  if (tree?.type !== "object") return { tree, fault: { offset: tree?.offset ?? 0, reason: "ObjectExpected" } }
  return { tree, fault: null }
}

export const REFERENCE = /\{(env|file):([^}]+)\}/g

interface Expansion {
  readonly text: string
  readonly missing: Fault | null
  rawOffset(offset: number): number
}

/**
 * As OpenCode 1.18.34 does (read in its bundled code): `{env:X}` is replaced everywhere and unescaped, an unset one by
 * nothing; `{file:…}` by its trimmed text, JSON-escaped, except on a line that starts with `//`.
 */
function expand(raw: string, substitute: Substitute): Expansion {
  const spans: { at: number; rawAt: number; length: number; rawLength: number }[] = []
  let missing: Fault | null = null
  let text = ""
  let done = 0
  for (const match of raw.matchAll(REFERENCE)) {
    const [whole, kind, name = ""] = match
    if (kind === "file" && onCommentLine(raw, match.index)) continue
    const value = substitute(kind === "env" ? "env" : "file", name)
    text += raw.slice(done, match.index)
    const inserted = kind === "env" ? (value ?? "") : JSON.stringify((value ?? "").trim()).slice(1, -1)
    if (kind === "file" && value === undefined) missing ??= { offset: text.length, reason: "FileReferenceMissing" }
    spans.push({ at: text.length, rawAt: match.index, length: inserted.length, rawLength: whole.length })
    text += inserted
    done = match.index + whole.length
  }
  text += raw.slice(done)
  const rawOffset = (offset: number) => {
    const span = spans.findLast((candidate) => candidate.at <= offset)
    if (!span) return offset
    return offset < span.at + span.length ? span.rawAt : offset - span.at - span.length + span.rawAt + span.rawLength
  }
  return { text, missing, rawOffset }
}

const onCommentLine = (text: string, offset: number): boolean =>
  text
    .slice(text.lastIndexOf("\n", offset - 1) + 1, offset)
    .trimStart()
    .startsWith("//")

/** A property's value by key; of duplicate keys the last, as every reader of the hosts takes it. */
export function member(node: Node | undefined, key: string): Node | undefined {
  return properties(node).findLast((property) => property.key === key)?.value
}

export interface Property {
  readonly key: string
  readonly node: Node
  readonly value: Node
}

/** The properties of an object in written order, duplicates included; none for anything else. */
export function properties(node: Node | undefined): readonly Property[] {
  if (node?.type !== "object") return []
  return (node.children ?? []).flatMap((property) => {
    const [key, value] = property.children ?? []
    return key && value ? [{ key: String(key.value), node: property, value }] : []
  })
}
