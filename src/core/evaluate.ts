import { PatternIndex } from "./pattern-index.ts"
import { EFFECTS, type Effect, type Rule } from "./rule.ts"
import { compilePattern } from "./wildcard.ts"

/** What the host does with one skill for one agent, and the rule that says so. */
export interface Decision {
  readonly effect: Effect
  /** Index of the deciding rule in the ruleset; null when nothing matched and the host falls back to `ask`. */
  readonly rule: number | null
}

/** An agent's rules, with the ones that can speak about one action's resources. */
export interface Ruleset<R extends Rule = Rule> {
  readonly rules: readonly R[]
  /** The patterns of all rulesets that were compiled together: each meets a value once, whoever asks. */
  readonly patterns: PatternIndex
  /** Each rule's resource as a number in `patterns`; none where the rule's action pattern does not cover the action. */
  readonly resources: Int32Array
  /** The last of the rules with each pattern, by the pattern's number: its index and its effect in one number. */
  readonly last: Int32Array
  /** How many rules for everything stand before all others: where agents differ first. */
  readonly lead: number
}

const NONE = -1

/** Of two rules the later one has the larger mark, and equal marks are one effect in one place. */
const markOf = (index: number, effect: Effect): number => index * EFFECTS.length + EFFECTS.indexOf(effect)
const indexIn = (mark: number): number => Math.floor(mark / EFFECTS.length)
const effectIn = (mark: number): Effect => (mark === NONE ? undefined : EFFECTS[mark % EFFECTS.length]) ?? "ask"

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
  const resources = new Int32Array(rules.length)
  rules.forEach((rule, index) => {
    resources[index] = speaksOf(rule, action) ? patterns.add(rule.resource) : NONE
  })
  const last = new Int32Array(patterns.size).fill(NONE)
  rules.forEach(({ effect }, index) => {
    const pattern = resources[index] ?? NONE
    if (pattern !== NONE) last[pattern] = markOf(index, effect)
  })
  const lead = rules.findIndex(({ resource }) => resource !== "*")
  return { rules, patterns, resources, last, lead: lead < 0 ? rules.length : lead }
}

/**
 * The effect of the last rule whose action and resource patterns both match; nothing matches: `ask`.
 * Measured on OpenCode 1.18.34 and on OpenCode 2.
 */
export function decide(ruleset: Ruleset, skill: string): Decision {
  const mark = lastMark(ruleset, ruleset.patterns.matching(skill))
  return { effect: effectIn(mark), rule: mark === NONE ? null : indexIn(mark) }
}

/** The effect alone, where the patterns that match the skill are known. */
export const effectAmong = (ruleset: Ruleset, matching: readonly number[]): Effect =>
  effectIn(lastMark(ruleset, matching))

function lastMark({ last }: Ruleset, matching: readonly number[]): number {
  let mark = NONE
  for (const pattern of matching) mark = Math.max(mark, last[pattern] ?? NONE)
  return mark
}

/**
 * The patterns about which two rulesets that were compiled together differ. Those that match a skill stand in one order,
 * with the same effects, in both where none of them is among these: then both decide alike.
 */
export function differingPatterns(a: Ruleset, b: Ruleset): number[] {
  if (a.patterns !== b.patterns) throw new Error("rulesets are compared that were compiled apart")
  const { size } = a.patterns
  const shift = (b.lead - a.lead) * EFFECTS.length
  const found: number[] = []
  for (let pattern = 0; pattern < size; pattern++) {
    const [inA, inB] = [a.last[pattern] ?? NONE, b.last[pattern] ?? NONE]
    if (inA === NONE || inB === NONE ? inA !== inB : inA + shift !== inB) found.push(pattern)
  }
  return found
}

/** The patterns of the rules of any of these rulesets that can speak about the action, each once. */
export function patternsIn(rulesets: readonly Ruleset[]): string[] {
  const texts = rulesets[0]?.patterns.texts() ?? []
  return texts.filter((_, pattern) => rulesets.some(({ last }) => (last[pattern] ?? NONE) !== NONE))
}

/** Indexes of all rules that match, in order; the last one decides. */
export function trace({ rules, patterns, resources }: Ruleset, skill: string): readonly number[] {
  const matching = new Set(patterns.matching(skill))
  return [...rules.keys()].filter((index) => matching.has(resources[index] ?? NONE))
}

/** Both hosts take the `skill` tool from an agent whose last rule for it is the pattern `*` with `deny`. */
export function hasSkillTool(ruleset: Ruleset): boolean {
  const last = ruleset.rules[ruleset.resources.findLastIndex((pattern) => pattern !== NONE)]
  return !(last?.resource === "*" && last.effect === "deny")
}
