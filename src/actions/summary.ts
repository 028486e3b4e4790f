import { effectAmong, type Ruleset } from "../core/evaluate.ts"
import type { ListBody } from "../tool/answer-schema.ts"
import { cut } from "../tool/budget.ts"
import type { State } from "../tool/vocabulary.ts"
import { tokensOf } from "./prompt.ts"
import { type Scene, stateOf } from "./world.ts"

const MAX_AGENTS = 40

interface Summary {
  /** `share` is what the array of agents may keep of its full size. */
  counts(share: number): ListBody["summary"]
  /** Some skill's state for the caller is another after the next load. */
  readonly pending: boolean
}

/** What each agent makes of all the skills, counted. */
export function summaryOf(scene: Scene): Summary {
  const { skills, caller } = scene
  const matching = skills.map(({ id }) => (id === null ? null : scene.patterns.matching(id)))
  const statesIn = (ruleset: Ruleset | null): State[] =>
    matching.map((patterns) => (ruleset && patterns ? stateOf(effectAmong(ruleset, patterns)) : "unknown"))
  const own = statesIn(caller?.now ?? null)
  const diverged = new Uint8Array(skills.length)
  const agents = scene.agents.map(({ id, hidden, skillTool, now }) => {
    const states = statesIn(now)
    if (!hidden) for (let i = 0; i < states.length; i++) if (states[i] !== own[i]) diverged[i] = 1
    return { id, hidden, skillTool, ...countsOf(states), tokens: tokensOf(states, skillTool, skills) }
  })
  const next = scene.next && statesIn(scene.next)
  const all = {
    total: skills.length,
    ...countsOf(own),
    diverged: diverged.reduce((sum, one) => sum + one, 0),
    derivedIds: skills.filter((skill) => skill.idFrom === "path").length,
  }
  return {
    counts: (share) => ({ ...all, ...cut("agents", agents, Math.ceil(MAX_AGENTS * share)) }),
    pending: next?.some((state, i) => state !== own[i]) ?? false,
  }
}

function countsOf(states: readonly State[]) {
  let [available, disabled, ask] = [0, 0, 0]
  for (const state of states) {
    if (state === "available") available++
    else if (state === "disabled") disabled++
    else if (state === "ask") ask++
  }
  return { available, disabled, ask }
}
