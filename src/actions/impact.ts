import { decide, hasSkillTool, type Ruleset } from "../core/evaluate.ts"
import type { AgentOutcome } from "../core/outcome.ts"
import { isWider } from "../core/rule.ts"
import type { ChangeBody } from "../tool/answer-schema.ts"
import { cut } from "../tool/budget.ts"
import type { HostSkill } from "./ports.ts"
import { tokensOf } from "./prompt.ts"
import { stateIn } from "./world.ts"

type Impact = ChangeBody["impact"][number]

const MAX_AGENTS = 50
const MAX_IDS = 200

/**
 * What a change does to whom: agents that it changes alike stand together, hidden ones last. `share` is what the arrays
 * may keep of their full size.
 */
export function impactOf(
  outcomes: readonly AgentOutcome[],
  ids: readonly string[],
  skills: readonly HostSkill[],
): (share: number) => Impact[] {
  const groups = new Map<string, { first: AgentOutcome; members: Set<AgentOutcome>; changed: Set<string> }>()
  const ordered = [...outcomes.filter(({ agent }) => !agent.hidden), ...outcomes.filter(({ agent }) => agent.hidden)]
  for (const outcome of ordered) {
    const tool = toolChange(outcome)
    for (const id of ids) {
      const [before, after] = [decide(outcome.before, id).effect, decide(outcome.after, id).effect]
      if (before === after) continue
      const key = JSON.stringify([before, after, tool, outcome.agent.hidden])
      const group = groups.get(key) ?? { first: outcome, members: new Set(), changed: new Set() }
      groups.set(key, group)
      group.members.add(outcome)
      group.changed.add(id)
    }
  }
  const found = [...groups.values()].map(({ first, ...group }) => {
    const [members, changed] = [[...group.members], [...group.changed]]
    const [id = ""] = changed
    const [before, after] = [decide(first.before, id).effect, decide(first.after, id).effect]
    const tool = toolChange(first)
    const agents = members.map(({ agent }) => agent.id)
    const tokens = tokensSaved(members.slice(0, MAX_AGENTS), skills)
    return (share: number): Impact => {
      const most = Math.ceil(MAX_AGENTS * share)
      return {
        ...cut("agents", agents, most),
        direction: isWider(before, after) ? "wider" : "narrower",
        before,
        after,
        ...cut("ids", changed, Math.ceil(MAX_IDS * share)),
        count: changed.length,
        tokens: Object.fromEntries(tokens.slice(0, most)),
        ...(tool !== null && { skillTool: tool }),
      }
    }
  })
  return (share) => found.map((impact) => impact(share))
}

/** What a change adds to each agent's prompt, in estimated tokens; negative where it saves. */
export const tokensSaved = (outcomes: readonly AgentOutcome[], skills: readonly HostSkill[]) =>
  outcomes.map(({ agent, before, after }) => [agent.id, promptOf(after, skills) - promptOf(before, skills)] as const)

const promptOf = (ruleset: Ruleset, skills: readonly HostSkill[]): number =>
  tokensOf(
    skills.map((skill) => stateIn(ruleset, skill)),
    hasSkillTool(ruleset),
    skills,
  )

/** Whether the agent has the `skill` tool afterwards, when that changes. */
function toolChange({ before, after }: AgentOutcome): boolean | null {
  const has = hasSkillTool(after)
  return hasSkillTool(before) === has ? null : has
}
