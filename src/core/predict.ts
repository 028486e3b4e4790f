import { mapRules, mergeMaps, type PermissionMap } from "./dialect/permission-map.ts"
import { type AgentSections, type LayerDocument, ownMap } from "./document.ts"
import { speaksOf, speaksOfSkills } from "./evaluate.ts"
import { foreignAgentKey, hasOpenCode1Key, isLost } from "./host-keys.ts"
import { everyRule, type Ignored, ignoredByOpenCode1, ignoredByOpenCode2 } from "./ignored.ts"
import { type LocatedRule, type Rule, sameRule } from "./rule.ts"

/**
 * What the configuration adds to each agent's rules. Only rules that can speak about one action are kept, `skill`
 * unless another is named: other plugins and the host change the rest, and it decides nothing here.
 */
export interface Model {
  /** The rules that the configuration puts at the end of this agent's ruleset. */
  tail(agent: string): readonly LocatedRule[]
  /** The top-level rules of the global files alone, as one run. */
  globalRun(): readonly LocatedRule[]
  /** No layer lies below those that were read, so that only the host's own rules can stand before the tail. */
  readonly complete: boolean
  /** What is written and counts for nothing, low to high. */
  ignored(): readonly Ignored[]
  /** All rules of any layer whose text a reference put there. */
  secrets(): readonly Rule[]
}

const none: PermissionMap = new Map()
const rulesFor = (action: string, rules: readonly LocatedRule[]): readonly LocatedRule[] =>
  rules.filter((rule) => speaksOf(rule, action))

const secretsIn = (layers: readonly LayerDocument[]): LocatedRule[] =>
  layers.flatMap((layer) => [layer, ...layer.agents].flatMap(everyRule)).filter((rule) => rule.secret)

/**
 * OpenCode 1 (read in the code of 1.18.34, confirmed on the host): all layers merge into one config, deeply, a key
 * keeping its first place; top-level `tools` then lie below the merged `permission`; `mode` lies above `agent`.
 * Every agent's ruleset ends with the top-level rules, then its own.
 */
export function modelOpenCode1(layers: readonly LayerDocument[], home: string, action = "skill"): Model {
  const rulesOf = (map: PermissionMap) =>
    rulesFor(
      action,
      mapRules(map, (pattern) => expandHome(pattern, home)),
    )
  const top = rulesOf(mergeTop(layers))
  const own = new Map<string, PermissionMap>()
  for (const key of ["agent", "mode"] as const)
    for (const layer of layers)
      for (const agent of layer.agents)
        if (agent.key === key) own.set(agent.name, mergeMaps(own.get(agent.name) ?? none, ownMap(agent)))
  return {
    tail: (agent) => [...top, ...rulesOf(own.get(agent) ?? none)],
    globalRun: () => rulesOf(mergeTop(layers.filter((layer) => layer.layer === "global"))),
    // A server may hand out a configuration that lies below the global files.
    complete: false,
    ignored: () => ignoredByOpenCode1(layers),
    secrets: () => secretsIn(layers).map((rule) => ({ ...rule, resource: expandHome(rule.resource, home) })),
  }
}

function mergeTop(layers: readonly LayerDocument[]): PermissionMap {
  const merge = (key: "permission" | "tools") =>
    layers.reduce<PermissionMap>((merged, layer) => mergeMaps(merged, layer[key] ?? none), none)
  return mergeMaps(merge("tools"), merge("permission"))
}

/** `~`, `~/x` and anything that starts with `$HOME` (read in the code of 1.18.34). */
function expandHome(pattern: string, home: string): string {
  if (pattern === "~") return home
  if (pattern.startsWith("~/")) return home + pattern.slice(1)
  return pattern.startsWith("$HOME") ? home + pattern.slice("$HOME".length) : pattern
}

/**
 * How a build of OpenCode 2 reads a document that holds keys of both generations: section by section (2.0), or the
 * whole document as OpenCode 1's, its array lost (the betas). The host's own rules tell which one it is.
 */
export const READINGS = ["by-section", "by-document"] as const
export type Reading = (typeof READINGS)[number]

/** OpenCode 2: every document's top-level rules in document order, then the agent's own in the same order. */
export function modelOpenCode2(layers: readonly LayerDocument[], reading: Reading, action = "skill"): Model {
  const read = layers.filter((doc) => reading === "by-section" || !isLost(doc))
  const top = (docs: readonly LayerDocument[]) =>
    rulesFor(
      action,
      docs.flatMap((doc) => topRulesOf(doc, reading)),
    )
  const own = (name: string) => {
    let rules: readonly LocatedRule[] = []
    // A disabled agent is gone; one that is mentioned again starts anew.
    for (const doc of read)
      for (const agent of ownSections(doc, name, reading))
        rules = isDisabled(agent, doc, reading) ? [] : [...rules, ...ownRulesOf(agent, doc, reading)]
    return rulesFor(action, rules)
  }
  const topRules = top(read)
  return {
    tail: (agent) => [...topRules, ...own(agent)],
    globalRun: () => top(read.filter((layer) => layer.layer === "global")),
    complete: true,
    ignored: () => ignoredByOpenCode2(layers, reading === "by-document"),
    secrets: () => secretsIn(layers),
  }
}

const asWritten = (pattern: string): string => pattern

/** At the top, `tools` are rules of their own, below the map. */
function topRulesOf(document: LayerDocument, reading: Reading): readonly LocatedRule[] {
  const map = [document.tools, document.permission].flatMap((part) => mapRules(part ?? none, asWritten))
  const array = document.permissions ?? []
  if (reading === "by-section") return [...map, ...array]
  return hasOpenCode1Key(document.keys) ? map : array
}

/** In a document read as OpenCode 1's, `mode` replaces the `agent` of the same name (measured on the preview 1.18.18). */
function ownSections(document: LayerDocument, name: string, reading: Reading): readonly AgentSections[] {
  const sections = document.agents.filter((agent) => agent.name === name)
  const modes = sections.filter((agent) => agent.key === "mode")
  const replaced = reading === "by-document" && modes.length > 0
  return replaced ? sections.filter((agent) => agent.key !== "agent") : sections
}

/** A form knows its own word only (measured on the preview 1.18.18); section by section, either will do. */
function isDisabled(agent: AgentSections, document: LayerDocument, reading: Reading): boolean {
  if (!agent.markdown && reading === "by-section") return agent.disabledBy.length > 0
  const newer = agent.markdown ? foreignAgentKey(agent) === undefined : !hasOpenCode1Key(document.keys)
  return agent.disabledBy.includes(newer ? "disabled" : "disable")
}

/** In an agent, `permission` replaces its `tools` key by key (measured on the preview build 1.18.18). */
function ownRulesOf(agent: AgentSections, document: LayerDocument, reading: Reading): readonly LocatedRule[] {
  const map = mapRules(ownMap(agent), asWritten)
  const array = agent.permissions ?? []
  const apart = [agent.tools, agent.permission].flatMap((part) => mapRules(part ?? none, asWritten))
  if (agent.markdown) return foreignAgentKey(agent) === undefined ? array : map
  if (reading === "by-section") return [...apart, ...array]
  if (hasOpenCode1Key(document.keys)) return agent.key === "agents" ? [] : map
  return array
}

/** One agent's rules that can speak about skills, as many as the host has, split where the configuration's share begins. */
export interface Attributed {
  /** The host's own share; null where the model does not account for the host's sequence. */
  readonly base: readonly Rule[] | null
  readonly rules: readonly LocatedRule[]
}

/** Lays the model over the host's real sequence: an exact tail gets its places, anything else stays `unknown`. */
export function attribute(
  real: readonly Rule[],
  tail: readonly LocatedRule[],
  native: boolean,
  complete = false,
): Attributed {
  const seen = real.filter(speaksOfSkills)
  const base = seen.slice(0, Math.max(0, seen.length - tail.length))
  const matches = endsWith(seen, tail) && ((tail.length > 0 && !complete) || base.every(isCatchAll))
  if (!matches) return { base: null, rules: seen.map((rule) => ({ ...rule, origin: nowhere("unknown") })) }
  const layerOf = (rule: Rule) => {
    if (!isCatchAll(rule)) return "unknown"
    return rule.effect === "allow" ? "host-default" : native ? "built-in-agent" : "unknown"
  }
  const placed = base.map((rule) => ({
    ...rule,
    origin: nowhere(layerOf(rule)),
  }))
  return { base, rules: [...placed, ...tail] }
}

/**
 * The same against a whole model. Where it does not fit, the global files' own run still has its places if the host
 * holds it exactly once, and what came from a reference is still never shown.
 */
export function attributeAgent(real: readonly Rule[], agent: string, native: boolean, model: Model): Attributed {
  const found = attribute(real, model.tail(agent), native, model.complete)
  if (found.base) return found
  const secrets = model.secrets()
  const hides = (rule: Rule) =>
    secrets.some(({ action, resource }) => action === rule.action && resource === rule.resource)
  const rules = found.rules.map((rule): LocatedRule => (hides(rule) ? { ...rule, secret: true } : rule))
  const run = model.globalRun()
  return { base: null, rules: withRun(rules, run, run) ?? rules }
}

/**
 * An agent's rules after the next load: the loaded model's tail makes way for the next one's; failing that, the
 * global files' own run, where the host's sequence holds it exactly once. Null when neither is found.
 */
export function predictRules(
  real: readonly Rule[],
  agent: string,
  native: boolean,
  loaded: Model,
  next: Model,
): readonly LocatedRule[] | null {
  const now = attributeAgent(real, agent, native, loaded)
  return now.base
    ? [...now.rules.slice(0, now.base.length), ...next.tail(agent)]
    : withRun(now.rules, loaded.globalRun(), next.globalRun())
}

/** Puts other rules in the place of a run; null unless the run stands there exactly once. */
function withRun(
  rules: readonly LocatedRule[],
  run: readonly LocatedRule[],
  next: readonly LocatedRule[],
): readonly LocatedRule[] | null {
  const starts = rules.flatMap((_, at) => (startsWithAt(rules, at, run) ? [at] : []))
  const [start] = starts
  if (run.length === 0 || starts.length !== 1 || start === undefined) return null
  return [...rules.slice(0, start), ...next, ...rules.slice(start + run.length)]
}

const nowhere = (layer: LocatedRule["origin"]["layer"]) => ({ layer, file: null, line: null, column: null })

export const isCatchAll = (rule: Rule): boolean => rule.action === "*" && rule.resource === "*"

export const endsWith = (rules: readonly Rule[], tail: readonly Rule[]): boolean =>
  rules.length >= tail.length && startsWithAt(rules, rules.length - tail.length, tail)

const startsWithAt = (rules: readonly Rule[], at: number, run: readonly Rule[]): boolean =>
  run.every((rule, i) => {
    const other = rules[at + i]
    return other !== undefined && sameRule(rule, other)
  })
