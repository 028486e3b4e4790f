/** What the host puts in place of `{env:NAME}` and `{file:path}`; undefined when a file cannot be read. */
export type Substitute = (kind: "env" | "file", name: string) => string | undefined

const ENV = /\{env:([^}]+)\}/g
const FILE = /\{file:([^}]+)\}/g

/** Whether what a text says may depend on more than the text. */
export const hasReference = (text: string): boolean => /\{(?:env|file):/.test(text)

/** A text with its references replaced, and the way back to what was written. */
export interface Expansion {
  readonly text: string
  readonly missing: { readonly rawOffset: number } | null
  rawOffset(offset: number): number
  isReplaced(from: number, to: number): boolean
}

/**
 * As OpenCode 1.18.34 does (read in its bundled code): first `{env:X}` is replaced everywhere and unescaped, an unset
 * one by nothing; then `{file:…}` by its trimmed text, JSON-escaped, except on a line that starts with `//`.
 */
export function expand(raw: string, substitute: Substitute): Expansion {
  const env = replaceReferences(raw, ENV, (name) => substitute("env", name) ?? "")
  let missingAt: number | null = null
  const files = replaceReferences(env.text, FILE, (name, at) => {
    if (onCommentLine(env.text, at)) return null
    const value = substitute("file", name)
    if (value === undefined) missingAt ??= at
    return JSON.stringify((value ?? "").trim()).slice(1, -1)
  })
  return {
    text: files.text,
    missing: missingAt === null ? null : { rawOffset: env.oldOffset(missingAt) },
    rawOffset: (offset) => env.oldOffset(files.oldOffset(offset)),
    isReplaced: (from, to) => files.isNew(from, to) || env.isNew(files.oldOffset(from), files.oldOffset(to)),
  }
}

/** Replaces references; a `null` leaves one as it stands. `oldOffset` maps an offset of the new text to the old one. */
function replaceReferences(text: string, reference: RegExp, value: (name: string, at: number) => string | null) {
  const spans: { at: number; oldAt: number; length: number; oldLength: number }[] = []
  let fresh = ""
  let done = 0
  for (const match of text.matchAll(reference)) {
    const [whole, name = ""] = match
    const inserted = value(name, match.index)
    if (inserted === null) continue
    fresh += text.slice(done, match.index)
    spans.push({ at: fresh.length, oldAt: match.index, length: inserted.length, oldLength: whole.length })
    fresh += inserted
    done = match.index + whole.length
  }
  const oldOffset = (offset: number) => {
    const span = spans.findLast((candidate) => candidate.at <= offset)
    if (!span) return offset
    return offset < span.at + span.length ? span.oldAt : offset - span.at - span.length + span.oldAt + span.oldLength
  }
  const isNew = (from: number, to: number) => spans.some(({ at, length }) => at < to && at + length > from)
  return { text: fresh + text.slice(done), oldOffset, isNew }
}

const onCommentLine = (text: string, offset: number): boolean =>
  text
    .slice(text.lastIndexOf("\n", offset - 1) + 1, offset)
    .trimStart()
    .startsWith("//")
