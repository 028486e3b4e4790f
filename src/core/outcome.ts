import { compileRuleset, decide, differingPatterns, patternsIn, type Ruleset } from "./evaluate.ts"
import { PatternIndex, placesByPattern } from "./pattern-index.ts"
import type { Effect, LocatedRule } from "./rule.ts"
import { compilePattern, isLiteral, slashed } from "./wildcard.ts"
import { idsOf, type PlannedAgent, type Wish, type World } from "./world.ts"

type Located = readonly LocatedRule[]
export type Rulesets = ReadonlyMap<string, Ruleset<LocatedRule>>

/** The agents' rules under each model that explains the host, the first one first. */
export type Readings = readonly Rulesets[]

/** What an edit does to one agent: effects on the target, and on what nobody asked about. */
export interface AgentOutcome {
  readonly agent: PlannedAgent
  readonly before: Ruleset<LocatedRule>
  readonly after: Ruleset<LocatedRule>
}

export interface Blocked {
  readonly agent: string
  readonly effect: Effect
  readonly rule: LocatedRule | null
}

export interface SideEffect {
  readonly agent: string
  readonly id: string
  readonly before: Effect
  readonly after: Effect
}

/**
 * Agents without a prediction are left out. What is to be compared with other readings is compiled together with them.
 */
export function compileAll(models: readonly ReadonlyMap<string, Located | null>[], others: Readings = []): Readings {
  const [known] = others.flatMap((rulesets) => [...rulesets.values()])
  const patterns = known?.patterns ?? new PatternIndex()
  const compiled = (rules: Located | null) => (rules ? compileRuleset(rules, "skill", patterns) : null)
  return models.map(
    (rulesets) =>
      new Map(
        [...rulesets].flatMap(([agent, rules]) => {
          const ruleset = compiled(rules)
          return ruleset ? [[agent, ruleset] as const] : []
        }),
      ),
  )
}

/** The rulesets of the model that is spoken of in answers. */
export function firstOf(readings: Readings): Rulesets {
  const [first] = readings
  if (!first) throw new Error("a host is explained by one model at least")
  return first
}

export const outcomesOf = (world: World, before: Rulesets, after: Rulesets): AgentOutcome[] =>
  world.agents.flatMap((agent) => {
    const [was, becomes] = [before.get(agent.id), after.get(agent.id)]
    return was && becomes ? [{ agent, before: was, after: becomes }] : []
  })

/** The agents for which a skill does not have the wished effect, with the rule that wins instead. */
export const blockedFor = (agents: readonly PlannedAgent[], rulesets: Rulesets, wish: Wish): Blocked[] =>
  agents.flatMap((agent) => {
    const ruleset = rulesets.get(agent.id)
    if (!ruleset) return []
    const other = idsOf(wish)
      .map((id) => decide(ruleset, id))
      .find(({ effect }) => effect !== wish.effect)
    return other ? [{ agent: agent.id, effect: other.effect, rule: ruleset.rules[other.rule ?? -1] ?? null }] : []
  })

export function effectsIn(rulesets: Rulesets, agent: PlannedAgent, wish: Wish): Effect[] {
  const ruleset = rulesets.get(agent.id)
  return idsOf(wish).map((id) => (ruleset ? decide(ruleset, id).effect : "ask"))
}

/** An id that no registry holds: what happens to it happens to every skill that is installed later. */
const PROBE = "skill-management-probe"

/**
 * What else would change for any agent: other registered skills, and ids that may be registered later. `targets` are
 * the ids or patterns that are meant to change.
 */
export function sideEffectsOf(
  world: World,
  targets: readonly string[],
  before: Rulesets,
  after: Rulesets,
): SideEffect[] {
  const outcomes = outcomesOf(world, before, after)
  const [first] = outcomes
  if (!first) return []
  const used = patternsIn(outcomes.flatMap((outcome) => [outcome.before, outcome.after]))
  const named = new Set(targets.map(slashed))
  const patterns = targets.filter((target) => !isLiteral(target)).map(compilePattern)
  const registered = new Set(world.skills)
  const ids = [...new Set([...registered, PROBE, ...used.map(probeOf)])].filter(
    (id) => !named.has(slashed(id)) && !patterns.some((pattern) => pattern.matches(id)),
  )
  const places = placesByPattern(ids.map((id) => first.before.patterns.matching(id)))
  return outcomes.flatMap((outcome) => {
    const touched = differingPatterns(outcome.before, outcome.after).flatMap((pattern) => places[pattern] ?? [])
    return [...new Set(touched)]
      .sort((a, b) => a - b)
      .flatMap((place) => {
        const id = ids[place] ?? ""
        const [was, becomes] = [decide(outcome.before, id).effect, decide(outcome.after, id).effect]
        // An id made from a pattern names no skill, and the pattern may come from a reference.
        const shown = registered.has(id) || id === PROBE ? id : LATER
        return was === becomes ? [] : [{ agent: outcome.agent.id, id: shown, before: was, after: becomes }]
      })
  })
}

/** Stands for skills that a pattern speaks of and no registry holds yet. */
const LATER = "(not installed)"

/** One id for each pattern that rules use: a rule for skills that are not there yet may not change either. */
const probeOf = (pattern: string): string => pattern.replaceAll("*", PROBE).replaceAll("?", "x")
