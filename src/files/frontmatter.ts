import type { Node } from "jsonc-parser"
import { isMap, isScalar, isSeq, LineCounter, parseDocument, type Node as YamlNode } from "yaml"
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
  const start = match[0].indexOf(head, 3)
  const lines = new LineCounter()
  const document = parseDocument(head, {
    lineCounter: lines,
    uniqueKeys: false,
    logLevel: "silent",
    keepSourceTokens: false,
  })
  const linesAbove = markdown.slice(0, start).split(/\r\n|\n|\r/).length - 1
  const node = document.errors.length === 0 && isMap(document.contents) ? nodeOf(document.contents, 0) : undefined
  return {
    node,
    position: (offset) => {
      const { line, col } = lines.linePos(offset)
      return { line: line + linesAbove, column: col }
    },
  }
}

const MAX_DEPTH = 32

function nodeOf(yaml: YamlNode | null | undefined, depth: number): Node {
  const [offset = 0, end = offset] = yaml?.range ?? []
  const place = { offset, length: end - offset }
  if (depth > MAX_DEPTH) return { type: "null", value: null, ...place }
  if (isMap(yaml)) {
    const children = yaml.items.map((pair): Node => {
      const key = pair.key as YamlNode | null
      const keyNode: Node = { ...nodeOf(key, depth + 1), type: "string" }
      const value = nodeOf(pair.value as YamlNode | null, depth + 1)
      return { type: "property", offset: keyNode.offset, length: place.length, children: [keyNode, value] }
    })
    return { type: "object", ...place, children }
  }
  if (isSeq(yaml))
    return { type: "array", ...place, children: yaml.items.map((item) => nodeOf(item as YamlNode, depth + 1)) }
  const value: unknown = isScalar(yaml) ? yaml.value : null
  if (typeof value === "string") return { type: "string", value, ...place }
  if (typeof value === "number") return { type: "number", value, ...place }
  if (typeof value === "boolean") return { type: "boolean", value, ...place }
  return { type: "null", value: null, ...place }
}

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
