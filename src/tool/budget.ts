import { render } from "./envelope.ts"

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

/** Builds an outcome with smaller and smaller shares for its arrays until its answer fits; `share` starts at 1. */
export function fitted<T>(build: (share: number) => T, answer: (built: T) => object): T {
  let built = build(1)
  for (let share = 1 / 2; share > 1 / 1_000 && !fits(render(answer(built))); share /= 2) built = build(share)
  return built
}
