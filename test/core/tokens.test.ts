import { expect, test } from "vitest"
import { estimateTokens } from "../../src/core/tokens.ts"

test.each([
  ["nothing but the frame", [28, ""], 28],
  ["four characters to a token", [0, "x".repeat(400)], 100],
  ["a token begun is a token", [0, "x"], 1],
  ["three characters of a path", [0, "", "/".repeat(300)], 100],
  ["three tokens for four ideographs", [0, "汉".repeat(400)], 300],
  ["the first of them, and the last letter before", [0, "\u2e7f\u2e80".repeat(200)], 200],
  ["both halves of an emoji count", [0, "\u{1F600}".repeat(200)], 300],
] as const)("%s", (_, [frame, words, path], tokens) => {
  expect(estimateTokens(frame, [words], path)).toBe(tokens)
})
