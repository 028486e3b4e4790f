import type { Dialect } from "../core/dialect/section.ts"
import type { Effect } from "../core/rule.ts"
import { encodeSidecar } from "../core/sidecar.ts"
import { excerptDiff } from "../tool/excerpt.ts"
import type { Rehearsal } from "./rehearse.ts"

/** The rules to paste by hand, where the tool does not write them itself. */
export function manualRules(dialect: Dialect, ids: readonly string[], effect: Effect): string {
  return dialect === "permission"
    ? `"permission": { "skill": { ${ids.map((id) => `${JSON.stringify(id)}: "${effect}"`).join(", ")} } }`
    : `"permissions": [${ids.map((id) => elementText(id, effect)).join(", ")}]`
}

/** The same for one agent alone. */
export function manualAgentRule(dialect: Dialect, agent: string, ids: readonly string[], effect: Effect): string {
  const name = JSON.stringify(agent)
  const key = dialect === "permission" ? "agent" : "agents"
  return `"${key}": { ${name}: { ${manualRules(dialect, ids, effect)} } }`
}

const elementText = (id: string, effect: Effect): string =>
  `{ "action": "skill", "resource": ${JSON.stringify(id)}, "effect": "${effect}" }`

/** What a person would write for a rehearsed change: the rules, or where it is not about adding any, the diff. */
export function manualText({ draft, request, sidecar }: Rehearsal): { file: string; text: string } {
  const [change] = draft.changes
  if (!change) return { file: sidecar.path, text: encodeSidecar(draft.records) }
  const file = change.file.path
  const ids = draft.targets.filter(({ reason }) => reason !== null).map(({ wish }) => wish.id)
  if (request.action === "disable") return { file, text: manualRules(change.section, ids, request.effect ?? "deny") }
  return {
    file,
    text: draft.changes.map(({ file, before, after }) => excerptDiff(file.name, before, after).diff).join("\n"),
  }
}
