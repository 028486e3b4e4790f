import { PatternIndex } from "./pattern-index.ts"
import type { Effect, Rule } from "./rule.ts"
import { compilePattern, type Matcher } from "./wildcard.ts"

/** What the host does with one skill for one agent, and the rule that says so. */
export interface Decision {
  readonly effect: Effect
  /** Index of the deciding rule in the ruleset; null when nothing matched and the host falls back to `ask`. */
  readonly rule: number | null
}

/** An agent's rules, with the ones that can speak about one action's resources. */
export interface Ruleset<R extends Rule = Rule> {
  readonly rules: readonly R[]
  /** The rules whose action pattern covers the action, in order. */
  readonly relevant: readonly Candidate[]
  /** The patterns of all rulesets that were compiled together: each meets a value once, whoever asks. */
  readonly patterns: PatternIndex
  /** The last rule of this ruleset with each of the patterns that it uses. */
  readonly last: ReadonlyMap<Matcher, number>
}

interface Candidate {
  readonly index: number
  readonly resource: Matcher
}

/** True when a rule's action pattern covers the action. */
export const speaksOf = (rule: Rule, action: string): boolean =>
  rule.action === action || compilePattern(rule.action).matches(action)

export const speaksOfSkills = (rule: Rule): boolean => speaksOf(rule, "skill")

/**
 * Compiles the rules for the resources of one action; skills, unless another one is named. Rulesets that are to be asked
 * about the same resources share their `patterns`.
 */
export function compileRuleset<R extends Rule>(
  rules: readonly R[],
  action = "skill",
  patterns = new PatternIndex(),
): Ruleset<R> {
  const relevant = rules.flatMap((rule, index) =>
    speaksOf(rule, action) ? [{ index, resource: patterns.add(rule.resource) }] : [],
  )
  return { rules, relevant, patterns, last: new Map(relevant.map(({ index, resource }) => [resource, index])) }
}

/**
 * The effect of the last rule whose action and resource patterns both match; nothing matches: `ask`.
 * Measured on OpenCode 1.18.34 and on OpenCode 2.
 */
export function decide({ rules, patterns, last }: Ruleset, skill: string): Decision {
  let index = -1
  for (const pattern of patterns.matching(skill)) index = Math.max(index, last.get(pattern) ?? -1)
  const rule = rules[index]
  return rule ? { effect: rule.effect, rule: index } : { effect: "ask", rule: null }
}

/** Indexes of all rules that match, in order; the last one decides. */
export const trace = (ruleset: Ruleset, skill: string): readonly number[] =>
  ruleset.relevant.filter((rule) => rule.resource.matches(skill)).map((rule) => rule.index)

/** Both hosts take the `skill` tool from an agent whose last rule for it is the pattern `*` with `deny`. */
export function hasSkillTool(ruleset: Ruleset): boolean {
  const last = ruleset.relevant.at(-1)
  return !(last && last.resource.pattern === "*" && ruleset.rules[last.index]?.effect === "deny")
}
