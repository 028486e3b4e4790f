import { type Node, visit } from "jsonc-parser"
import {
  blanksAt,
  closeOf,
  endOf,
  eolNear,
  gapBefore,
  gapsOf,
  indentAt,
  isBreak,
  isComma,
  isComment,
  isMultiline,
  type Json,
  lineStart,
  type Member,
  memberOf,
  renderBlock,
  renderFlat,
  renderLines,
  type Style,
  styleOf,
  type Token,
  tokens,
} from "./span-style.ts"

export type { Json, Member } from "./span-style.ts"

/** A replacement in UTF-16 offsets of the old text. Lists of edits are ascending and do not overlap. */
export interface Edit {
  readonly offset: number
  readonly length: number
  readonly text: string
}

/** The text with the edits made; every character outside them stays as it is. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  let result = ""
  let at = 0
  for (const { offset, length, text: inserted } of edits) {
    result += text.slice(at, offset) + inserted
    at = offset + length
  }
  return result + text.slice(at)
}

const insertion = (offset: number, text: string): Edit => ({ offset, length: 0, text })

/**
 * Appends members, in order, directly behind the last one and its same-line comments, in the last member's style.
 * In a container without members everything but blanks stays, and the form is that of the document.
 */
export function insertMembers(text: string, container: Node, members: readonly Member[]): Edit[] {
  if (members.length === 0) return []
  const last = container.children?.at(-1)
  return last ? append(text, container, last, members) : fill(text, container, members)
}

function append(text: string, container: Node, last: Node, members: readonly Member[]): Edit[] {
  const gap = tokens(text, endOf(last), closeOf(container))
  const comma = gap.find(isComma)
  const behind = comma?.end ?? endOf(last)
  const rest = gap.filter(({ start }) => start >= behind)
  const lineBreak = rest.find(isBreak)
  const comment = rest.findLast((token) => isComment(token) && token.start < (lineBreak?.start ?? token.end))
  const contentEnd = comment?.end ?? behind
  const line = lineOf(text, container, last)
  const isCommaApart = comma && gap.some((token) => isBreak(token) && token.end <= comma.start)

  if (!line && !isCommaApart && !comment?.text.startsWith("//")) {
    const style = styleOf(text, container, contentEnd)
    const list = members.map((member) => renderFlat(member, style)).join(style.separator)
    // Here the comma goes behind the comments: in front of them it would hand them to the new member.
    return [insertion(contentEnd, comma ? `${style.separator.slice(1)}${list},` : style.separator + list)]
  }

  const at = lineBreak?.start ?? contentEnd
  const style = styleOf(text, container, at)
  const opens = container.offset >= lineStart(text, last.offset)
  const indent = line?.indent ?? indentAt(text, last.offset) + (opens ? style.unit : "")
  const lead = comma ? "" : line?.lead
  const block = renderLines(members, style, indent, lead, lineBreak !== undefined)
  return comma || lead ? [insertion(at, block)] : [insertion(behind, ","), insertion(at, block)]
}

/** What a member that starts its line has in front of it there: the indent, and the comma if it leads. */
function lineOf(text: string, container: Node, member: Node): { indent: string; lead: string } | undefined {
  const gap = gapBefore(text, container, member)
  const lineBreak = gap.findLastIndex(isBreak)
  if (lineBreak < 0) return undefined
  const comma = gap.slice(lineBreak).find(isComma)
  return { indent: blanksAt(text, gap[lineBreak]?.end ?? 0), lead: comma ? `,${blanksAt(text, comma.end)}` : "" }
}

function fill(text: string, container: Node, members: readonly Member[]): Edit[] {
  const close = closeOf(container)
  const inner = tokens(text, container.offset + 1, close)
  const comment = inner.findLast(isComment)
  const offset = comment?.end ?? container.offset + 1
  const style = styleOf(text, container, offset)

  if (!isMultiline(text, container)) {
    const pad = container.type === "object" ? style.pad : ""
    const list = members.map((member) => renderFlat(member, style)).join(style.separator)
    return [{ offset, length: close - offset, text: (comment ? " " : pad) + list + pad }]
  }

  const base = indentAt(text, memberOf(container).offset)
  const lines = renderLines(members, style, base + style.unit)
  const lineBreak = inner.findLast((token) => isBreak(token) && token.start >= offset)
  if (lineBreak) return [{ offset, length: lineBreak.start - offset, text: lines }]
  return [{ offset, length: close - offset, text: lines + style.eol + base }]
}

/** Replaces a value, rendered as a new member in its place would be: maps on lines of their own where its member starts one. */
export function replaceValue(node: Node, value: Json, text: string, marker?: string): Edit {
  const member = memberOf(node)
  const container = member.parent
  const style = styleOf(text, container ?? node, endOf(node))
  const spans = container ? member !== node && lineOf(text, container, member) : isMultiline(text, node)
  const rendered = spans
    ? renderBlock(value, style, indentAt(text, member.offset), marker)
    : renderFlat({ value }, style)
  return { offset: node.offset, length: node.length, text: rendered }
}

const DEFAULTS = { unit: "  ", colon: ": ", separator: ", ", pad: " ", trailingComma: false, shape: () => undefined }

/** Creates the root object in a text that has no value; its comments come first, its blanks and BOM stay. */
export function insertFirstDocument(text: string, members: readonly Member[]): Edit[] {
  const eol = eolNear(text, 0)
  const style: Style = { ...DEFAULTS, eol }
  const root = members.length === 0 ? "{}" : `{${renderLines(members, style, style.unit)}${eol}}`
  const bom = text.startsWith("\ufeff") ? 1 : 0
  const blank = !tokens(text, bom, text.length).some(isComment)
  if (blank) return [insertion(bom, /[\r\n]/.test(text) ? root : root + eol)]
  return [insertion(text.length, (/[\r\n][ \t]*$/.test(text) ? "" : eol) + root + eol)]
}

interface Span {
  readonly start: number
  readonly end: number
}

/**
 * Removes members with the commas that only they need, and the lines that are left blank by that. Comments stay, those
 * in a member too, except the line comment `marker` on a removed member's own line. Indexes that name no member are
 * ignored.
 */
export function removeMembers(text: string, container: Node, indexes: readonly number[], marker?: string): Edit[] {
  const members = container.children ?? []
  const gone = new Set(indexes)
  const gaps = gapsOf(text, container)
  const spans: Span[] = members.flatMap((member, i) => {
    if (!gone.has(i)) return []
    const gap = gaps[i] ?? []
    const markers = gap.slice(0, gap.findIndex(isBreak)).filter((token) => token.text === marker)
    return [...partsOf(text, member, marker), ...markers]
  })
  spans.push(...surplusCommas(gaps, gone))
  const regions = mergeSpans(
    text,
    container,
    spans.sort((a, b) => a.start - b.start),
  )
  return regions.map((region) => {
    const { start, end } = widen(text, container, region)
    return { offset: start, length: end - start, text: "" }
  })
}

/** A member less the comments in it, which stay. */
function partsOf(text: string, member: Node, marker: string | undefined): Span[] {
  const kept = commentsIn(text, member).filter((comment) => comment.text !== marker)
  return [...kept, { start: endOf(member), end: endOf(member) }].flatMap((next, i) => {
    const from = kept[i - 1]?.end ?? member.offset
    const part = text.slice(from, next.start)
    const start = from + part.length - part.trimStart().length
    return part.trim() ? [{ start, end: start + part.trim().length }] : []
  })
}

function commentsIn(text: string, member: Node): Token[] {
  const [open, close] = member.type === "property" ? ["{", "}"] : ["[", "]"]
  const found: Token[] = []
  visit(open + text.slice(member.offset, endOf(member)) + close, {
    onComment: (offset, length) => {
      const start = member.offset + offset - open.length
      found.push({ text: text.slice(start, start + length), start, end: start + length })
    },
  })
  return found
}

/** The commas around each run of removed members, less the one that survivors or the trailing-comma habit still need. */
function surplusCommas(gaps: readonly Token[][], gone: ReadonlySet<number>): Token[] {
  const surplus: Token[] = []
  for (let from = 0; from < gaps.length; from++) {
    if (!gone.has(from)) continue
    let to = from
    while (gone.has(to + 1)) to++
    const commas = gaps.slice(Math.max(from - 1, 0), to + 1).map((gap) => gap.find(isComma))
    const own = commas.at(-1)
    const isNeeded = from > 0 && own !== undefined
    const kept = isNeeded ? (leads(gaps[to] ?? []) ? own : commas[0]) : undefined
    surplus.push(...commas.flatMap((comma) => (comma && comma !== kept ? [comma] : [])))
    from = to
  }
  return surplus
}

/** Whether the comma of a gap stands on the line of the next member only. */
function leads(gap: readonly Token[]): boolean {
  return gap.some(isBreak) && !gap.slice(gap.findIndex(isComma)).some(isBreak)
}

function mergeSpans(text: string, container: Node, spans: readonly Span[]): Span[] {
  const regions: Span[] = []
  for (const span of spans) {
    const region = regions.at(-1)
    const between = text.slice(region?.end, span.start)
    const first = container.offset + 1
    const opens = region && !text.slice(Math.max(first, lineStart(text, region.start)), region.start).trim()
    // Across lines only from the line's first thing on: blanks at the end of a surviving line are not ours.
    if (region && !between.trim() && (opens || !/[\r\n]/.test(between))) {
      regions[regions.length - 1] = { start: region.start, end: span.end }
    } else regions.push(span)
  }
  return regions
}

/** A removed region with the blanks or line breaks that would be one too many without it. */
function widen(text: string, container: Node, { start, end }: Span): Span {
  const line = lineStart(text, start)
  const left = line + text.slice(line, start).trimEnd().length
  const right = end + blanksAt(text, end).length
  const eol = /(?:\r\n|\n|\r)/y.exec(text.slice(right))?.[0] ?? ""
  const atClose = right === closeOf(container)

  if (left === line) {
    if (eol) return { start: left, end: right + eol.length }
    const before = tokens(text, text.startsWith("\r\n", line - 2) ? line - 2 : line - 1, line)[0]?.start ?? line
    return atClose && !endsInLineComment(text, container, before) ? { start: before, end } : { start, end: right }
  }
  if (eol || atClose || text[right] === "/") return { start: left, end }
  return left < start || left === container.offset + 1 ? { start, end: right } : { start, end }
}

function endsInLineComment(text: string, container: Node, offset: number): boolean {
  const first = container.children?.[0]
  const opening = tokens(text, container.offset + 1, first?.offset ?? closeOf(container))
  const inner = (container.children ?? []).flatMap((member) => commentsIn(text, member))
  return [...opening, ...gapsOf(text, container).flat(), ...inner].some(
    (token) => token.end === offset && token.text.startsWith("//"),
  )
}
