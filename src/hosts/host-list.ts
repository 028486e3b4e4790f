import { Remembered } from "../core/remembered.ts"
import { isEffect, type Rule } from "../core/rule.ts"
import { isRecord } from "./values.ts"

type Item = Readonly<Record<string, unknown>>

/**
 * Reads what a host lists under a name. Where every item still says what it said, the answer is the same array as
 * before, so that what follows from it is worked out once. `decode` passes over what it does not understand.
 */
export function listReader<T>(says: (known: T, item: Item) => boolean, decode: (item: Item) => T | null) {
  const last = new Remembered<string, readonly T[]>()
  return (name: string, list: readonly unknown[]): readonly T[] => {
    const known = last.get(name)
    const isSame = (one: T, i: number) => {
      const item = list[i]
      return isRecord(item) && says(one, item)
    }
    if (known?.length === list.length && known.every(isSame)) return known
    const items = list.filter(isRecord).map(decode)
    return last.set(
      name,
      items.filter((item) => item !== null),
    )
  }
}

/** A reader of an agent's rules, for a host that has these words for their parts. */
export const ruleReader = ({ action, resource, effect }: { readonly [part in keyof Rule]: string }) =>
  listReader<Rule>(
    (known, item) =>
      item[resource] === known.resource && item[effect] === known.effect && item[action] === known.action,
    (item) => {
      const rule = { action: item[action], resource: item[resource], effect: item[effect] }
      return isRule(rule) ? rule : null
    },
  )

const isRule = (rule: { readonly [part in keyof Rule]: unknown }): rule is Rule =>
  typeof rule.action === "string" && typeof rule.resource === "string" && isEffect(rule.effect)
