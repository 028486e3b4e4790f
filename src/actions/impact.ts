import { decide, hasSkillTool } from "../core/evaluate.ts"
import type { AgentOutcome } from "../core/outcome.ts"
import { isWider } from "../core/rule.ts"
import type { DisableBody } from "../tool/answer-schema.ts"
import { cut } from "../tool/budget.ts"
import type { HostSkill } from "./ports.ts"
import { tokensOf } from "./world.ts"

type Impact = DisableBody["impact"][number]

const MAX_AGENTS = 50

/** What a change does to whom: agents that it changes alike stand together, hidden ones last. */
export function impactOf(
  outcomes: readonly AgentOutcome[],
  ids: readonly string[],
  skills: readonly HostSkill[],
): Impact[] {
  const groups = new Map<string, { first: AgentOutcome; members: AgentOutcome[]; changed: string[] }>()
  const ordered = [...outcomes.filter(({ agent }) => !agent.hidden), ...outcomes.filter(({ agent }) => agent.hidden)]
  for (const outcome of ordered)
    for (const id of ids) {
      const [before, after] = [decide(outcome.before, id).effect, decide(outcome.after, id).effect]
      if (before === after) continue
      const key = JSON.stringify([before, after, toolChange(outcome), outcome.agent.hidden])
      const group = groups.get(key) ?? { first: outcome, members: [], changed: [] }
      groups.set(key, group)
      if (!group.members.includes(outcome)) group.members.push(outcome)
      if (!group.changed.includes(id)) group.changed.push(id)
    }
  return [...groups.values()].map(({ first, members, changed }): Impact => {
    const id = changed[0] ?? ""
    const [before, after] = [decide(first.before, id).effect, decide(first.after, id).effect]
    const tool = toolChange(first)
    const tokens = members
      .slice(0, MAX_AGENTS)
      .map(({ agent, before: was, after: becomes }) => [agent.id, tokensOf(becomes, skills) - tokensOf(was, skills)])
    return {
      ...cut(
        "agents",
        members.map(({ agent }) => agent.id),
        MAX_AGENTS,
      ),
      direction: isWider(before, after) ? "wider" : "narrower",
      before,
      after,
      ids: changed,
      count: changed.length,
      tokens: Object.fromEntries(tokens),
      ...(tool !== null && { skillTool: tool }),
    }
  })
}

/** Whether the agent has the `skill` tool afterwards, when that changes. */
function toolChange({ before, after }: AgentOutcome): boolean | null {
  const has = hasSkillTool(after)
  return hasSkillTool(before) === has ? null : has
}
