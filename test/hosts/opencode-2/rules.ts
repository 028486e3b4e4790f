/** Rules of one config document or agent file, and the last-match rule. Written apart from `src` on purpose. */
import type { Build } from "./native-agents.ts"

export type Effect = "allow" | "ask" | "deny"
export interface HostRule {
  action: string
  resource: string
  effect: Effect
}
export interface AgentEntry {
  id: string
  disabled: boolean
  mode?: "primary" | "subagent" | "all"
  description?: string
  rules: HostRule[]
}
export interface DocumentRules {
  rules: HostRule[]
  agents: AgentEntry[]
}

type Fields = Record<string, unknown>

// "Both dialects in one document": any of these makes the beta and the preview read the whole document as V1.
const V1_KEYS =
  "logLevel server command reference snapshot plugin autoshare disabled_providers enabled_providers small_model mode agent provider permission tools attachment layout".split(
    " ",
  )
// "Both dialects", last line, measured live; this list of V2 keys was measured on the preview, one file per key.
const V2_AGENT_KEYS = "description disabled hidden mode model request steps system variant color permissions".split(" ")

/** Rules of a parsed document, or nothing when the host drops it whole. `build` decides how dialects mix. */
export function documentRules(document: unknown, build: Build): DocumentRules {
  try {
    return build === "2.0" ? keyByKey(fields(document)) : wholeDocument(fields(document))
  } catch (error) {
    if (error instanceof Malformed) return { rules: [], agents: [] }
    throw error
  }
}

/** An agent file: an unknown key makes it V1, which silently loses `permissions` ("Both dialects", measured live). */
export function agentFileRules(id: string, frontmatter: unknown): AgentEntry | undefined {
  try {
    const value = fields(frontmatter)
    const v2 = Object.keys(value).every((key) => V2_AGENT_KEYS.includes(key))
    return v2
      ? entry(id, value, list(value.permissions, false), ["disabled"])
      : entry(id, value, v1AgentRules(value), ["disable"])
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}

/** Later 2.0 sources: `tools`, then the map, then the array; a malformed array element is skipped. */
function keyByKey(document: Fields): DocumentRules {
  const all = (value: Fields) => [...tools(value.tools), ...map(value.permission), ...list(value.permissions, true)]
  const maps = [document.mode, document.agent, document.agents].flatMap((agents) => Object.entries(fields(agents)))
  return {
    rules: all(document),
    agents: maps.map(([id, agent]) => entry(id, fields(agent), all(fields(agent)), ["disable", "disabled"])),
  }
}

/** The beta and the preview: V1 or V2 as a whole; a malformed element loses the whole document. */
function wholeDocument(document: Fields): DocumentRules {
  if (!V1_KEYS.some((key) => key in document)) {
    const agents = Object.entries(fields(document.agents))
    return {
      rules: list(document.permissions, false),
      agents: agents.map(([id, agent]) =>
        entry(id, fields(agent), list(fields(agent).permissions, false), ["disabled"]),
      ),
    }
  }
  // `mode` replaces an `agent` of the same id (measured on the preview).
  const agents = Object.entries({ ...fields(document.agent), ...fields(document.mode) })
  return {
    rules: [...tools(document.tools), ...map(document.permission)],
    agents: agents.map(([id, agent]) => entry(id, fields(agent), v1AgentRules(fields(agent)), ["disable"])),
  }
}

/** Inside a V1 agent `permission.x` replaces what `tools.x` said, in its place (measured on the preview). */
function v1AgentRules(agent: Fields): HostRule[] {
  const fromTools = tools(agent.tools).map((rule) => [rule.action, rule.effect])
  const permission = typeof agent.permission === "string" ? { "*": agent.permission } : fields(agent.permission)
  return map({ ...Object.fromEntries(fromTools), ...permission })
}

/** Each form knows its own word for a disabled agent (measured on the preview). */
function entry(id: string, agent: Fields, rules: HostRule[], disabling: readonly string[]): AgentEntry {
  const { mode, description } = agent
  return {
    id,
    disabled: disabling.some((word) => agent[word] === true),
    ...((mode === "primary" || mode === "subagent" || mode === "all") && { mode }),
    ...(typeof description === "string" && { description }),
    rules,
  }
}

function tools(value: unknown): HostRule[] {
  return Object.entries(fields(value)).map(([name, on]) => ({
    action: name === "write" || name === "patch" ? "edit" : name,
    resource: "*",
    effect: on === true ? "allow" : on === false ? "deny" : malformed(),
  }))
}

// Integer-like keys come first because Object.entries says so, as in the host ("Both dialects").
function map(value: unknown): HostRule[] {
  if (typeof value === "string") return [{ action: "*", resource: "*", effect: effect(value) }]
  return Object.entries(fields(value)).flatMap(([action, rules]) =>
    typeof rules === "string"
      ? [{ action, resource: "*", effect: effect(rules) }]
      : Object.entries(fields(rules)).map(([resource, given]) => ({ action, resource, effect: effect(given) })),
  )
}

function list(value: unknown, skipMalformed: boolean): HostRule[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) return malformed()
  return value.flatMap((element: unknown) => {
    try {
      const { action, resource, effect: given } = fields(element)
      if (typeof action !== "string" || typeof resource !== "string") return malformed()
      return [{ action, resource, effect: effect(given) }]
    } catch (error) {
      if (skipMalformed && error instanceof Malformed) return []
      throw error
    }
  })
}

class Malformed extends Error {}
function malformed(): never {
  throw new Malformed()
}
function effect(value: unknown): Effect {
  return value === "allow" || value === "ask" || value === "deny" ? value : malformed()
}
function fields(value: unknown): Fields {
  if (value === undefined) return {}
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : malformed()
}

/** "Rules": the last rule whose action and resource match; none → `ask` (measured on a live V2 build, July 2026). */
export function lastMatch(rules: readonly HostRule[], action: string, resource: string): Effect {
  return rules.findLast((rule) => like(rule.action, action) && like(rule.resource, resource))?.effect ?? "ask"
}

/** The hosts' pattern language, as one regular expression. `?` is one UTF-16 unit, so no `u` flag. */
export function like(pattern: string, value: string): boolean {
  const source = pattern
    .replaceAll("\\", "/")
    .replace(/[.+^${}()|[\]/]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".")
    .replace(/ \.\*$/, "( .*)?")
  return new RegExp(`^${source}$`, "s").test(value.replaceAll("\\", "/"))
}
