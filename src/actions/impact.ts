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

/** What a change does to whom: agents that it changes alike stand together, hidden ones last. */
export function impactOf(
  outcomes: readonly AgentOutcome[],
  ids: readonly string[],
  skills: readonly HostSkill[],
  most: number,
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
    return {
      ...cut(
        "agents",
        members.map(({ agent }) => agent.id),
        MAX_AGENTS,
      ),
      direction: isWider(before, after) ? "wider" : "narrower",
      before,
      after,
      ...cut("ids", changed, most),
      count: changed.length,
      tokens: tokensSaved(members, skills, MAX_AGENTS),
      ...(tool !== null && { skillTool: tool }),
    }
  })
}

/** What a change adds to each agent's prompt, in estimated tokens; negative where it saves. */
export const tokensSaved = (outcomes: readonly AgentOutcome[], skills: readonly HostSkill[], most: number) =>
  Object.fromEntries(
    outcomes
      .slice(0, most)
      .map(({ agent, before, after }) => [agent.id, promptOf(after, skills) - promptOf(before, skills)]),
  )

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
