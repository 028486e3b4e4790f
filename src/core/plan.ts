import { type Candidate, candidates, exactly, type FileFault, type Found, findExact } from "./candidates.ts"
import {
  type AgentOutcome,
  type Blocked,
  blockedFor,
  compileAll,
  effectsIn,
  firstOf,
  outcomesOf,
  type Readings,
  type SideEffect,
  sideEffectsOf,
} from "./outcome.ts"
import type { Effect } from "./rule.ts"
import { compilePattern } from "./wildcard.ts"
import { idsOf, type PlannedAgent, type Wish, type World } from "./world.ts"

export interface Plan extends Candidate {
  readonly outcomes: readonly AgentOutcome[]
  /** Agents in reach that a rule from elsewhere keeps from the wish. */
  readonly unreached: readonly Blocked[]
  /** The rules afterwards, where the next change begins. */
  readonly after: Readings
}

export type PlanProblem =
  | {
      readonly kind: "config_unparsable"
      readonly file: string
      readonly line: number
      readonly column: number
      readonly reason: string
    }
  | FileFault
  | { readonly kind: "id_not_expressible"; readonly hits: readonly string[] }
  | { readonly kind: "prediction_failed"; readonly agents: readonly string[] }
  | {
      readonly kind: "not_effective"
      readonly blocked: readonly Blocked[]
      readonly sideEffects: readonly SideEffect[]
    }
  | { readonly kind: "blocked_elsewhere"; readonly blocked: readonly Blocked[] }

export type PlanResult =
  | { readonly kind: "change"; readonly plan: Plan }
  | { readonly kind: "unchanged"; readonly outcomes: readonly AgentOutcome[]; readonly unreached: readonly Blocked[] }
  | PlanProblem

/**
 * Works out the smallest edit that fulfils the wish and touches nothing else, or says why there is none. Pure.
 * `start` are the world's rules, where they are known already.
 */
export function planChange(world: World, wish: Wish, start = compileAll(world.rulesets(new Map()))): PlanResult {
  const problem = worldProblem(world, start) ?? wishProblem(world, wish)
  if (problem) return problem
  const known = firstOf(start)
  const idle = outcomesOf(world, known, known)
  const { reach, exact, open, leftover } = situationOf(world, wish, start)
  if (open.length === 0 && !leftover) return { kind: "unchanged", outcomes: idle, unreached: [] }

  const { best, sideEffects, fault } = tryAll(world, wish, exact, start, reach, open)
  const improves = best && (best.missed < open.length || (leftover && open.length === 0))
  if (best && improves) return { kind: "change", plan: best }
  if (fault) return fault
  if (sideEffects.length > 0) return { kind: "not_effective", blocked: open, sideEffects }
  const callerServed = !open.some((blocked) => blocked.agent === world.caller)
  if (wish.effect !== "allow" && callerServed && open.length < reach.length)
    return { kind: "unchanged", outcomes: idle, unreached: open }
  return wish.effect === "allow" && open.some(standsElsewhere)
    ? { kind: "blocked_elsewhere", blocked: open }
    : { kind: "not_effective", blocked: open, sideEffects }
}

/** What stands in the way of any change: a file that the host could not read, or a host that we cannot foresee. */
export function worldProblem(world: World, start = compileAll(world.rulesets(new Map()))): PlanProblem | null {
  const broken = world.files.find((file) => file.text?.error)
  if (broken?.text?.error) return { kind: "config_unparsable", file: broken.name, ...broken.text.error }
  const refused = world.files.find((file) => file.fault)
  if (refused?.fault) return { kind: "config_unsupported", file: refused.name, ...refused.fault }
  const known = firstOf(start)
  const unknown = world.agents.filter((agent) => !known.has(agent.id)).map((agent) => agent.id)
  const blind = unknown.includes(world.caller) || known.size === 0
  return blind ? { kind: "prediction_failed", agents: unknown } : null
}

/** What keeps a rule from naming just what is wished. */
export function wishProblem(world: World, wish: Wish): PlanProblem | null {
  const named = compilePattern(wish.id)
  const meant = new Set(idsOf(wish))
  const hits = world.skills.filter((id) => !meant.has(id) && named.matches(id))
  return hits.length > 0 || !canBeNamed(world, wish.id) ? { kind: "id_not_expressible", hits } : null
}

/** Where a wish begins. */
export interface Situation {
  /** The agents that a rule of the user can serve. */
  readonly reach: readonly PlannedAgent[]
  readonly exact: readonly Found[]
  /** Whom the wish is not fulfilled for yet. */
  readonly open: readonly Blocked[]
  /** An exact rule that says otherwise still stands, though it does not win. */
  readonly leftover: boolean
}

export function situationOf(world: World, wish: Wish, start: Readings): Situation {
  const known = firstOf(start)
  const reach = world.agents.filter((agent) => !agent.hidden && !agent.deniedByHost && known.has(agent.id))
  const exact = findExact(world.files, wish.id)
  const open = unserved(reach, start, wish, exactly(wish))
  const leftover = wish.effect === "allow" && exact.some(({ rule }) => rule.effect !== "allow")
  return { reach, exact, open, leftover }
}

interface Trial {
  readonly best: (Plan & { readonly missed: number }) | null
  readonly sideEffects: readonly SideEffect[]
  readonly fault: PlanProblem | null
}

/** Evaluates the candidates in turn, until one without side effects misses nobody in reach. */
function tryAll(
  world: World,
  wish: Wish,
  exact: readonly Found[],
  start: Readings,
  reach: readonly PlannedAgent[],
  open: readonly Blocked[],
): Trial {
  const before = firstOf(start)
  let best: Trial["best"] = null
  let sideEffects: Trial["sideEffects"] = []
  const targets = [wish.id]
  let fault: Trial["fault"] = null
  for (const candidate of candidates(world, wish, exact)) {
    if ("kind" in candidate) {
      fault ??= candidate
      continue
    }
    if (candidate.changes.length === 0) continue
    const texts = new Map(candidate.changes.map((change) => [change.file.name, change.after]))
    const after = compileAll(world.rulesets(texts), start)
    const harm = start.flatMap((was, model) => sideEffectsOf(world, targets, was, after[model] ?? was))
    if (harm.length > 0) {
      if (sideEffects.length === 0) sideEffects = harm
      continue
    }
    const still = reach.filter((agent) => same(effectsIn(before, agent, wish), effectsIn(firstOf(after), agent, wish)))
    if (open.length > 0 && still.length === reach.length) continue
    const missed = unserved(reach, after, wish, candidate.accepts).length
    if (best && missed >= best.missed) continue
    const unreached = unserved(still, after, wish, exactly(wish))
    best = { ...candidate, missed, outcomes: outcomesOf(world, before, firstOf(after)), unreached, after }
    if (missed === 0) break
  }
  return { best, sideEffects, fault }
}

const same = (a: readonly Effect[], b: readonly Effect[]): boolean => a.every((effect, i) => effect === b[i])

/** Not in the top level of a global file, the only place that this tool writes to. */
const standsElsewhere = ({ rule }: Blocked): boolean =>
  rule === null || rule.origin.layer !== "global" || rule.origin.agent !== undefined

/** The agents that any model leaves with another effect, with the rule that wins there. */
export function unserved(
  agents: readonly PlannedAgent[],
  readings: Readings,
  wish: Wish,
  accepts: (effect: Effect) => boolean,
): Blocked[] {
  const blocked = readings.flatMap((rulesets) =>
    blockedFor(
      agents.filter((agent) => !effectsIn(rulesets, agent, wish).every(accepts)),
      rulesets,
      wish,
    ),
  )
  return blocked.filter(({ agent }, index) => blocked.findIndex((other) => other.agent === agent) === index)
}

/** Patterns and keys that the host reads as something else than the id (measured on OpenCode 1.18.34). */
function canBeNamed({ generation, files, dialectsFor, preference }: World, id: string): boolean {
  if (generation === "opencode-1" && (id === "~" || id.startsWith("~/") || id.startsWith("$HOME"))) return false
  return id !== "__proto__" || preference(files).some((file) => dialectsFor(file).includes("permissions"))
}
