import fc from "fast-check"
import { describe, expect, test, vi } from "vitest"
import {
  compileRuleset,
  decide,
  differingPatterns,
  hasSkillTool,
  type Ruleset,
  speaksOfSkills,
  trace,
} from "../../src/core/evaluate.ts"
import { PatternIndex } from "../../src/core/pattern-index.ts"
import type { Rule } from "../../src/core/rule.ts"
import { type NaiveRule, naiveEffect, naiveTrace } from "./reference.ts"

/** How often each pattern has met a value. */
const met = new Map<string, number>()
/** How often each has been compiled. */
const made = new Map<string, number>()
vi.mock("../../src/core/wildcard.ts", async (original) => {
  const real = await original<typeof import("../../src/core/wildcard.ts")>()
  const compileSlashed = (pattern: string) => {
    const matches = real.compileSlashed(pattern)
    made.set(pattern, (made.get(pattern) ?? 0) + 1)
    return (path: string) => {
      met.set(pattern, (met.get(pattern) ?? 0) + 1)
      return matches(path)
    }
  }
  return { ...real, compileSlashed }
})

const rules = (...list: NaiveRule[]): Rule[] => list.map(([action, resource, effect]) => ({ action, resource, effect }))
const ruleset = (...list: NaiveRule[]) => compileRuleset(rules(...list))

describe("decide: the last rule that matches", () => {
  test.each<[name: string, rules: NaiveRule[], id: string, effect: string, rule: number | null]>([
    ["no rules at all: ask, by nothing", [], "pdf", "ask", null],
    ["only rules about other things", [["bash", "*", "deny"]], "pdf", "ask", null],
    ["an explicit ask is a rule", [["skill", "pdf", "ask"]], "pdf", "ask", 0],
    ["a default for everything", [["*", "*", "allow"]], "pdf", "allow", 0],
    [
      "exact after broad",
      [
        ["*", "*", "allow"],
        ["skill", "pdf", "deny"],
      ],
      "pdf",
      "deny",
      1,
    ],
    [
      "broad after exact",
      [
        ["skill", "pdf", "deny"],
        ["*", "*", "allow"],
      ],
      "pdf",
      "allow",
      1,
    ],
    [
      "the index counts every rule",
      [
        ["*", "*", "allow"],
        ["bash", "*", "ask"],
        ["skill", "p*", "deny"],
      ],
      "pdf",
      "deny",
      2,
    ],
    [
      "a pattern as action",
      [
        ["*", "*", "allow"],
        ["sk*", "*", "deny"],
      ],
      "pdf",
      "deny",
      1,
    ],
    [
      "an action that only looks like it",
      [
        ["*", "*", "allow"],
        ["skills", "*", "deny"],
        ["skil", "*", "deny"],
      ],
      "pdf",
      "allow",
      0,
    ],
    ["`skill` may be met by a final blank and star", [["skill *", "pdf", "deny"]], "pdf", "deny", 0],
    [
      "case counts",
      [
        ["*", "*", "allow"],
        ["skill", "PDF", "deny"],
        ["Skill", "pdf", "deny"],
      ],
      "pdf",
      "allow",
      0,
    ],
    [
      "of two equal rules the later one decides",
      [
        ["skill", "pdf", "deny"],
        ["skill", "pdf", "deny"],
      ],
      "pdf",
      "deny",
      1,
    ],
    [
      "an empty id",
      [
        ["skill", "?*", "deny"],
        ["skill", "", "allow"],
      ],
      "",
      "allow",
      1,
    ],
    ["slashes are one", [["skill", "a\\b", "deny"]], "a/b", "deny", 0],
  ])("%s", (_, list, id, effect, rule) => {
    expect(decide(ruleset(...list), id)).toEqual({ effect, rule })
  })
})

test("trace: every rule that matches, in order, the deciding one last", () => {
  const set = ruleset(
    ["*", "*", "allow"],
    ["bash", "*", "deny"],
    ["skill", "*", "ask"],
    ["skill", "x*", "deny"],
    ["sk?ll", "pd?", "deny"],
    ["skill", "pdf", "allow"],
  )
  expect(trace(set, "pdf")).toEqual([0, 2, 4, 5])
  expect(trace(set, "xml")).toEqual([0, 2, 3])
  expect(trace(set, "a")).toEqual([0, 2])
  expect(trace(ruleset(), "a")).toEqual([])
})

test("compileRuleset: keeps the rules as they are and picks those that can speak about skills", () => {
  const list = rules(["*", "*", "allow"], ["bash", "*", "deny"], ["skill", "pdf", "deny"], ["s*", "x", "ask"])
  const set = compileRuleset(list)
  expect(set.rules).toBe(list)
  expect(set.patterns.texts()).toEqual(["*", "pdf", "x"])
})

describe("rulesets that are compiled together", () => {
  const together = (...sets: (readonly NaiveRule[])[]) => {
    const patterns = new PatternIndex()
    return sets.map((set) => compileRuleset(rules(...set), "skill", patterns))
  }

  test("decide each by its own rules, as the naive reference does", () => {
    const unit = fc.constantFrom("a", "b", "/", "\\", "*", "?", " ")
    const text = fc.array(unit, { maxLength: 5 }).map((parts) => parts.join(""))
    const rule = fc.tuple(fc.constantFrom("skill", "*", "bash"), text, fc.constantFrom("allow", "ask", "deny"))
    const sets = fc.array(fc.array(rule, { maxLength: 8 }), { maxLength: 4 })
    fc.assert(
      fc.property(sets, fc.array(text, { maxLength: 4 }), (given, ids) => {
        const compiled = together(...(given as NaiveRule[][]))
        for (const [i, set] of compiled.entries())
          for (const id of ids) expect(decide(set, id).effect).toBe(naiveEffect((given[i] ?? []) as NaiveRule[], id))
        for (const [a] of given.entries())
          for (const [b] of given.entries())
            for (const id of ids) expectAlike(compiled, given as NaiveRule[][], [a, b], id)
      }),
      { numRuns: 3_000, seed: 15 },
    )
  })

  /** Whoever matches none of the patterns about which two differ is decided alike by both. */
  function expectAlike(sets: Ruleset[], given: NaiveRule[][], [a, b]: [number, number], id: string) {
    const [first, second] = [sets[a], sets[b]]
    if (!first || !second) throw new Error("a set for each list")
    const differing = differingPatterns(first, second)
    if (first.patterns.matching(id).some((pattern) => differing.includes(pattern))) return
    expect(naiveEffect(given[a] ?? [], id)).toBe(naiveEffect(given[b] ?? [], id))
  }

  test("differ in the patterns of rules that only one has, that stand behind others, or that say something else", () => {
    const shared: NaiveRule[] = [
      ["*", "*", "allow"],
      ["skill", "pdf", "deny"],
    ]
    const [a, alike, more, moved, other, between] = together(
      shared,
      shared,
      [...shared, ["skill", "x*", "ask"]],
      [["*", "*", "deny"], ...shared],
      [...shared.slice(0, 1), ["skill", "pdf", "ask"]],
      [...shared.slice(0, 1), ["skill", "nobody", "ask"], ...shared.slice(1)],
    )
    if (!a || !alike || !more || !moved || !other || !between) throw new Error("six sets")
    const named = (set: Ruleset) => {
      const differing = differingPatterns(a, set)
      return ["pdf", "xml", "a"].filter((id) => a.patterns.matching(id).some((found) => differing.includes(found)))
    }
    expect(named(alike)).toEqual([])
    expect(named(more)).toEqual(["xml"])
    expect(named(moved)).toEqual([])
    expect(named(between)).toEqual(["pdf"])
    expect(named(other)).toEqual(["pdf"])
  })

  test("an index that has grown large says so", () => {
    const patterns = new PatternIndex()
    for (let i = 0; i < 500; i++) patterns.add(`a${i}`)
    patterns.matching("a")
    for (let i = 0; i < 1_500; i++) patterns.add(`b${i}`)
    expect(patterns.isFull).toBe(false)
    patterns.add("one more")
    expect(patterns.isFull).toBe(true)
    const asked = new PatternIndex()
    for (let i = 0; i < 50_000; i++) asked.matching(`a${i}`)
    expect(asked.isFull).toBe(false)
    asked.matching("one more")
    expect(asked.isFull).toBe(true)
  })

  test("meet a pattern once for each skill, whoever uses it, and only where the skill starts and ends like it", () => {
    const shared: NaiveRule[] = ["pdf-*", "*-forms", "pdf*s", "docx", "*"].map((name) => ["skill", name, "deny"])
    made.clear()
    const sets = together(
      ...Array.from({ length: 25 }, (_, i) => [...shared, ["skill", `own-${i}*`, "allow"] as const]),
    )
    met.clear()
    expect(["pdf-*", "*-forms", "pdf*s", "docx", "*"].map((pattern) => made.get(pattern))).toEqual([1, 1, 1, 1, 1])
    for (const set of sets) for (const id of ["pdf-forms", "own-7-x"]) decide(set, id)
    expect(Object.fromEntries(met)).toEqual({
      "pdf-*": 1,
      "*-forms": 1,
      "pdf*s": 1,
      "*": 2,
      "own-7*": 1,
    })
  })

  test("build no regular expression", () => {
    const build = vi.spyOn(globalThis, "RegExp")
    const [set] = together([["s*", "p?f*x", "deny"]])
    expect(set && decide(set, "pdf-x").effect).toBe("deny")
    expect(build).not.toHaveBeenCalled()
    build.mockRestore()
  })
})

test.each([
  ["skill", true],
  ["*", true],
  ["sk*", true],
  ["?????", true],
  ["skill *", true],
  ["bash", false],
  ["skills", false],
  ["SKILL", false],
  ["", false],
])("an action %j speaks about skills: %j", (action, speaks) => {
  expect(speaksOfSkills({ action, resource: "*", effect: "deny" })).toBe(speaks)
})

describe("hasSkillTool: gone when the last rule about skills is `*` deny", () => {
  test.each<[name: string, rules: NaiveRule[], has: boolean]>([
    ["no rules", [], true],
    ["all allowed", [["*", "*", "allow"]], true],
    [
      "everything denied",
      [
        ["*", "*", "allow"],
        ["*", "*", "deny"],
      ],
      false,
    ],
    [
      "skills denied",
      [
        ["*", "*", "allow"],
        ["skill", "*", "deny"],
      ],
      false,
    ],
    ["skills denied by a pattern of the action", [["sk*", "*", "deny"]], false],
    [
      "later rules about other things do not count",
      [
        ["skill", "*", "deny"],
        ["bash", "*", "allow"],
      ],
      false,
    ],
    [
      "one exact rule behind it brings the tool back",
      [
        ["skill", "*", "deny"],
        ["skill", "pdf", "allow"],
      ],
      true,
    ],
    [
      "… even one that denies",
      [
        ["skill", "*", "deny"],
        ["skill", "pdf", "deny"],
      ],
      true,
    ],
    ["another spelling of everything does not count", [["skill", "**", "deny"]], true],
    ["asking is not denying", [["skill", "*", "ask"]], true],
    ["an exact deny", [["skill", "pdf", "deny"]], true],
  ])("%s", (_, list, has) => {
    expect(hasSkillTool(ruleset(...list))).toBe(has)
  })
})

test("the same as walking the rules one by one", () => {
  const pattern = fc
    .array(fc.constantFrom("a", "b", "*", "?", " ", "/", "\\"), { maxLength: 4 })
    .map((parts) => parts.join(""))
  const action = fc.constantFrom("*", "skill", "sk*", "s?ill", "skill *", "bash", "skills", "")
  const list = fc.array(
    fc.tuple(action, pattern, fc.constantFrom("allow", "ask", "deny") as fc.Arbitrary<NaiveRule[2]>),
    {
      maxLength: 8,
    },
  )
  const id = fc.array(fc.constantFrom("a", "b", " ", "/"), { maxLength: 4 }).map((parts) => parts.join(""))
  fc.assert(
    fc.property(list, fc.array(id, { minLength: 1, maxLength: 5 }), (naive, ids) => {
      const set = ruleset(...naive)
      for (const one of ids) {
        const matching = naiveTrace(naive, one)
        expect(trace(set, one)).toEqual(matching)
        expect(decide(set, one)).toEqual({ effect: naiveEffect(naive, one), rule: matching.at(-1) ?? null })
      }
    }),
    { numRuns: 5_000, seed: 21 },
  )
})

test("more patterns than the shared store keeps give the same answers", () => {
  const many = ruleset(...Array.from({ length: 10_500 }, (_, i): NaiveRule => ["skill", `s${i}*`, "deny"]))
  expect(decide(many, "s10499")).toEqual({ effect: "deny", rule: 10_499 })
  expect(trace(many, "s77")).toEqual([7, 77])
  expect(trace(many, "t")).toEqual([])
})
