/** The text that takes one edit back: `inserted` is found exactly once and makes way for `replaced`. Null is no file. */
export interface Inverse {
  readonly inserted: string | null
  readonly replaced: string | null
}

/**
 * The one run of text in which two texts differ, with as much around it as it takes to find it again: offsets mean
 * nothing once somebody else has edited the file.
 */
export function inverseOf(before: string | null, after: string | null): Inverse {
  if (before === null || after === null) return { inserted: after, replaced: before }
  const most = Math.min(before.length, after.length)
  let start = 0
  while (start < most && before[start] === after[start]) start++
  let end = 0
  while (end < most - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end++
  // What is written behind a new line belongs to it, whichever line the rest of it looks like.
  if (after.slice(start, after.length - end).includes("\n")) end -= after.slice(after.length - end).indexOf("\n") + 1
  const run = (text: string, around: number) =>
    text.slice(Math.max(0, start - around), text.length - Math.max(0, end - around))
  let around = 0
  while (placesOf(after, run(after, around)) !== 1 && around < after.length) around = around * 2 + 8
  return { inserted: run(after, around), replaced: run(before, around) }
}

/** The text with one edit taken back; undefined where its text is not found exactly once. */
export function takenBack(now: string | null, { inserted, replaced }: Inverse): string | null | undefined {
  if (now === inserted) return replaced
  if (now === null || inserted === null || replaced === null || placesOf(now, inserted) !== 1) return undefined
  const at = now.indexOf(inserted)
  return now.slice(0, at) + replaced + now.slice(at + inserted.length)
}

/** How often a run occurs: 0, 1, or 2 for more. An empty run has no place of its own. */
function placesOf(text: string, run: string): number {
  const first = run === "" ? -1 : text.indexOf(run)
  if (first < 0) return 0
  return text.indexOf(run, first + 1) < 0 ? 1 : 2
}
