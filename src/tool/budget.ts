import { type Answer, render, renderText } from "./envelope.ts"

/** Hosts cut an output at 2,000 lines or 51,200 bytes; ours ends well before. */
export const MAX_BYTES = 32 * 1024
export const MAX_LINES = 1_500
/** A page of `list` without a `limit` stays under this. */
export const PAGE_BYTES = 16 * 1024

export const bytesOf = (text: string): number => Buffer.byteLength(text, "utf8")

export const fits = (text: string): boolean => bytesOf(text) <= MAX_BYTES && text.split("\n").length <= MAX_LINES

/** An array cut at `most`, and beside it how much is missing. */
export function cut<K extends string, T>(name: K, items: readonly T[], most: number) {
  const shown: { [P in K]: T[] } & { [P in `${K}Truncated`]?: { shown: number; total: number } } = Object.assign(
    Object.create(null),
    { [name]: items.slice(0, most) },
    items.length > most && { [`${name}Truncated`]: { shown: Math.max(0, most), total: items.length } },
  )
  return { ...shown }
}

const SHORTEST = 128

/**
 * An answer and its text, within the limits whatever it holds: where arrays were cut and it is still too large, its
 * longest texts end in `…`, and a call that would not be exact any more is not offered.
 */
export function bounded(answer: Answer): { readonly answer: Answer; readonly text: string } {
  let small = answer
  let text = render(small)
  for (let most = MAX_BYTES / 4; most >= SHORTEST && !fits(text); most /= 2) {
    const next = small.next.filter((call) => render(shortened({ call }, most)) === render({ call }))
    small = { ...small, ...shortened(small, most), next }
    text = render(small)
  }
  return { answer: small, text }
}

/** The same value with every text, and every name in it, of at most so many bytes. A cursor means nothing in parts. */
function shortened<T>(value: T, most: number): T
function shortened(value: unknown, most: number): unknown {
  if (typeof value === "string") return shorter(value, most)
  if (Array.isArray(value)) return value.map((item) => shortened(item, most))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      shorter(key, most),
      key === "nextCursor" ? item : shortened(item, most),
    ]),
  )
}

function shorter(text: string, most: number): string {
  if (bytesOf(renderText(text)) <= most) return text
  let kept = 0
  let room = most - bytesOf(renderText("…"))
  for (const character of text) {
    room -= bytesOf(renderText(character)) - bytesOf(renderText(""))
    if (room < 0) break
    kept += character.length
  }
  return `${text.slice(0, kept)}…`
}

/** Builds an outcome with smaller and smaller shares for its arrays until its answer fits; `share` starts at 1. */
export function fitted<T>(build: (share: number) => T, answer: (built: T) => object): T {
  let built = build(1)
  for (let share = 1 / 2; share > 1 / 1_000 && !fits(render(answer(built))); share /= 2) built = build(share)
  return built
}
