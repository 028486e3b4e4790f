import type { ChangeReason, FileChange } from "./candidates.ts"
import { type AgentOutcome, type Blocked, compileAll, firstOf, outcomesOf } from "./outcome.ts"
import { type Plan, type PlanProblem, type PlanResult, planChange } from "./plan.ts"
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
  readonly rule: Plan["rule"] | null
}

export interface Refused {
  readonly wish: Wish
  readonly problem: PlanProblem
}

/**
 * Plans many wishes as one change: each on the world that the one before leaves, so that each keeps the laws of a
 * single change, and new rules stand together in the order of the wishes. All or nothing.
 */
export function planAll(start: World, wishes: readonly Wish[]): Draft | { readonly refused: readonly Refused[] } {
  const first = compileAll(start.rulesets(new Map()))
  const texts = new Map<string, string | null>()
  let world = start
  let rulesets = first
  const targets: PlannedTarget[] = []
  const edits: FileChange[] = []
  const unreached: Blocked[] = []
  const refused: Refused[] = []
  let rule: Draft["rule"] = null
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
    rule: wishes.length === 1 ? rule : null,
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
