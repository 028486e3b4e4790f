import { member, parseJsonc } from "../core/config-text.ts"
import type { Dialect } from "../core/dialect/section.ts"
import { decide, hasSkillTool, type Ruleset } from "../core/evaluate.ts"
import type { AgentOutcome } from "../core/outcome.ts"
import { isLiteral } from "../core/wildcard.ts"
import type { Notice } from "../tool/answer-schema.ts"
import { cut } from "../tool/budget.ts"
import { notice } from "../tool/notices.ts"
import { modelDiffers } from "./differing.ts"
import type { HostSkill } from "./ports.ts"
import { unlistedReason } from "./prompt.ts"
import type { Rehearsal } from "./rehearse.ts"
import { remedyText, winnerText } from "./wording.ts"
import { type Scene, stateIn } from "./world.ts"

const MAX_NAMES = 20

/** What a person should know about a change beyond its effect. */
export function changeNotices(rehearsal: Rehearsal): Notice[] {
  const { draft, scene, targets } = rehearsal
  const found: Notice[] = []
  const { outcomes, changes, unreached } = draft
  const changed = targets.filter((target) => target.changed)
  const [blocked] = unreached
  if (blocked)
    found.push(
      notice("partly_effective", {
        ...named(unreached.map(({ agent }) => agent)),
        winner: winnerText(blocked, scene.host.home),
        help: remedyText(blocked, scene.host.home),
      }),
    )
  const unpredicted = scene.agents.filter((agent) => !outcomes.some((outcome) => outcome.agent.id === agent.id))
  found.push(...modelDiffers(scene, unpredicted), ...notInTheRules(rehearsal))
  if (changed.length === 0) return found
  const opened = outcomes.filter(
    ({ agent, before, after }) =>
      agent.deniedByHost &&
      changed.some(({ id }) => decide(before, id).effect === "deny" && decide(after, id).effect !== "deny"),
  )
  if (opened.length > 0) found.push(notice("opens_for", named(opened.map(({ agent }) => agent.id))))
  const asked = outcomes.filter(({ before, after }) =>
    changed.some(({ id }) => decide(after, id).effect === "ask" && decide(before, id).effect !== "ask"),
  )
  if (asked.length > 0) found.push(notice("ask_may_hang", named(subagentsOf(scene, asked))))
  const patterns = draft.targets.map(({ wish }) => wish.id).filter((id) => !isLiteral(id) || id.includes("\\"))
  const { ids, ...truncated } = cut("ids", patterns, MAX_NAMES)
  for (const id of ids) found.push(notice("rule_is_a_pattern", { id, ...truncated }))
  if (changes.some(({ section, before, after }) => isEmpty(after, section) && !isEmpty(before, section)))
    found.push(notice("section_left"))
  const [first] = changes
  const shared = first && first.section === "permission" && scene.host.generation === "opencode-2"
  const own = new Set(changed.map(({ id }) => id))
  if (shared && scene.skills.some(({ id, name }) => id !== null && own.has(id) && name !== id))
    found.push(notice("other_host_differs"))
  return found
}

/** What the planned rules do not tell: the host still runs on others, or the model is not told of a skill anyway. */
function notInTheRules({ request, draft, caller, scene, targets }: Rehearsal): Notice[] {
  const after = draft.outcomes.find(({ agent }) => agent.id === caller.id)?.after
  if (!after) return []
  const ids = new Set(targets.map(({ id }) => id))
  const skills = scene.skills.filter(({ id }) => id !== null && ids.has(id))
  const waits = targets.every(({ changed }) => !changed) && skills.some((skill) => differs(caller.now, after, skill))
  const found = waits ? [notice("restart_pending")] : []
  if (request.action !== "enable") return found
  for (const reason of ["no_description", "autoinvoke_off"] as const) {
    const hidden = skills.filter(
      (skill) => unlistedReason(stateIn(after, skill), hasSkillTool(after), skill) === reason,
    )
    const names = hidden.flatMap(({ id }) => id ?? [])
    if (names.length > 0) found.push(notice("still_unlisted", { reason, ...cut("ids", names, MAX_NAMES) }))
  }
  return found
}

const named = (agents: readonly string[]) => cut("agents", agents, MAX_NAMES)

const differs = (running: Ruleset, planned: Ruleset, skill: HostSkill): boolean =>
  stateIn(running, skill) !== stateIn(planned, skill)

/** An agent that another one calls has no user at hand. */
const subagentsOf = (scene: Scene, outcomes: readonly AgentOutcome[]): string[] =>
  outcomes.flatMap(({ agent }) =>
    scene.agents.some(({ id, mode }) => id === agent.id && mode !== "primary") ? [agent.id] : [],
  )

function isEmpty(text: string | null, section: Dialect): boolean {
  const root = text === null ? undefined : parseJsonc(text)
  const container = section === "permissions" ? member(root, section) : member(member(root, section), "skill")
  return container?.children?.length === 0
}
