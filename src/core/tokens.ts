/** Characters to a token: paths come in smaller pieces than words. */
const WORDS = 4
const PATHS = 3
/** From the first ideographs on, a character is about three quarters of a token. */
const WIDE = 0x2e80

/**
 * What a text costs a prompt, in estimated tokens: `frame` are those of what stands around it. How far this is from a
 * real tokenizer's count stands in docs/reference/hosts.md.
 */
export function estimateTokens(frame: number, words: string, path = ""): number {
  let wide = 0
  for (let i = 0; i < words.length; i++) if (words.charCodeAt(i) >= WIDE) wide++
  return Math.ceil(frame + (words.length + 2 * wide) / WORDS + path.length / PATHS)
}
