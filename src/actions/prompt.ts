import type { State, Unlisted } from "../tool/vocabulary.ts"
import type { HostSkill } from "./ports.ts"

/** Why the model is not told of a skill; null when it is. Order: the strongest reason first. */
export function unlistedReason(state: State, skillTool: boolean, skill: HostSkill): Unlisted | null {
  if (!skillTool) return "no_skill_tool"
  if (state === "disabled") return "denied"
  if (skill.description === null) return "no_description"
  return skill.autoinvoke === false ? "autoinvoke_off" : null
}

/** What one agent's prompt pays for all the skills that it lists. `states` are the agent's, in the skills' order. */
export function tokensOf(states: readonly State[], skillTool: boolean, skills: readonly HostSkill[]): number {
  let sum = 0
  for (const [i, skill] of skills.entries())
    if (unlistedReason(states[i] ?? "unknown", skillTool, skill) === null) sum += skill.tokens
  return sum
}
