import type { Dialect } from "../core/dialect/section.ts"
import type { Effect, Generation } from "../core/rule.ts"

/** The rule to paste by hand, where the tool does not write it itself. */
export function manualRule(dialect: Dialect, id: string, effect: Effect): string {
  return dialect === "permission"
    ? `"permission": { "skill": { ${JSON.stringify(id)}: "${effect}" } }`
    : `"permissions": [${elementText(id, effect)}]`
}

/** The same for one agent alone. */
export function manualAgentRule(generation: Generation, agent: string, id: string, effect: Effect): string {
  const name = JSON.stringify(agent)
  return generation === "opencode-1"
    ? `"agent": { ${name}: { ${manualRule("permission", id, effect)} } }`
    : `"agents": { ${name}: { ${manualRule("permissions", id, effect)} } }`
}

const elementText = (id: string, effect: Effect): string =>
  `{ "action": "skill", "resource": ${JSON.stringify(id)}, "effect": "${effect}" }`
