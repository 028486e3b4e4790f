import type { Effect, Rule } from "./rule.ts"
import { compilePattern, isLiteral, type Matcher, slashed } from "./wildcard.ts"

/** What the host does with one skill for one agent, and the rule that says so. */
export interface Decision {
  readonly effect: Effect
  /** Index of the deciding rule in the ruleset; null when nothing matched and the host falls back to `ask`. */
  readonly rule: number | null
}

/** An agent's rules, with the ones that can speak about one action's resources compiled, once for all of these. */
export interface Ruleset<R extends Rule = Rule> {
  readonly rules: readonly R[]
  /** The rules whose action pattern covers the action, in order. */
  readonly relevant: readonly Candidate[]
  /** Those of them that name one resource: the last one for each. */
  readonly literals: ReadonlyMap<string, number>
  /** The others, the last one first. */
  readonly patterns: readonly Candidate[]
}

interface Candidate {
  readonly index: number
  readonly resource: Matcher
}

/** True when a rule's action pattern covers the action. */
export const speaksOf = (rule: Rule, action: string): boolean =>
  rule.action === action || matcher(rule.action).matches(action)

export const speaksOfSkills = (rule: Rule): boolean => speaksOf(rule, "skill")

/** Compiles the rules for the resources of one action; skills, unless another one is named. */
export function compileRuleset<R extends Rule>(rules: readonly R[], action = "skill"): Ruleset<R> {
  const relevant = rules.flatMap((rule, index) =>
    speaksOf(rule, action) ? [{ index, resource: matcher(rule.resource) }] : [],
  )
  const literal = ({ resource }: Candidate): boolean => isLiteral(resource.pattern)
  return {
    rules,
    relevant,
    literals: new Map(relevant.filter(literal).map(({ index, resource }) => [slashed(resource.pattern), index])),
    patterns: relevant.filter((rule) => !literal(rule)).toReversed(),
  }
}

/**
 * The effect of the last rule whose action and resource patterns both match; nothing matches: `ask`.
 * Measured on OpenCode 1.18.34 and on OpenCode 2.
 */
export function decide(ruleset: Ruleset, skill: string): Decision {
  const named = ruleset.literals.get(slashed(skill)) ?? -1
  const covering = ruleset.patterns.find(({ index, resource }) => index < named || resource.matches(skill))
  const rule = Math.max(named, covering?.index ?? -1)
  return rule < 0 ? { effect: "ask", rule: null } : { effect: effectAt(ruleset, rule), rule }
}

/** Indexes of all rules that match, in order; the last one decides. */
export const trace = (ruleset: Ruleset, skill: string): readonly number[] =>
  ruleset.relevant.filter((rule) => rule.resource.matches(skill)).map((rule) => rule.index)

/** Both hosts take the `skill` tool from an agent whose last rule for it is the pattern `*` with `deny`. */
export function hasSkillTool(ruleset: Ruleset): boolean {
  const last = ruleset.relevant.at(-1)
  return !(last && last.resource.pattern === "*" && effectAt(ruleset, last.index) === "deny")
}

function effectAt(ruleset: Ruleset, index: number): Effect {
  const rule = ruleset.rules[index]
  if (!rule) throw new Error("a compiled rule points outside its ruleset")
  return rule.effect
}

/** Agents share most of their rules, so compiled patterns are shared too. */
const matchers = new Map<string, Matcher>()
const MATCHERS_KEPT = 10_000

function matcher(pattern: string): Matcher {
  const known = matchers.get(pattern)
  if (known) return known
  if (matchers.size >= MATCHERS_KEPT) matchers.clear()
  const compiled = compilePattern(pattern)
  matchers.set(pattern, compiled)
  return compiled
}
