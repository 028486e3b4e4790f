import { decide } from "../core/evaluate.ts"
import type { ReachReason } from "../tool/vocabulary.ts"
import type { HostSkill } from "./ports.ts"
import type { Agent } from "./world.ts"

/** What the model is told of a skill and what it can load, with everything that stands in the way. */
export function modelReach(agent: Agent, skill: HostSkill, id: string) {
  const { effect } = decide(agent.now, id)
  const hiding: ReachReason[] = [
    ...(agent.skillTool ? [] : ["no_skill_tool" as const]),
    ...(effect === "deny" ? ["denied" as const] : []),
    ...(skill.description === null ? ["no_description" as const] : []),
    ...(skill.autoinvoke === false ? ["autoinvoke_off" as const] : []),
  ]
  const asks: ReachReason[] = effect === "ask" ? ["asks_first"] : []
  return {
    listed: hiding.length === 0,
    loadable: agent.skillTool && effect !== "deny",
    reasons: [...hiding, ...asks],
  }
}
