import { type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser"
import { expand, hasReference, type Substitute } from "./references.ts"

export interface Position {
  readonly line: number
  readonly column: number
}

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
  /** Whether any of a node's text came from a reference. */
  isReplaced(node: Node): boolean
  /** Maps an offset of the host's view to a place in the raw text. */
  position(offset: number): Position
}

/**
 * A text of no bytes, or of a byte order mark alone, is an empty config. Any other text without an object as its root is an error, as it is for
 * OpenCode 1.18.34, which then does not start. Without `substitute` it is strict JSON, as in a variable.
 */
export function readConfigText(raw: string, substitute: Substitute | null): ConfigText {
  const expanded =
    substitute && hasReference(raw)
      ? expand(raw, substitute)
      : { text: raw, missing: null, rawOffset: (at: number) => at, isReplaced: () => false }
  const view = parse(expanded.text)
  const rawView = expanded.text === raw ? view : parse(raw)
  let starts: readonly number[] | undefined
  const position = (offset: number) => {
    starts ??= lineStarts(raw)
    return positionIn(starts, expanded.rawOffset(offset))
  }
  const { missing } = expanded
  const fault = missing
    ? { ...positionAt(raw, missing.rawOffset), reason: "FileReferenceMissing" }
    : view.fault && { ...position(view.fault.offset), reason: view.fault.reason }
  return {
    raw,
    tree: fault || !view.tree ? undefined : substitute ? withoutPrototype(view.tree, expanded.text) : view.tree,
    rawTree: rawView.fault ? undefined : rawView.tree,
    error: raw.replace("\uFEFF", "") === "" ? null : fault,
    position,
    isReplaced: ({ offset, length }) => expanded.isReplaced(offset, offset + length),
  }
}

/**
 * The hosts' JSONC parser sets `__proto__` on a plain object, where it is no key. Their readers of strict JSON and of
 * YAML keep it as one (all measured on OpenCode 1.18.34 and on the preview 1.18.18).
 */
function withoutPrototype(node: Node, text: string): Node {
  if (!node.children || !text.includes("__proto__")) return node
  const kept = node.children.filter(({ type, children }) => type !== "property" || children?.[0]?.value !== "__proto__")
  return { ...node, children: kept.map((child) => withoutPrototype(child, text)) }
}

/** Lines end at `\r\n`, `\n` or `\r`; both numbers count from 1. */
export const positionAt = (text: string, offset: number): Position => positionIn(lineStarts(text), offset)

const lineStarts = (text: string): number[] => [
  0,
  ...Array.from(text.matchAll(/\r\n|\n|\r/g), (match) => match.index + match[0].length),
]

function positionIn(starts: readonly number[], offset: number): Position {
  let [low, high] = [0, starts.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((starts[middle] ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 }
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

interface Parsed {
  readonly tree: Node | undefined
  readonly fault: Fault | null
}

/** The texts of one call come back again and again: the file's own, and the edited one. A tree goes when memory is short. */
const recent = new Map<string, WeakRef<Parsed>>()
const RECENT = 4

function parse(text: string): Parsed {
  const known = recent.get(text)?.deref()
  recent.delete(text)
  const parsed = known ?? parseAnew(text)
  recent.set(text, new WeakRef(parsed))
  for (const oldest of recent.keys()) if (recent.size > RECENT) recent.delete(oldest)
  return parsed
}

function parseAnew(text: string): Parsed {
  const errors: ParseError[] = []
  // The parser takes a byte order mark for a token; a blank of the same width keeps every offset.
  const tree = parseTree(text.replace(/^\uFEFF/, " "), errors, { allowTrailingComma: true })
  const first = errors[0]
  if (first) return { tree, fault: { offset: first.offset, reason: printParseErrorCode(first.error) } }
  if (tree?.type !== "object") return { tree, fault: { offset: tree?.offset ?? 0, reason: "ObjectExpected" } }
  return { tree, fault: null }
}

/** A property's value by key; of duplicate keys the last, as every reader of the hosts takes it. */
export function member(node: Node | undefined, key: string): Node | undefined {
  if (node?.type !== "object" || !node.children) return undefined
  for (let at = node.children.length - 1; at >= 0; at--) {
    const [name, value] = node.children[at]?.children ?? []
    if (value && name?.value === key) return value
  }
  return undefined
}

export interface Property {
  readonly key: string
  readonly node: Node
  readonly value: Node
}

/** The properties as a parsed object has them: of duplicate keys the last value, in the place of the first. */
export const distinctProperties = (node: Node | undefined): readonly Property[] => [
  ...new Map(properties(node).map((property) => [property.key, property])).values(),
]

/** The properties of an object in written order, duplicates included; none for anything else. */
export function properties(node: Node | undefined): readonly Property[] {
  if (node?.type !== "object") return []
  return (node.children ?? []).flatMap((property) => {
    const [key, value] = property.children ?? []
    return key && value ? [{ key: String(key.value), node: property, value }] : []
  })
}
