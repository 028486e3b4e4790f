import type { Node } from "jsonc-parser"
import { type Document, isAlias, isMap, isNode, isScalar, isSeq, LineCounter, type Pair, parseDocument } from "yaml"
import { member } from "../core/config-text.ts"

/** The YAML head of a Markdown file, as the tree that the config readers understand. */
export interface Frontmatter {
  readonly node: Node | undefined
  /** Maps an offset of the tree to a line and column of the whole file. */
  position(offset: number): { readonly line: number; readonly column: number }
}

const HEAD = /^\uFEFF?---[ \t]*(?:\r\n|\n|\r)([\s\S]*?)(?:^|\r\n|\n|\r)---[ \t]*(?:\r\n|\n|\r|$)/

/** Reads the head of a Markdown file; a missing or broken one yields no tree. Never throws. */
export function readFrontmatter(markdown: string): Frontmatter {
  const match = HEAD.exec(markdown)
  const head = match?.[1]
  if (!match || head === undefined) return { node: undefined, position: () => ({ line: 1, column: 1 }) }
  const linesAbove = linesOf(markdown.slice(0, match[0].indexOf(head, 3))).length - 1
  const plain = parseHead(head)
  if (plain.node) return { node: plain.node, position: (offset) => shifted(plain.lines.linePos(offset), linesAbove) }
  const mended = mend(head)
  const again = parseHead(mended.text)
  return {
    node: again.node,
    position: (offset) => {
      const { line, col } = again.lines.linePos(offset)
      return shifted({ line: mended.lines[line - 1] ?? line, col }, linesAbove)
    },
  }
}

const linesOf = (text: string): string[] => text.split(/\r\n|\n|\r/)

const shifted = ({ line, col }: { line: number; col: number }, above: number) => ({ line: line + above, column: col })

function parseHead(head: string): { node: Node | undefined; lines: LineCounter } {
  const lines = new LineCounter()
  const document = parseDocument(head, { lineCounter: lines, logLevel: "silent" })
  const good = document.errors.length === 0 && isMap(document.contents)
  return { node: good ? nodeOf(document.contents, document, 0) : undefined, lines }
}

/** A top-level line whose plain value holds a colon. */
const LOOSE = /^([a-zA-Z_][a-zA-Z0-9_]*)\s*:\s*(.*)$/

/**
 * What OpenCode does with a head that is no YAML (read in the code of 1.18.34): a plain value that holds a colon becomes
 * a block of text. `lines` names, for each line of the new text, the one it came from.
 */
function mend(head: string): { text: string; lines: readonly number[] } {
  const mended = linesOf(head).flatMap((line, index) => {
    const [, key, rest = ""] = LOOSE.exec(line) ?? []
    const value = rest.trim()
    const loose = key !== undefined && value.includes(":") && !/^[>|"']/.test(value)
    const texts = loose ? [`${key}: |-`, `  ${value}`] : [line]
    return texts.map((text) => ({ text, from: index + 1 }))
  })
  return { text: mended.map(({ text }) => text).join("\n"), lines: mended.map(({ from }) => from) }
}

const MAX_DEPTH = 32

function nodeOf(given: unknown, document: Document, depth: number): Node {
  const yaml = isAlias(given) ? given.resolve(document) : given
  const [offset = 0, end = offset] = (isNode(yaml) && yaml.range) || []
  const place = { offset, length: end - offset }
  if (depth > MAX_DEPTH) return { type: "null", value: null, ...place }
  if (isMap(yaml)) return { type: "object", ...place, children: propertiesOf(yaml.items, document, depth) }
  if (isSeq(yaml))
    return { type: "array", ...place, children: yaml.items.map((item) => nodeOf(item, document, depth + 1)) }
  const value: unknown = isScalar(yaml) ? yaml.value : null
  if (typeof value === "string") return { type: "string", value, ...place }
  if (typeof value === "number") return { type: "number", value, ...place }
  if (typeof value === "boolean") return { type: "boolean", value, ...place }
  return { type: "null", value: null, ...place }
}

/** Pairs as properties; a merge key stands for the pairs of the map that it names, but for keys that are there before it. */
function propertiesOf(pairs: readonly Pair[], document: Document, depth: number): Node[] {
  const found: Node[] = []
  for (const { key, value } of pairs) {
    const keyNode: Node = { ...nodeOf(key, document, depth + 1), type: "string" }
    const valueNode = nodeOf(value, document, depth + 1)
    if (keyNode.value === "<<" && valueNode.type === "object") {
      const known = new Set(found.map(keyOf))
      found.push(...(valueNode.children ?? []).filter((property) => !known.has(keyOf(property))))
    } else
      found.push({ type: "property", offset: keyNode.offset, length: keyNode.length, children: [keyNode, valueNode] })
  }
  return found
}

const keyOf = (property: Node): string => String(property.children?.[0]?.value)

/** The two switches that hide a skill from the model's list, whatever way they are written. */
export interface SkillFlags {
  readonly disableModelInvocation: boolean | null
  readonly autoinvoke: boolean | null
}

export function readSkillFlags(markdown: string): SkillFlags {
  const { node } = readFrontmatter(markdown)
  return {
    disableModelInvocation: normalizeBoolean(member(node, "disable-model-invocation")?.value),
    autoinvoke: normalizeBoolean(member(member(node, "metadata"), "opencode/autoinvoke")?.value),
  }
}

const YES = ["true", "yes", "on", "1"]
const NO = ["false", "no", "off", "0"]

/** true/yes/on/1 and false/no/off/0, quoted or not, any case; anything else says nothing. */
export function normalizeBoolean(value: unknown): boolean | null {
  const word = String(value).trim().toLowerCase()
  if (YES.includes(word)) return true
  return NO.includes(word) ? false : null
}
