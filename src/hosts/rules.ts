import { Remembered } from "../core/remembered.ts"
import { isEffect, type Rule } from "../core/rule.ts"
import { isRecord } from "./values.ts"

/** How a host names the three parts of a rule. */
type Words = { readonly [part in keyof Rule]: string }

const lastRead = new Remembered<string, readonly Rule[]>()

/**
 * An agent's rules as a host lists them; what is no rule is passed over. Rules that did not change are the same array,
 * so that they are compiled once.
 */
export function readRules(agent: string, list: readonly unknown[], words: Words): readonly Rule[] {
  const known = lastRead.get(agent)
  return known && holds(list, known, words) ? known : lastRead.set(agent, decodeRules(list, words))
}

const holds = (list: readonly unknown[], rules: readonly Rule[], { action, resource, effect }: Words): boolean =>
  list.length === rules.length &&
  rules.every((rule, i) => {
    const item = list[i]
    return (
      isRecord(item) && item[resource] === rule.resource && item[effect] === rule.effect && item[action] === rule.action
    )
  })

const decodeRules = (list: readonly unknown[], words: Words): Rule[] =>
  list.filter(isRecord).flatMap((item) => {
    const [action, resource, effect] = [item[words.action], item[words.resource], item[words.effect]]
    return typeof action === "string" && typeof resource === "string" && isEffect(effect)
      ? [{ action, resource, effect }]
      : []
  })
