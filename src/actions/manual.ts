import type { Dialect } from "../core/dialect/section.ts"
import type { Effect } from "../core/rule.ts"

/** The rule to paste by hand, where the tool does not write it itself. */
export function manualRule(dialect: Dialect, id: string, effect: Effect): string {
  return dialect === "permission"
    ? `"permission": { "skill": { ${JSON.stringify(id)}: "${effect}" } }`
    : `"permissions": [${elementText(id, effect)}]`
}

/** The same for one agent alone. */
export function manualAgentRule(dialect: Dialect, agent: string, id: string, effect: Effect): string {
  const name = JSON.stringify(agent)
  const key = dialect === "permission" ? "agent" : "agents"
  return `"${key}": { ${name}: { ${manualRule(dialect, id, effect)} } }`
}

const elementText = (id: string, effect: Effect): string =>
  `{ "action": "skill", "resource": ${JSON.stringify(id)}, "effect": "${effect}" }`
