import { parse } from "jsonc-parser"

/**
 * The hosts' semantics in the most naive form there is: no code shared with the plugin, no care for speed. Properties
 * compare against this. Observed on OpenCode 1.18.34 and on OpenCode 2 builds, Linux.
 */

export type Effect = "allow" | "ask" | "deny"
export type NaiveRule = readonly [action: string, resource: string, effect: Effect]

const slashed = (text: string): string => text.split("\\").join("/")

export function naiveMatch(pattern: string, value: string): boolean {
  let source = slashed(pattern)
    .replace(/[.+^${}()|[\]]/g, "\\$&")
    .replace(/\*/g, ".*")
    .replace(/\?/g, ".")
  if (source.endsWith(" .*")) source = `${source.slice(0, -3)}( .*)?`
  return new RegExp(`^${source}$`, "s").test(slashed(value))
}

export function naiveTrace(rules: readonly NaiveRule[], id: string): number[] {
  const found: number[] = []
  for (let i = 0; i < rules.length; i++) {
    const rule = rules[i] as NaiveRule
    if (naiveMatch(rule[0], "skill") && naiveMatch(rule[1], id)) found.push(i)
  }
  return found
}

export function naiveEffect(rules: readonly NaiveRule[], id: string): Effect {
  const last = naiveTrace(rules, id).pop()
  return last === undefined ? "ask" : (rules[last] as NaiveRule)[2]
}

type Obj = Record<string, unknown>
const isObj = (value: unknown): value is Obj => typeof value === "object" && value !== null && !Array.isArray(value)

/** A config text as a plain object: duplicate keys and integer-like keys come out as JavaScript has them. */
export function naiveConfig(text: string): Obj {
  const value: unknown = parse(text.replace(/^\ufeff/, ""), [], { allowTrailingComma: true })
  return isObj(value) ? value : {}
}

function merged(low: unknown, high: unknown): unknown {
  if (!isObj(low) || !isObj(high)) return high
  const result: Obj = { ...low }
  for (const key of Object.keys(high)) result[key] = key in low ? merged(low[key], high[key]) : high[key]
  return result
}

const asMap = (section: unknown): Obj =>
  typeof section === "string" ? { "*": section } : isObj(section) ? section : {}
const fromTools = (tools: unknown): Obj =>
  Object.fromEntries(Object.entries(asMap(tools)).map(([tool, on]) => [tool, on ? "allow" : "deny"]))

function rulesOf(map: Obj): NaiveRule[] {
  const rules: NaiveRule[] = []
  for (const [action, value] of Object.entries(map)) {
    if (isObj(value))
      for (const [resource, effect] of Object.entries(value)) rules.push([action, resource, effect as Effect])
    else rules.push([action, "*", value as Effect])
  }
  return rules
}

/** OpenCode 1: the rules that configs, low to high, put behind an agent's own defaults. */
export function naiveTail1(configs: readonly Obj[], agent: string): NaiveRule[] {
  let permission: unknown = {}
  let tools: unknown = {}
  let own: unknown = {}
  for (const config of configs) {
    permission = merged(permission, asMap(config.permission))
    tools = merged(tools, fromTools(config.tools))
    const section = asMap(asMap(config.agent)[agent])
    own = merged(own, { ...fromTools(section.tools), ...asMap(section.permission) })
  }
  return [...rulesOf(asMap(merged(tools, permission))), ...rulesOf(asMap(own))]
}

/** OpenCode 2: documents in order; in each, `tools`, then the map, then the array. Agents' own rules come last. */
export function naiveTail2(configs: readonly Obj[], agent: string): NaiveRule[] {
  const array = (section: Obj): NaiveRule[] =>
    (Array.isArray(section.permissions) ? section.permissions : [])
      // 2.0 passes over a malformed element.
      .filter((rule) => isObj(rule) && ["action", "resource", "effect"].every((key) => typeof rule[key] === "string"))
      .map((rule: Obj) => [rule.action, rule.resource, rule.effect] as NaiveRule)
  const top = configs.flatMap((config) => [
    ...rulesOf(fromTools(config.tools)),
    ...rulesOf(asMap(config.permission)),
    ...array(config),
  ])
  const own = configs.flatMap((config) =>
    [config.agent, config.mode, config.agents].flatMap((sections) => {
      const section = asMap(asMap(sections)[agent])
      return [...rulesOf({ ...fromTools(section.tools), ...asMap(section.permission) }), ...array(section)]
    }),
  )
  return [...top, ...own]
}
