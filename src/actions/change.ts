import { realpath } from "node:fs/promises"
import { setTimeout as delay } from "node:timers/promises"
import { compileRuleset, decide } from "../core/evaluate.ts"
import { compileAll, firstOf } from "../core/outcome.ts"
import { replaceRecords } from "../core/sidecar.ts"
import { codeOf, isFileProblem, readConfigFile } from "../files/config-file.ts"
import { LockUnavailable, lockKey, withLock } from "../files/lock.ts"
import { cut } from "../tool/budget.ts"
import type { Outcome } from "../tool/envelope.ts"
import type { Request } from "../tool/input.ts"
import {
  approvalRequired,
  cancelled,
  fileProblem,
  isProblem,
  lockTimeout,
  notEffective,
  notPermitted,
  operatorOnly,
  type Problem,
  planRequired,
  planStale,
} from "../tool/problems.ts"
import { judge } from "./approval.ts"
import { answerChange, CONFIRMED, NOT_RELOADED, REHEARSED, SIMULATED, UNCHANGED } from "./change-answer.ts"
import { type Committed, changedIds, closeChange, commit, locksDirectory, takeBack } from "./commit.ts"
import { manualText } from "./manual.ts"
import { differingParts } from "./plan-token.ts"
import type { Host } from "./ports.ts"
import { readSidecar, writeSidecar } from "./records.ts"
import { type Rehearsal, rehearse } from "./rehearse.ts"
import { settle } from "./settle.ts"
import { rulesetsAfter } from "./world.ts"

/** Every writing action: rehearse, and unless it is a rehearsal alone, approve, write, look again, and say so. */
export async function change(host: Host, request: Request): Promise<Outcome | Problem> {
  const goesByPlan = request.action === "reconcile" || (request.id ?? request.name) === undefined
  const needsPlan = goesByPlan && request.action !== "undo" && request.plan === undefined
  if (request.dryRun === true || needsPlan || host.options.writes === "operator")
    return rehearsed(host, request, needsPlan)
  const key = lockKey(await realpath(host.configDirectory).catch(() => host.configDirectory))
  const granted = new Set<string>()
  // A second round follows when the user had to be asked, which nobody waits for under the lock.
  for (let round = 0; round < 2; round++) {
    const done = await withLock(locksDirectory(host), key, async () => {
      const unsettled = await settle(host).catch((error: unknown) => stateFailure(host, codeOf(error)))
      if (isProblem(unsettled)) return unsettled
      return twice(() => attempt(host, request, granted))
    }).catch((error: unknown) => {
      if (!(error instanceof LockUnavailable)) throw error
      return stateFailure(host, error.code)
    })
    if (done === "lock_timeout") return lockTimeout()
    if (isProblem(done)) return done
    if (done.kind === "stale") return answerChange(done.rehearsal, REHEARSED, null, [], planStale(done.differs))
    if (done.kind === "done") return reported(host, key, done)
    const reply = (await host.ask?.(done.resources)) ?? "unanswered"
    if (host.caller.signal?.aborted) return cancelled()
    if (reply === "rejected") return notPermitted(done.resources, host.caller.agent ?? "", "user")
    if (reply === "unanswered") return approvalRequired(done.resources, "the user did not answer")
    for (const resource of done.resources) granted.add(resource)
  }
  return fileProblem({ kind: "config_changed", file: host.configDirectory, reason: "while the user was asked" })
}

/** What would be done, and what has to come before it. Writes nothing. */
async function rehearsed(host: Host, request: Request, needsPlan: boolean): Promise<Outcome | Problem> {
  const rehearsal = await twice(() => rehearse(host, request))
  if (isProblem(rehearsal)) return rehearsal
  const differs = request.plan === undefined ? [] : differingParts(request.plan, rehearsal)
  const count = changedIds(rehearsal).length
  const obstacle = (): Problem | undefined => {
    if (differs.length > 0) return planStale(differs)
    if (request.dryRun === true || count === 0) return undefined
    if (host.options.writes === "operator") return operatorOnly(manualText(rehearsal))
    return needsPlan ? planRequired(count) : undefined
  }
  return answerChange(rehearsal, count === 0 ? UNCHANGED : REHEARSED, null, [], obstacle())
}

/** What someone else's edit came across is done anew once. */
async function twice<T>(work: () => Promise<T | Problem>): Promise<T | Problem> {
  const first = await work()
  return isProblem(first) && first.code === "config_changed" ? work() : first
}

const stateFailure = (host: Host, reason: string): Problem =>
  fileProblem({ kind: "write_failed", file: host.stateDirectory, reason })

type Attempt =
  | {
      readonly kind: "done"
      readonly rehearsal: Rehearsal
      readonly committed: Committed | null
      readonly approved: Outcome["notices"]
    }
  | { readonly kind: "stale"; readonly rehearsal: Rehearsal; readonly differs: readonly string[] }
  | { readonly kind: "ask"; readonly resources: readonly string[] }

/** One try under the lock. */
async function attempt(host: Host, request: Request, granted: ReadonlySet<string>): Promise<Attempt | Problem> {
  const rehearsal = await rehearse(host, request)
  if (isProblem(rehearsal)) return rehearsal
  const differs = request.plan === undefined ? [] : differingParts(request.plan, rehearsal)
  if (differs.length > 0) return { kind: "stale", rehearsal, differs }
  if (host.caller.signal?.aborted) return cancelled()
  if (changedIds(rehearsal).length === 0) return { kind: "done", rehearsal, committed: null, approved: [] }
  const approval = judge(rehearsal, granted)
  if (isProblem(approval)) return approval
  if (approval.ask.length > 0) return { kind: "ask", resources: approval.ask }
  const committed = await commit(rehearsal, () => lookAgain(rehearsal))
  return isProblem(committed) ? committed : { kind: "done", rehearsal, committed, approved: approval.notices }
}

async function reported(
  host: Host,
  key: string,
  { rehearsal, committed, approved }: Extract<Attempt, { kind: "done" }>,
): Promise<Outcome | Problem> {
  if (!committed) return answerChange(rehearsal, UNCHANGED, null, approved)
  if (!host.reloads) return answerChange(rehearsal, SIMULATED, committed, approved)
  const reaction = await hostReaction(host, rehearsal)
  if (reaction === "agrees") return answerChange(rehearsal, CONFIRMED, committed, approved)
  if (reaction === "unchanged") return answerChange(rehearsal, NOT_RELOADED, committed, approved)
  return takeBackWhole(host, key, rehearsal, committed.change)
}

/** Reads the written files back and evaluates them anew: the same effects as planned, or the change is taken back. */
async function lookAgain({ draft, scene, targets }: Rehearsal): Promise<Problem | null> {
  const texts = new Map<string, string | null>()
  for (const { file } of draft.changes) {
    const found = await readConfigFile(file.path)
    if (isFileProblem(found)) return fileProblem(found)
    texts.set(file.name, found.text)
  }
  const rulesets = firstOf(compileAll(rulesetsAfter(scene, texts)))
  const missed = draft.outcomes.flatMap(({ agent, after }) => {
    const ruleset = rulesets.get(agent.id)
    return targets.flatMap(({ id }) => {
      const effect = ruleset && decide(ruleset, id).effect
      return effect === decide(after, id).effect ? [] : [{ agent: agent.id, effect: effect ?? null }]
    })
  })
  if (missed.length === 0) return null
  return notEffective("the written config does not have the planned effect, so it was taken back", "please report it", {
    ...cut("blocked", missed, SHOWN),
  })
}

const SHOWN = 20

/** A reload shows 0.6 to 0.85 s after the edit (measured); nobody waits longer than this, in ms. */
const REACTION_MS = 3_000
const POLL_MS = 50

/** Waits until the running host shows the new effects for every agent that the plan could foresee. */
async function hostReaction(host: Host, { draft, targets }: Rehearsal): Promise<"agrees" | "unchanged" | "differs"> {
  const end = Date.now() + REACTION_MS
  for (;;) {
    const agents = await host.agents().catch(() => [])
    const seen = draft.outcomes.flatMap(({ agent, before, after }) => {
      const found = agents.find(({ id }) => id === agent.id)
      if (!found) return []
      const now = compileRuleset(found.rules)
      return targets.map(({ id }) => ({
        as: decide(now, id).effect,
        before: decide(before, id).effect,
        after: decide(after, id).effect,
      }))
    })
    if (seen.length > 0 && seen.every(({ as, after }) => as === after)) return "agrees"
    if (Date.now() >= end) return seen.every(({ as, before }) => as === before) ? "unchanged" : "differs"
    await delay(POLL_MS)
  }
}

/** The host made something else of the edit: it goes, and its records with it. */
async function takeBackWhole(host: Host, key: string, rehearsal: Rehearsal, change: string): Promise<Problem> {
  const left = await withLock(locksDirectory(host), key, async () => {
    const files = await takeBack(rehearsal)
    if (files.length > 0) return files
    const ids = changedIds(rehearsal)
    const own = rehearsal.sidecar.records.filter(
      (record) => ids.includes(record.id) && record.generation === host.generation,
    )
    const now = await readSidecar(host)
    if (now.error === null) await writeSidecar(now, replaceRecords(now.records, host.generation, ids, own))
    await closeChange(host, "undone", change).catch(() => {})
    return files
  })
  const stays = left === "lock_timeout" ? rehearsal.draft.changes.map(({ file }) => file.path) : left
  return notEffective(
    "the running host made something else of the change",
    stays.length === 0
      ? "it was taken back; inspect shows the rules that decide"
      : `our edit still stands in ${stays.join(", ")}`,
    stays.length === 0 ? {} : { left: stays },
  )
}
