import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { compilePattern, isLiteral } from "../../src/core/wildcard.ts"
import { naiveMatch } from "./reference.ts"

const matches = (pattern: string, value: string): boolean => compilePattern(pattern).matches(value)

type Case = [pattern: string, match: string[], miss: string[]]

/** Observed on OpenCode 1.18.34 and on OpenCode 2 builds, Linux. */
const observed: Case[] = [
  ["pdf*", ["pdf", "pdf-", "pdf-1", "pdf-10", "pdf-tools", "pdfx"], ["PDF-tools", "xpdf"]],
  ["pdf-?", ["pdf-1"], ["pdf-", "pdf-10", "pdf"]],
  ["p?f", ["pdf"], ["pdff", "pf"]],
  ["*", ["", "pdf", "a/b", "ab\ncd", "my skill"], []],
  ["**", ["", "pdf", "a/b"], []],
  ["PDF-tools", ["PDF-tools"], ["pdf-tools"]],
  ["a/b", ["a/b", "a\\b"], ["a/bc", "a"]],
  ["a\\b", ["a/b", "a\\b"], ["ab"]],
  ["a/*", ["a/b", "a\\b", "a/b/c"], ["a"]],
  ["a\\*", ["a/b", "a\\b", "a/b/c"], ["a"]],
  ["my skill", ["my skill"], ["my"]],
  ["my *", ["my skill", "my  skill", "my"], ["mySkill"]],
  ["my*", ["my", "my skill", "mySkill"], ["amy"]],
  ["git *", ["git", "git commit"], ["gitx"]],
  ["[a-z]*", [], ["a", "pdf"]],
  ["{a,b}", ["{a,b}"], ["a", "b"]],
  ["!x", ["!x"], ["x", "y"]],
  ["", [""], ["a"]],
  ["?", ["a"], ["", "ab", "😀"]],
  ["a.b", ["a.b"], ["axb"]],
  ["br[1]", ["br[1]"], ["br1"]],
  ["star*", ["star*", "starX", "star"], ["sta"]],
  ["q?", ["q?", "qX"], ["q"]],
]

/** What the rules of the language say about the corners that the observed table leaves open. */
const edges: Case[] = [
  [" *", ["", " ", " x"], ["x"]],
  ["* *", ["", "a", "a b", " "], []],
  ["a * *", ["a ", "a b", "a b c", "a  "], ["a", "ab"]],
  ["? *", ["a", "a b", "/ x"], ["", "ab"]],
  ["a? *", ["ab", "ab c"], ["a", "abc"]],
  ["a *b", ["a b", "a xb"], ["a", "ab"]],
  ["a * ", ["a  ", "a x "], ["a", "a "]],
  ["*a", ["a", "ba", "aa"], ["", "ab"]],
  ["*a*", ["a", "bab", "aa"], ["", "b"]],
  ["a*a", ["aa", "aba", "aaa"], ["a", "ab"]],
  ["ab*ba", ["abba", "ab-ba"], ["aba"]],
  ["a*b*c", ["abc", "a-b-c", "abbc", "abcbc"], ["acb", "ab", "bc"]],
  ["a*?", ["ab", "abc", "aa"], ["a"]],
  ["?*?", ["ab", "abc"], ["a", ""]],
  ["*?b*c", ["abc", "bbc", "xbbyc"], ["bc", "b", "c"]],
  ["??", ["ab", "😀", "//"], ["a", "abc"]],
  ["*b?d*", ["abcd", "bxbcd", "bbcd"], ["abd"]],
  ["a?c", ["a/c", "a\\c", "a\nc"], ["ac"]],
  ["\\", ["/", "\\"], ["", "//"]],
  ["\\*", ["/", "\\x", "/x"], ["x", "*"]],
  ["$HOME/^x$", ["$HOME/^x$"], ["x"]],
  ["a|b", ["a|b"], ["a", "b"]],
  ["(a)+", ["(a)+"], ["a", "aa"]],
  ["a\n*", ["a\n", "a\nb"], ["a"]],
  ["a", ["a"], ["a\n", "\na", "A", ""]],
  ["é", ["é"], ["e\u0301"]],
  ["7", ["7"], ["07", "77"]],
]

describe.each([
  ["observed on the hosts", observed],
  ["corners of the language", edges],
])("%s", (_, cases) => {
  test.each(cases.flatMap(([pattern, match]) => match.map((value) => [pattern, value])))(
    "%j matches %j",
    (p, value) => {
      expect(matches(p as string, value as string)).toBe(true)
    },
  )
  test.each(cases.flatMap(([pattern, , miss]) => miss.map((value) => [pattern, value])))("%j misses %j", (p, value) => {
    expect(matches(p as string, value as string)).toBe(false)
  })
  test("the naive reference of the property below agrees", () => {
    for (const [pattern, match, miss] of cases) {
      for (const value of match) expect([pattern, value, naiveMatch(pattern, value)]).toEqual([pattern, value, true])
      for (const value of miss) expect([pattern, value, naiveMatch(pattern, value)]).toEqual([pattern, value, false])
    }
  })
})

const units = fc.constantFrom(
  "a",
  "b",
  "c",
  " ",
  "*",
  "?",
  "/",
  "\\",
  ".",
  "+",
  "[",
  "]",
  "{",
  "$",
  "^",
  "\n",
  "😀",
  "-",
)
const texts = (max: number) => fc.array(units, { maxLength: max }).map((parts) => parts.join(""))

describe("properties", () => {
  test("the same verdict as a regular expression built by the book", () => {
    fc.assert(
      fc.property(texts(8), texts(9), (pattern, value) => {
        expect(matches(pattern, value)).toBe(naiveMatch(pattern, value))
      }),
      { numRuns: 20_000, seed: 11 },
    )
  })

  test("the same over a tiny alphabet, where nearly everything almost matches", () => {
    const tiny = fc.array(fc.constantFrom("a", "b", "*", "?", " "), { maxLength: 9 }).map((parts) => parts.join(""))
    const plain = fc.array(fc.constantFrom("a", "b", " "), { maxLength: 10 }).map((parts) => parts.join(""))
    fc.assert(
      fc.property(tiny, plain, (pattern, value) => {
        expect(matches(pattern, value)).toBe(naiveMatch(pattern, value))
      }),
      { numRuns: 20_000, seed: 12 },
    )
  })

  test("every value matches itself taken as a pattern, and one compiled pattern answers the same twice", () => {
    fc.assert(
      fc.property(texts(12), texts(12), (pattern, value) => {
        expect(matches(value, value)).toBe(true)
        const compiled = compilePattern(pattern)
        expect(compiled.pattern).toBe(pattern)
        expect(compiled.matches(value)).toBe(compiled.matches(value))
      }),
      { numRuns: 2_000, seed: 13 },
    )
  })

  test("a literal pattern matches one value only, but for the two slashes", () => {
    fc.assert(
      fc.property(texts(4), texts(4), (pattern, value) => {
        fc.pre(isLiteral(pattern) && pattern.replaceAll("\\", "/") !== value.replaceAll("\\", "/"))
        expect(matches(pattern, value)).toBe(false)
      }),
      { numRuns: 5_000, seed: 14 },
    )
  })
})

test.each([
  ["pdf", true],
  ["", true],
  ["[a]", true],
  ["a b", true],
  ["*", false],
  ["a?", false],
  ["my *", false],
])("%j is literal: %j", (pattern, literal) => {
  expect(isLiteral(pattern)).toBe(literal)
})

/**
 * A value that counts how often one of its characters is looked at: one by one, or at each place where a run is looked
 * for. Enough of a string for the matcher, which takes care to use nothing else.
 */
function counted(value: string): { value: string; steps(): number } {
  let steps = 0
  const like = {
    length: value.length,
    includes: (part: string) => value.includes(part),
    replaceAll: (from: string, to: string) => value.replaceAll(from, to),
    startsWith: (part: string, at = 0) => {
      steps += Math.max(1, part.length)
      return value.startsWith(part, at)
    },
    indexOf: (part: string, at = 0) => {
      const found = value.indexOf(part, at)
      steps += (found < 0 ? value.length : found + part.length) - at + 1
      return found
    },
  }
  const proxy = new Proxy(like, {
    get(target, key) {
      if (typeof key === "string" && /^\d+$/.test(key)) {
        steps++
        return value[Number(key)]
      }
      if (!(key in target)) throw new Error(`the counting string knows no ${String(key)}`)
      return Reflect.get(target, key)
    },
  })
  return { value: proxy as unknown as string, steps: () => steps }
}

describe("hostile patterns are not tried again and again", () => {
  test("a run with `?` that almost fits everywhere costs pattern times value at most", () => {
    const probe = counted("a".repeat(2_000))
    const pattern = `*${"a".repeat(50)}?b*`
    expect(matches(pattern, probe.value)).toBe(false)
    expect(probe.steps()).toBeLessThan(2 * pattern.length * 2_000)
  })

  const hostile: [string, string, string][] = [
    ["a*a*a*…b", `${"a*".repeat(100)}b`, "a".repeat(5_000)],
    ["*a*a*a…b", `${"*a".repeat(100)}*b`, "a".repeat(5_000)],
    ["a?*a?*…b", `${"a?*".repeat(60)}b`, "a".repeat(2_000)],
    ["stars alone", `${"*".repeat(250)}b`, "a".repeat(5_000)],
    ["question marks in runs", `${"*?a".repeat(60)}*b*`, "a".repeat(2_000)],
    ["final blank and star", `${"a*".repeat(100)}b *`, "a".repeat(5_000)],
  ]
  test.each(hostile)("about pattern plus value steps: %s", (_, pattern, value) => {
    const probe = counted(value)
    expect(matches(pattern, probe.value)).toBe(false)
    expect(probe.steps()).toBeLessThan(4 * (pattern.length + value.length))
  })
})
