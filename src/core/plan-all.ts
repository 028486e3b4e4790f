import { type Candidate, type ChangeReason, candidates, type FileChange, findExact } from "./candidates.ts"
import {
  type AgentOutcome,
  type Blocked,
  compileAll,
  firstOf,
  outcomesOf,
  type Readings,
  sideEffectsOf,
} from "./outcome.ts"
import {
  type Plan,
  type PlanProblem,
  type PlanResult,
  planChange,
  situationOf,
  unserved,
  wishProblem,
  worldProblem,
} from "./plan.ts"
import type { SidecarRecord } from "./sidecar.ts"
import { replaceRecords } from "./sidecar.ts"
import { type Wish, type World, worldWith } from "./world.ts"

/** What became of one wish; no reason: it was fulfilled before. */
export interface PlannedTarget {
  readonly wish: Wish
  readonly reason: ChangeReason | null
}

/** All that one change writes, and what becomes of whom. Every way to change the config ends in one of these. */
export interface Draft {
  readonly targets: readonly PlannedTarget[]
  /** Each file once: its text before and after. */
  readonly changes: readonly FileChange[]
  /** The single edits in the order in which they were made, each on the text that the one before left. */
  readonly edits: readonly FileChange[]
  /** The sidecar's records afterwards, all of them. */
  readonly records: readonly SidecarRecord[]
  readonly outcomes: readonly AgentOutcome[]
  /** Agents in reach that a rule from elsewhere keeps from a wish. */
  readonly unreached: readonly Blocked[]
  /** The rule that was added, changed or removed, where it is one. */
  readonly rule: ReturnType<Plan["rule"]> | null
}

export interface Refused {
  readonly wish: Wish
  readonly problem: PlanProblem
}

/**
 * Plans many wishes as one change, in their order, so that new rules stand together. All or nothing. Pure.
 */
export function planAll(start: World, wishes: readonly Wish[]): Draft | { readonly refused: readonly Refused[] } {
  const first = compileAll(start.rulesets(new Map()))
  const together = wishes.length > 1 ? planTogether(start, first, wishes) : null
  return together ?? planInTurn(start, first, wishes)
}

/** Nobody needs more ways than this to one wish. */
const MAX_ROUNDS = 6

/**
 * All at once, which costs a few evaluations for any number of wishes: the first way to each, then the next one for
 * those that are not fulfilled. Null where that comes to no clean end; then each has to be looked at by itself.
 */
function planTogether(start: World, first: Readings, wishes: readonly Wish[]): Draft | null {
  if (worldProblem(start, first) || wishes.some((wish) => wishProblem(start, wish))) return null
  const open = wishes.map((wish) => ({ wish, situation: situationOf(start, wish, first), way: 0 }))
  const moving = open.filter(({ situation }) => situation.open.length > 0 || situation.leftover)
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const made = moving.map(() => null as Candidate | null)
    let world = start
    const texts = new Map<string, string | null>()
    for (const [index, { wish, way }] of moving.entries()) {
      const candidate = wayTo(world, wish, way)
      if (!candidate) return null
      made[index] = candidate
      for (const { file, after } of candidate.changes) texts.set(file.name, after)
      world = worldWith(start, texts, replaceRecords(world.records, world.generation, [wish.id], candidate.records))
    }
    const after = compileAll(start.rulesets(texts), first)
    const missed = moving.filter(({ wish, situation }, index) => {
      const accepts = made[index]?.accepts ?? (() => false)
      return unserved(situation.reach, after, wish, accepts).length > 0
    })
    for (const one of missed) one.way++
    if (missed.length > 0) continue
    const targets = moving.map(({ wish }) => wish.id)
    if (first.some((was, i) => sideEffectsOf(start, targets, was, after[i] ?? was).length > 0)) return null
    const reasons = new Map(moving.map(({ wish }, index) => [wish, made[index]?.reason ?? null]))
    const edits = made.flatMap((candidate) => candidate?.changes ?? [])
    return {
      targets: wishes.map((wish) => ({ wish, reason: reasons.get(wish) ?? null })),
      changes: merged(edits),
      edits,
      records: world.records,
      outcomes: outcomesOf(start, firstOf(first), firstOf(after)),
      unreached: [],
      rule: null,
    }
  }
  return null
}

/** One of the ways to a wish, by its place among those that change anything. */
function wayTo(world: World, wish: Wish, way: number): Candidate | null {
  let at = 0
  for (const candidate of candidates(world, wish, findExact(world.files, wish.id))) {
    if ("kind" in candidate) return null
    if (candidate.changes.length > 0 && at++ === way) return candidate
  }
  return null
}

/** One after the other, each on the world that the one before leaves, and each with its own refusal. */
function planInTurn(
  start: World,
  first: Readings,
  wishes: readonly Wish[],
): Draft | { readonly refused: readonly Refused[] } {
  const texts = new Map<string, string | null>()
  let world = start
  let rulesets = first
  const targets: PlannedTarget[] = []
  const edits: FileChange[] = []
  const unreached: Blocked[] = []
  const refused: Refused[] = []
  let rule: Plan["rule"] | null = null
  for (const wish of wishes) {
    const result = planChange(world, wish, rulesets)
    if (result.kind === "unchanged") {
      targets.push({ wish, reason: null })
      unreached.push(...result.unreached)
    } else if (result.kind === "change") {
      const { plan } = result
      targets.push({ wish, reason: plan.reason })
      unreached.push(...plan.unreached)
      edits.push(...plan.changes)
      rule = plan.rule
      for (const { file, after } of plan.changes) texts.set(file.name, after)
      world = worldWith(start, texts, replaceRecords(world.records, world.generation, [wish.id], plan.records))
      rulesets = plan.after
    } else {
      // Places are those of the user's text, not of one that is half edited.
      const alone = planChange(start, wish, first)
      refused.push({ wish, problem: isRefusal(alone) ? alone : result })
    }
  }
  if (refused.length > 0) return { refused }
  return {
    targets,
    changes: merged(edits),
    edits,
    records: world.records,
    outcomes: outcomesOf(start, firstOf(first), firstOf(rulesets)),
    unreached: unreached.filter(({ agent }, i) => unreached.findIndex((other) => other.agent === agent) === i),
    rule: wishes.length === 1 && rule ? rule() : null,
  }
}

const isRefusal = (result: PlanResult): result is PlanProblem => result.kind !== "change" && result.kind !== "unchanged"

/** Each file once, from its first text to its last. */
export function merged(edits: readonly FileChange[]): FileChange[] {
  const files = new Map<string, FileChange>()
  for (const edit of edits) {
    const known = files.get(edit.file.name)
    files.set(edit.file.name, known ? { ...edit, file: known.file, before: known.before } : edit)
  }
  return [...files.values()].filter(({ before, after }) => before !== after)
}
