import { compileRuleset, decide, hasSkillTool, type Ruleset, speaksOfSkills, trace } from "../core/evaluate.ts"
import { PatternIndex } from "../core/pattern-index.ts"
import { type Attributed, attributeAgent, isCatchAll, type Model, predictRules } from "../core/predict.ts"
import { Remembered } from "../core/remembered.ts"
import type { Effect, LocatedRule, Rule } from "../core/rule.ts"
import type { Notice } from "../tool/answer-schema.ts"
import { nearNames } from "../tool/near.ts"
import { notice } from "../tool/notices.ts"
import { agentNotFound, isProblem, type Problem } from "../tool/problems.ts"
import type { State } from "../tool/vocabulary.ts"
import type { Host, HostAgent, HostSkill, Observation, Texts } from "./ports.ts"

/** One agent with its real rules, compiled once. */
export interface Agent {
  readonly id: string
  readonly mode: string
  readonly hidden: boolean
  readonly host: HostAgent
  /** What the running host enforces. */
  readonly now: Ruleset
  /** The same rules, placed where the model accounts for them; worked out for those who are asked about it. */
  readonly attributed: Attributed
  readonly skillTool: boolean
}

/** What the running host says and the files hold, at the moment of one call. */
export interface Scene {
  readonly host: Host
  readonly observation: Observation
  readonly agents: readonly Agent[]
  readonly skills: readonly HostSkill[]
  /** Those of all rules below. */
  readonly patterns: PatternIndex
  /** The agent through whose eyes the call looks; null when the host knows no agent at all. */
  readonly caller: Agent | null
  /** The caller's rules after the next load of the files; null where they cannot be foreseen. */
  readonly next: Ruleset | null
  readonly verified: boolean
  readonly notices: readonly Notice[]
}

/** Looks at the host once. `wanted` is the agent that the call names, if it names one. */
export async function lookAround(host: Host, wanted?: string): Promise<Scene | Problem> {
  const seen = await host.observe()
  const { loaded } = seen.model
  const patterns = patternsOfLooks()
  const agents = seen.agents.map((agent) => compiledAgent(agent, loaded, patterns))
  const found = findCaller(agents, host.caller.agent, wanted)
  if (isProblem(found)) return found
  return { host, observation: seen, agents, skills: seen.skills, patterns, ...found, next: nextOf(seen, found.caller) }
}

const lastPatterns = new Remembered<"all", PatternIndex>()

/** A pattern matches what it matches: what one look found out serves the next, until memory is short. */
function patternsOfLooks(): PatternIndex {
  const known = lastPatterns.get("all")
  return known && !known.isFull ? known : lastPatterns.set("all", new PatternIndex())
}

const compiled = new WeakMap<readonly Rule[], Ruleset>()

function compiledOnce(rules: readonly Rule[], patterns: PatternIndex): Ruleset {
  const known = compiled.get(rules)
  if (known?.patterns === patterns) return known
  const ruleset = compileRuleset(rules.filter(speaksOfSkills), "skill", patterns)
  compiled.set(rules, ruleset)
  return ruleset
}

function compiledAgent(host: HostAgent, loaded: Model, patterns: PatternIndex): Agent {
  const { id, mode, hidden } = host
  const now = compiledOnce(host.rules, patterns)
  let attributed: Attributed | undefined
  return {
    id,
    mode,
    hidden,
    host,
    now,
    skillTool: hasSkillTool(now),
    get attributed() {
      attributed ??= attributeAgent(host.rules, id, host.native, loaded)
      return attributed
    },
  }
}

/** A broken file has no next load. */
function nextOf({ globals, model }: Observation, caller: Agent | null): Ruleset | null {
  if (!caller || [...globals.values()].some((text) => text?.error)) return caller?.now ?? null
  const after = model.next(new Map())
  if (after === model.loaded && caller.attributed.base) return caller.now
  const { rules, id, native } = caller.host
  const future = predictRules(rules, id, native, model.loaded, after)
  return future && compileRuleset(future, "skill", caller.now.patterns)
}

function findCaller(agents: readonly Agent[], named: string | null, wanted: string | undefined) {
  if (wanted !== undefined) {
    const agent = agents.find(({ id }) => id === wanted)
    const names = agents.map(({ id }) => id)
    return agent ? { caller: agent, verified: true, notices: [] } : agentNotFound(wanted, nearNames(wanted, names))
  }
  const agent = agents.find(({ id }) => id === named)
  if (agent) return { caller: agent, verified: true, notices: [] }
  const instead = agents.find((other) => !other.hidden && !deniedByHost(other, "")) ?? agents[0] ?? null
  return { caller: instead, verified: false, notices: [notice("caller_unverified", { agent: instead?.id ?? null })] }
}

/** The host's own share of the rules denies the skill, as for `explore` and the hidden agents. */
export function deniedByHost(agent: Agent, skill: string): boolean {
  return decide(compileRuleset(leadingCatchAlls(agent)), skill).effect === "deny"
}

/** Only the rules for everything at the start are surely the host's; where the model fits, no further than its base. */
function leadingCatchAlls(agent: Agent): readonly LocatedRule[] {
  const { base } = agent.attributed
  const rules = agent.attributed.rules.slice(0, base?.length)
  const end = rules.findIndex((rule) => !isCatchAll(rule))
  return end < 0 ? rules : rules.slice(0, end)
}

/**
 * Each agent's rules after the next load with these texts, once for each model that explains the host as well as the
 * first; null where a model cannot reproduce the host.
 */
export const rulesetsAfter = (scene: Scene, texts: Texts): ReadonlyMap<string, readonly LocatedRule[] | null>[] =>
  scene.observation.models.map(({ loaded, next }) => {
    const future = next(texts)
    return new Map(
      scene.agents.map(({ id, host }) => [id, predictRules(host.rules, id, host.native, loaded, future)] as const),
    )
  })

/** A rule that would decide otherwise, if the host did not pass over the section that it stands in. */
export function ignoredRule(scene: Scene, agent: string, skill: string, effect: Effect) {
  const sections = scene.observation.model.loaded.ignored().filter((found) => [null, agent].includes(found.agent))
  const located = sections.flatMap(({ rules, because }) => rules.map((rule) => ({ rule, because })))
  const last = located.findLast(({ rule }) => trace(compileRuleset([rule]), skill).length > 0)
  return last && last.rule.effect !== effect ? last : null
}

export function stateOf(effect: Effect): State {
  if (effect === "allow") return "available"
  return effect === "deny" ? "disabled" : "ask"
}

/** What the ruleset makes of a skill; a skill without an id matches no rule that we could name. */
export const stateIn = (ruleset: Ruleset | null, skill: HostSkill): State =>
  ruleset === null || skill.id === null ? "unknown" : stateOf(decide(ruleset, skill.id).effect)
