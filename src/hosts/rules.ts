import { isEffect, type Rule } from "../core/rule.ts"
import { isRecord } from "./values.ts"

/** How a host names the three parts of a rule. */
interface Words {
  readonly action: string
  readonly resource: string
  readonly effect: string
}

/**
 * Reads the rules of one agent after the other as a host lists them; what is no rule is passed over. Agents share most
 * of their rules: where one has what the one before has in the same place, it is the same object.
 */
export function ruleReader({ action, resource, effect }: Words): (list: readonly unknown[]) => readonly Rule[] {
  let others: readonly Rule[] = []
  return (list) => {
    const rules: Rule[] = []
    for (const item of list) {
      if (!isRecord(item)) continue
      const found = { action: item[action], resource: item[resource], effect: item[effect] }
      const other = others[rules.length]
      if (other && isSame(other, found)) rules.push(other)
      else if (isRule(found)) rules.push(found)
    }
    others = rules
    return rules
  }
}

type Found = { readonly [part in keyof Rule]: unknown }

const isSame = (rule: Rule, found: Found): boolean =>
  rule.resource === found.resource && rule.effect === found.effect && rule.action === found.action

const isRule = (found: Found): found is Rule =>
  typeof found.action === "string" && typeof found.resource === "string" && isEffect(found.effect)
