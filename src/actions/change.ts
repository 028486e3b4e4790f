import { realpath } from "node:fs/promises"
import { setTimeout as delay } from "node:timers/promises"
import { compileRuleset, decide } from "../core/evaluate.ts"
import { blockedFor, compileAll, firstOf } from "../core/outcome.ts"
import type { Plan } from "../core/plan.ts"
import type { Wish } from "../core/world.ts"
import { codeOf, isFileProblem, readConfigFile } from "../files/config-file.ts"
import { pathKey } from "../files/locations.ts"
import { LockUnavailable, withLock } from "../files/lock.ts"
import { fitted } from "../tool/budget.ts"
import { envelope, type Outcome } from "../tool/envelope.ts"
import type { Request } from "../tool/input.ts"
import { notice } from "../tool/notices.ts"
import { cancelled, fileProblem, isProblem, lockTimeout, notEffective, type Problem } from "../tool/problems.ts"
import { renderChange, type Verification } from "./change-answer.ts"
import { changeNotices } from "./change-notices.ts"
import { type Committed, closeChange, commit, locksDirectory, takeBack } from "./commit.ts"
import type { Host } from "./ports.ts"
import { readSidecar, replaceRecords, writeSidecar } from "./records.ts"
import { type Rehearsal, rehearse } from "./rehearse.ts"
import { settle } from "./settle.ts"
import { rulesetsAfter } from "./world.ts"

/** `disable` and `enable` of one skill: rehearse, and unless it is a dry run, write, look again, and say so. */
export async function change(host: Host, request: Request): Promise<Outcome | Problem> {
  if (request.dryRun === true) {
    const rehearsal = await rehearse(host, request)
    return isProblem(rehearsal) ? rehearsal : answer(rehearsal, request, REHEARSED, null)
  }
  const key = pathKey(await realpath(host.configDirectory).catch(() => host.configDirectory))
  const written = await withLock(locksDirectory(host), key, async () => {
    const unsettled = await settle(host).catch((error: unknown) => stateFailure(host, codeOf(error)))
    if (isProblem(unsettled)) return unsettled
    const first = await attempt(host, request)
    return isProblem(first) && first.code === "config_changed" ? attempt(host, request) : first
  }).catch((error: unknown) => {
    if (!(error instanceof LockUnavailable)) throw error
    return stateFailure(host, error.code)
  })
  if (written === "lock_timeout") return lockTimeout()
  if (isProblem(written)) return written
  const { rehearsal, committed } = written
  if (!committed || rehearsal.result.kind !== "change") return answer(rehearsal, request, UNCHANGED, null)
  if (!host.reloads) return answer(rehearsal, request, SIMULATED, committed)
  const { plan } = rehearsal.result
  const reaction = await hostReaction(host, plan, rehearsal.wish)
  if (reaction === "agrees") return answer(rehearsal, request, CONFIRMED, committed)
  if (reaction === "unchanged") return answer(rehearsal, request, NOT_RELOADED, committed)
  return takeBackWhole(host, key, rehearsal, plan, committed.change)
}

const stateFailure = (host: Host, reason: string): Problem =>
  fileProblem({ kind: "write_failed", file: host.stateDirectory, reason })

const REHEARSED: Verification = { method: "simulated", ok: true, detail: "not written: a rehearsal" }
const UNCHANGED: Verification = { method: "none", ok: true, detail: "nothing had to be written" }
const SIMULATED: Verification = {
  method: "simulated",
  ok: true,
  detail: "the written files were read back and evaluated; this host reads them at its next start",
}
const CONFIRMED: Verification = { method: "host", ok: true, detail: "the running host shows the new effect" }
const NOT_RELOADED: Verification = {
  method: "simulated",
  ok: true,
  detail: "the written files were read back and evaluated; the host has not read them yet",
}

/** One try under the lock. */
async function attempt(
  host: Host,
  request: Request,
): Promise<{ rehearsal: Rehearsal; committed: Committed | null } | Problem> {
  const rehearsal = await rehearse(host, request)
  if (isProblem(rehearsal)) return rehearsal
  if (host.caller.signal?.aborted) return cancelled()
  if (rehearsal.result.kind === "unchanged") return { rehearsal, committed: null }
  const { plan } = rehearsal.result
  const committed = await commit(
    host,
    plan,
    rehearsal.sidecar,
    { action: request.action, id: rehearsal.wish.id, ...(request.note !== undefined && { note: request.note }) },
    () => lookAgain(rehearsal, plan),
  )
  return isProblem(committed) ? committed : { rehearsal, committed }
}

/** Reads the written files back and evaluates them anew: the same effects as planned, or the change is taken back. */
async function lookAgain(rehearsal: Rehearsal, plan: Plan): Promise<Problem | null> {
  const texts = new Map<string, string | null>()
  for (const { file } of plan.changes) {
    const found = await readConfigFile(file.path)
    if (isFileProblem(found)) return fileProblem(found)
    texts.set(file.name, found.text)
  }
  const rulesets = firstOf(compileAll(rulesetsAfter(rehearsal.scene, texts)))
  const reached = plan.outcomes.every(({ agent, after }) => {
    const ruleset = rulesets.get(agent.id)
    return ruleset && decide(ruleset, rehearsal.wish.id).effect === decide(after, rehearsal.wish.id).effect
  })
  if (reached) return null
  const blocked = blockedFor(rehearsal.world.agents, rulesets, rehearsal.wish)
  return notEffective("the written config does not have the planned effect, so it was taken back", "please report it", {
    blocked: blocked.map(({ agent, effect }) => ({ agent, effect })),
  })
}

/** A reload shows 0.6 to 0.85 s after the edit (measured); nobody waits longer than this, in ms. */
const REACTION_MS = 3_000
const POLL_MS = 50

/** Waits until the running host shows the new effect for every agent that the plan could foresee. */
async function hostReaction(host: Host, plan: Plan, wish: Wish): Promise<"agrees" | "unchanged" | "differs"> {
  const end = Date.now() + REACTION_MS
  for (;;) {
    const agents = await host.agents().catch(() => [])
    const seen = plan.outcomes.flatMap(({ agent, before, after }) => {
      const now = agents.find(({ id }) => id === agent.id)
      if (!now) return []
      const effect = decide(compileRuleset(now.rules), wish.id).effect
      return [{ as: effect, before: decide(before, wish.id).effect, after: decide(after, wish.id).effect }]
    })
    if (seen.length > 0 && seen.every(({ as, after }) => as === after)) return "agrees"
    if (Date.now() >= end) return seen.every(({ as, before }) => as === before) ? "unchanged" : "differs"
    await delay(POLL_MS)
  }
}

/** The host made something else of the edit: it goes, and its record with it. */
async function takeBackWhole(
  host: Host,
  key: string,
  rehearsal: Rehearsal,
  plan: Plan,
  change: string,
): Promise<Problem> {
  const left = await withLock(locksDirectory(host), key, async () => {
    const files = await takeBack(plan, rehearsal.wish.id)
    const { records } = rehearsal.sidecar
    const own = records.filter((record) => record.id === rehearsal.wish.id && record.generation === host.generation)
    const now = await readSidecar(host)
    if (files.length === 0 && now.error === null)
      await writeSidecar(now, replaceRecords(now.records, host.generation, [rehearsal.wish.id], own))
    if (files.length === 0) await closeChange(host, "undone", change).catch(() => {})
    return files
  })
  const stays = left === "lock_timeout" ? plan.changes.map(({ file }) => file.path) : left
  return notEffective(
    "the running host made something else of the change",
    stays.length === 0
      ? "it was taken back; inspect shows the rules that decide"
      : `our edit still stands in ${stays.join(", ")}`,
    stays.length === 0 ? {} : { left: stays },
  )
}

function answer(
  rehearsal: Rehearsal,
  request: Request,
  verification: Verification,
  committed: Committed | null,
): Outcome {
  const notices = [...rehearsal.scene.notices, ...changeNotices(rehearsal), ...(committed?.notices ?? [])]
  if (verification === NOT_RELOADED) notices.push(notice("host_not_reloaded"))
  const { host } = rehearsal.scene
  return fitted(
    (share) => renderChange(rehearsal, request, verification, committed, notices, share),
    (outcome) => envelope(request.action, host, outcome),
  )
}
