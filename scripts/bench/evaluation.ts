import type { Rule } from "../../src/core/rule.ts"
import { naiveMatch } from "../../test/core/reference.ts"
import { built } from "./built.ts"
import { median, timed } from "./side-by-side.ts"
import { idsOf, rulesetsOf, type Size } from "./world.ts"

const ROUNDS = 5

/**
 * How many times as long as ours the hosts' own way takes: for each skill and agent a fresh regular expression for each
 * rule, from the last one up. It runs once, ours before and after it; both have to come to the same effects.
 */
export async function evaluation(size: Size): Promise<number> {
  const ids = idsOf(size.skills)
  const rulesets = rulesetsOf(size)
  const ours = await evaluator()
  const times: number[] = []
  const measureOurs = async () => {
    for (let round = 0; round < ROUNDS; round++) times.push(await timed(() => ours(rulesets, ids)))
  }
  let naive: string[][] = []
  await measureOurs()
  const theirs = await timed(() => {
    naive = rulesets.map((rules) => ids.map((id) => naiveEffect(rules, id)))
  })
  await measureOurs()
  if (JSON.stringify(ours(rulesets, ids)) !== JSON.stringify(naive)) throw new Error("the two ways differ")
  return theirs / median(times)
}

const naiveEffect = (rules: readonly Rule[], id: string): string =>
  rules.findLast(({ action, resource }) => naiveMatch(action, "skill") && naiveMatch(resource, id))?.effect ?? "ask"

/** From rules to effects, nothing known before. */
export async function evaluator() {
  const { compileRuleset, decide }: typeof import("../../src/core/evaluate.ts") = await import(built("core/evaluate"))
  const { PatternIndex }: typeof import("../../src/core/pattern-index.ts") = await import(built("core/pattern-index"))
  return (rulesets: readonly (readonly Rule[])[], ids: readonly string[]): string[][] => {
    const patterns = new PatternIndex()
    return rulesets
      .map((rules) => compileRuleset(rules, "skill", patterns))
      .map((ruleset) => ids.map((id) => decide(ruleset, id).effect))
  }
}
