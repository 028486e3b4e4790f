import { member, parseJsonc } from "../core/config-text.ts"
import type { Dialect } from "../core/dialect/section.ts"
import { decide } from "../core/evaluate.ts"
import { isLiteral } from "../core/wildcard.ts"
import type { Notice } from "../tool/answer-schema.ts"
import { notice } from "../tool/notices.ts"
import type { Rehearsal } from "./rehearse.ts"

const MAX_NAMES = 20

/** What a person should know about a change beyond its effect. */
export function changeNotices({ draft, scene, targets }: Rehearsal): Notice[] {
  const found: Notice[] = []
  const { outcomes, changes, unreached } = draft
  const changed = targets.filter((target) => target.changed)
  if (unreached.length > 0) found.push(notice("partly_effective", { agents: unreached.map(({ agent }) => agent) }))
  const unpredicted = scene.agents.filter((agent) => !outcomes.some((outcome) => outcome.agent.id === agent.id))
  if (unpredicted.length > 0)
    found.push(notice("model_differs", { agents: unpredicted.map(({ id }) => id).slice(0, MAX_NAMES) }))
  if (changed.length === 0) return found
  const opened = outcomes.filter(
    ({ agent, before, after }) =>
      agent.deniedByHost &&
      changed.some(({ id }) => decide(before, id).effect === "deny" && decide(after, id).effect !== "deny"),
  )
  if (opened.length > 0) found.push(notice("opens_for", { agents: opened.map(({ agent }) => agent.id) }))
  if (draft.targets.some(({ wish, reason }) => reason !== null && wish.effect === "ask"))
    found.push(notice("ask_may_hang"))
  const patterns = draft.targets.map(({ wish }) => wish.id).filter((id) => !isLiteral(id) || id.includes("\\"))
  for (const id of patterns.slice(0, MAX_NAMES)) found.push(notice("rule_is_a_pattern", { id }))
  if (changes.some(({ section, before, after }) => isEmpty(after, section) && !isEmpty(before, section)))
    found.push(notice("section_left"))
  const [first] = changes
  const shared = first && first.section === "permission" && scene.host.generation === "opencode-2"
  const ids = new Set(changed.map(({ id }) => id))
  if (shared && scene.skills.some(({ id, name }) => id !== null && ids.has(id) && name !== id))
    found.push(notice("other_host_differs"))
  return found
}

function isEmpty(text: string | null, section: Dialect): boolean {
  const root = text === null ? undefined : parseJsonc(text)
  const container = section === "permissions" ? member(root, section) : member(member(root, section), "skill")
  return container?.children?.length === 0
}
