import { structuredPatch } from "diff"
import { parseJsonc, properties } from "../core/config-text.ts"
import { MARKER } from "../core/dialect/section.ts"

export interface Excerpt {
  readonly diff: string
  /** Text outside the permission sections was left out. */
  readonly masked: boolean
  readonly lines: number
}

const MASK = "…"

/**
 * A unified diff that shows the permission sections only. What lies outside them, also on a shared line, is `…`:
 * configs hold keys and tokens. Line numbers are those of the files.
 */
export function excerptDiff(name: string, before: string | null, after: string | null): Excerpt {
  const patch = structuredPatch(
    before === null ? "/dev/null" : name,
    after === null ? "/dev/null" : name,
    before ?? "",
    after ?? "",
    undefined,
    undefined,
    { context: 3 },
  )
  const old = maskedLines(before ?? "")
  const fresh = maskedLines(after ?? "")
  let masked = false
  const lines = patch.hunks.flatMap((hunk) => {
    let [oldLine, newLine] = [hunk.oldStart - 1, hunk.newStart - 1]
    const body = hunk.lines.flatMap((line) => {
      const sign = line[0] ?? " "
      if (sign === "\\") return [line]
      const shown = sign === "+" ? fresh(newLine) : old(oldLine)
      if (sign !== "+") oldLine++
      if (sign !== "-") newLine++
      if (shown.includes(MASK) && !line.includes(MASK)) masked = true
      return [`${sign}${shown}`]
    })
    return [`@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@`, ...body]
  })
  const head = lines.length > 0 ? [`--- ${patch.oldFileName}`, `+++ ${patch.newFileName}`] : []
  return { diff: [...head, ...lines].join("\n"), masked, lines: head.length + lines.length }
}

/** A text's lines, counted from 0, with everything outside its permission sections masked. */
function maskedLines(text: string): (at: number) => string {
  const visible = visibleRanges(text)
  const lines = text.split("\n")
  let [line, start] = [0, 0]
  return (at) => {
    for (; line < at; line++) start += (lines[line]?.length ?? 0) + 1
    return maskLine((lines[at] ?? "").replace(/\r$/, ""), start, visible)
  }
}

type Range = readonly [from: number, to: number]

function visibleRanges(text: string): Range[] {
  const root = parseJsonc(text)
  return properties(root)
    .filter(({ key }) => key === "permission" || key === "permissions" || key === "$schema")
    .map(({ node }): Range => [node.offset, node.offset + node.length])
}

/** Blanks, brackets and commas say nothing; anything else outside becomes one `…` for each run. */
function maskLine(line: string, start: number, visible: readonly Range[]): string {
  let shown = ""
  let hidden = ""
  const flush = () => {
    const secret = hidden.replace(MARKER, "")
    shown += /^[\s{}[\],\uFEFF]*$/.test(secret) ? hidden : hidden.replace(/\S(?:.*[^\s,])?/s, MASK)
    hidden = ""
  }
  for (let i = 0; i < line.length; i++) {
    const at = start + i
    if (visible.some(([from, to]) => at >= from && at < to)) {
      flush()
      shown += line[i]
    } else hidden += line[i]
  }
  flush()
  return shown
}
