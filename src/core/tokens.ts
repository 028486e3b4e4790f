/** Characters to a token: paths come in smaller pieces than words. */
const WORDS = 4
const PATHS = 3
/** From the first ideographs on, a character is about three quarters of a token. */
const WIDE = /[\u2e80-\uffff]/g

/**
 * What texts cost a prompt, in estimated tokens: `frame` are those of what stands around them. How far this is from a
 * real tokenizer's count stands in docs/reference/hosts.md.
 */
export function estimateTokens(frame: number, words: readonly string[], path = ""): number {
  let characters = 0
  for (const text of words) characters += text.length + 2 * (text.match(WIDE)?.length ?? 0)
  return Math.ceil(frame + characters / WORDS + path.length / PATHS)
}
