import type { Effect, Rule } from "./rule.ts"
import { compilePattern, type Matcher } from "./wildcard.ts"

/** What the host does with one skill for one agent, and the rule that says so. */
export interface Decision {
  readonly effect: Effect
  /** Index of the deciding rule in the ruleset; null when nothing matched and the host falls back to `ask`. */
  readonly rule: number | null
}

/** An agent's rules with the ones that can speak about skills compiled, once for all skills. */
export interface Ruleset<R extends Rule = Rule> {
  readonly rules: readonly R[]
  /** The rules whose action pattern covers `skill`, in order. */
  readonly skillRules: readonly { readonly index: number; readonly resource: Matcher }[]
}

/** True when a rule's action pattern covers the action `skill`. */
export const speaksOfSkills = (rule: Rule): boolean => rule.action === "skill" || matcher(rule.action).matches("skill")

export function compileRuleset<R extends Rule>(rules: readonly R[]): Ruleset<R> {
  const skillRules = rules.flatMap((rule, index) =>
    speaksOfSkills(rule) ? [{ index, resource: matcher(rule.resource) }] : [],
  )
  return { rules, skillRules }
}

/**
 * The effect of the last rule whose action and resource patterns both match; nothing matches: `ask`.
 * Measured on OpenCode 1.18.34 and on OpenCode 2.
 */
export function decide(ruleset: Ruleset, skill: string): Decision {
  for (let i = ruleset.skillRules.length - 1; i >= 0; i--) {
    const candidate = ruleset.skillRules[i]
    if (candidate?.resource.matches(skill)) return { effect: effectAt(ruleset, candidate.index), rule: candidate.index }
  }
  return { effect: "ask", rule: null }
}

/** Indexes of all rules that match, in order; the last one decides. */
export const trace = (ruleset: Ruleset, skill: string): readonly number[] =>
  ruleset.skillRules.filter((rule) => rule.resource.matches(skill)).map((rule) => rule.index)

/** Both hosts take the `skill` tool from an agent whose last rule for it is the pattern `*` with `deny`. */
export function hasSkillTool(ruleset: Ruleset): boolean {
  const last = ruleset.skillRules.at(-1)
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
