import { differingPatterns, effectAmong, type Ruleset } from "../core/evaluate.ts"
import { placesByPattern } from "../core/pattern-index.ts"
import type { ListBody } from "../tool/answer-schema.ts"
import { cut } from "../tool/budget.ts"
import type { State } from "../tool/vocabulary.ts"
import { unlistedReason } from "./prompt.ts"
import { type Scene, stateOf } from "./world.ts"

const MAX_AGENTS = 40

interface Summary {
  /** `share` is what the array of agents may keep of its full size. */
  counts(share: number): ListBody["summary"]
  /** Some skill's state for the caller is another after the next load. */
  readonly pending: boolean
}

/** What each agent makes of all the skills, counted: each is looked at where its rules differ from the caller's. */
export function summaryOf(scene: Scene): Summary {
  const { skills, caller, next } = scene
  const matching = skills.map(({ id }) => (id === null ? null : scene.patterns.matching(id)))
  const stateOfSkill = (ruleset: Ruleset | null, i: number): State => {
    const patterns = matching[i]
    return ruleset && patterns ? stateOf(effectAmong(ruleset, patterns)) : "unknown"
  }
  const own = skills.map((_, i) => stateOfSkill(caller?.now ?? null, i))
  const counts = { available: 0, disabled: 0, ask: 0, tokens: 0 }
  const price = (state: State, i: number) => {
    const skill = skills[i]
    return skill && unlistedReason(state, true, skill) === null ? skill.tokens : 0
  }
  own.forEach((state, i) => {
    count(counts, state, 1)
    counts.tokens += price(state, i)
  })
  const places = placesByPattern(matching)
  const diverged = new Uint8Array(skills.length)
  const agents = scene.agents.map(({ id, hidden, skillTool, now }) => {
    const its = { ...counts }
    const done = new Uint8Array(skills.length)
    const look = (i: number) => {
      if (done[i] === 1) return
      done[i] = 1
      const was = own[i] ?? "unknown"
      const is = stateOfSkill(now, i)
      if (was === is) return
      count(its, was, -1)
      count(its, is, 1)
      its.tokens += price(is, i) - price(was, i)
      if (!hidden) diverged[i] = 1
    }
    for (const pattern of caller ? differingPatterns(caller.now, now) : []) places[pattern]?.forEach(look)
    const { available, disabled, ask, tokens } = its
    return { id, hidden, skillTool, available, ask, disabled, tokens: skillTool ? tokens : 0 }
  })
  const { available, disabled, ask } = counts
  const derivedIds = skills.filter((skill) => skill.idFrom === "path").length
  const all = {
    total: skills.length,
    available,
    disabled,
    ask,
    diverged: diverged.reduce((sum, one) => sum + one, 0),
    derivedIds,
  }
  return {
    counts: (share) => ({ ...all, ...cut("agents", agents, Math.ceil(MAX_AGENTS * share)) }),
    pending: next !== null && next !== caller?.now && own.some((state, i) => state !== stateOfSkill(next, i)),
  }
}

function count(counts: { available: number; disabled: number; ask: number }, state: State, by: number): void {
  if (state === "available") counts.available += by
  else if (state === "disabled") counts.disabled += by
  else if (state === "ask") counts.ask += by
}
