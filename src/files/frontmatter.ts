import type { Node } from "jsonc-parser"
import { member } from "../core/config-text.ts"

/** The YAML head of a Markdown file, as the tree that the config readers understand. */
export interface Frontmatter {
  readonly node: Node | undefined
  /** Maps an offset of the tree to a line and column of the whole file. */
  position(offset: number): { readonly line: number; readonly column: number }
}

const HEAD = /^\uFEFF?---[ \t]*(?:\r\n|\n|\r)([\s\S]*?)(?:^|\r\n|\n|\r)---[ \t]*(?:\r\n|\n|\r|$)/

/** Reads the head of a Markdown file; a missing or broken one yields no tree. Never throws. */
export async function readFrontmatter(markdown: string): Promise<Frontmatter> {
  const match = HEAD.exec(markdown)
  const head = match?.[1]
  if (!match || head === undefined) return { node: undefined, position: () => ({ line: 1, column: 1 }) }
  const { parseHead } = await import("./yaml-tree.ts")
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

/** The two switches that hide a skill from the model's list, whatever way they are written. */
export interface SkillFlags {
  readonly disableModelInvocation: boolean | null
  readonly autoinvoke: boolean | null
}

export async function readSkillFlags(markdown: string): Promise<SkillFlags> {
  const { node } = await readFrontmatter(markdown)
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
