import { member, parseJsonc } from "../core/config-text.ts"
import type { Dialect } from "../core/dialect/section.ts"
import { decide } from "../core/evaluate.ts"
import { isLiteral } from "../core/wildcard.ts"
import type { Notice } from "../tool/answer-schema.ts"
import { notice } from "../tool/notices.ts"
import type { Rehearsal } from "./rehearse.ts"

const MAX_NAMES = 20

/** What a person should know about a change beyond its effect. */
export function changeNotices({ result, scene, wish }: Rehearsal): Notice[] {
  const found: Notice[] = []
  const { outcomes } = result.kind === "change" ? result.plan : result
  const unreached = result.kind === "change" ? result.plan.unreached : result.unreached
  if (unreached.length > 0) found.push(notice("partly_effective", { agents: unreached.map(({ agent }) => agent) }))
  const unpredicted = scene.agents.filter((agent) => !outcomes.some((outcome) => outcome.agent.id === agent.id))
  if (unpredicted.length > 0)
    found.push(notice("model_differs", { agents: unpredicted.map(({ id }) => id).slice(0, MAX_NAMES) }))
  if (result.kind !== "change") return found
  const opened = outcomes.filter(
    ({ agent, before, after }) =>
      agent.deniedByHost && decide(before, wish.id).effect === "deny" && decide(after, wish.id).effect !== "deny",
  )
  if (opened.length > 0) found.push(notice("opens_for", { agents: opened.map(({ agent }) => agent.id) }))
  if (wish.effect === "ask") found.push(notice("ask_may_hang"))
  if (!isLiteral(wish.id) || wish.id.includes("\\")) found.push(notice("rule_is_a_pattern", { id: wish.id }))
  if (result.plan.changes.some(({ section, before, after }) => isEmpty(after, section) && !isEmpty(before, section)))
    found.push(notice("section_left"))
  const [first] = result.plan.changes
  const shared = first && first.section === "permission" && scene.host.generation === "opencode-2"
  const target = scene.skills.find((skill) => skill.id === wish.id)
  if (shared && target?.name !== undefined && target.name !== wish.id) found.push(notice("other_host_differs"))
  return found
}

function isEmpty(text: string | null, section: Dialect): boolean {
  const root = text === null ? undefined : parseJsonc(text)
  const container = section === "permissions" ? member(root, section) : member(member(root, section), "skill")
  return container?.children?.length === 0
}
