import { realpath } from "node:fs/promises"
import { setTimeout as delay } from "node:timers/promises"
import { compileRuleset, decide } from "../core/evaluate.ts"
import { blockedFor, compileAll } from "../core/outcome.ts"
import { type Plan, type PlanResult, planChange } from "../core/plan.ts"
import type { Effect } from "../core/rule.ts"
import { isLiteral } from "../core/wildcard.ts"
import type { Wish, World } from "../core/world.ts"
import { isFileProblem, readConfigFile } from "../files/config-file.ts"
import { pathKey } from "../files/locations.ts"
import { withLock } from "../files/lock.ts"
import type { Notice } from "../tool/answer-schema.ts"
import { fitted } from "../tool/budget.ts"
import { envelope, type Outcome } from "../tool/envelope.ts"
import type { Request } from "../tool/input.ts"
import { notice } from "../tool/notices.ts"
import {
  cancelled,
  fileProblem,
  isProblem,
  lockTimeout,
  notEffective,
  type Problem,
  registryUnavailable,
  scopeUnsupported,
  sidecarUnsupported,
} from "../tool/problems.ts"
import { renderChange, type Verification } from "./change-answer.ts"
import { type Committed, commit, locksDirectory, restoreRecords, takeBack } from "./commit.ts"
import { findSkill } from "./find-skill.ts"
import { dialectFor, globalFiles, preferredFiles, targetFile } from "./global-files.ts"
import { manualAgentRule, manualRule } from "./manual.ts"
import type { Host, HostSkill } from "./ports.ts"
import { readSidecar, type Sidecar } from "./records.ts"
import { refusal } from "./refusal.ts"
import { type Agent, deniedByHost, lookAround, rulesetsAfter, type Scene } from "./world.ts"

/** All that one rehearsal found out. */
export interface Rehearsal {
  readonly scene: Scene
  readonly caller: Agent
  readonly skill: HostSkill | null
  readonly wish: Wish
  readonly world: World
  readonly result: Extract<PlanResult, { kind: "change" | "unchanged" }>
  readonly sidecar: Sidecar
}

/** `disable` and `enable` of one skill: rehearse, and unless it is a dry run, write, look again, and say so. */
export async function change(host: Host, request: Request): Promise<Outcome | Problem> {
  if (request.dryRun === true) {
    const rehearsal = await rehearse(host, request)
    return isProblem(rehearsal) ? rehearsal : answer(rehearsal, request, REHEARSED, null)
  }
  const key = pathKey(await realpath(host.configDirectory).catch(() => host.configDirectory))
  const written = await withLock(locksDirectory(host), key, async () => {
    const first = await attempt(host, request)
    return isProblem(first) && first.code === "config_changed" ? attempt(host, request) : first
  }).catch((error: unknown) => lockFailure(host, error))
  if (written === "lock_timeout") return lockTimeout()
  if (isProblem(written)) return written
  const { rehearsal, committed } = written
  if (!committed || rehearsal.result.kind !== "change") return answer(rehearsal, request, UNCHANGED, null)
  if (!host.reloads) return answer(rehearsal, request, SIMULATED, committed)
  const { plan } = rehearsal.result
  const reaction = await hostReaction(host, plan, rehearsal.wish)
  if (reaction === "agrees") return answer(rehearsal, request, CONFIRMED, committed)
  if (reaction === "unchanged") return answer(rehearsal, request, NOT_RELOADED, committed)
  return takeBackWhole(host, key, rehearsal, plan)
}

const lockFailure = (host: Host, error: unknown): Problem =>
  fileProblem({
    kind: "write_failed",
    file: host.stateDirectory,
    reason: error instanceof Error && "code" in error ? String(error.code) : "lock",
  })

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

/** Looks at host and files, and plans. Writes nothing. */
async function rehearse(host: Host, request: Request): Promise<Rehearsal | Problem> {
  const effect: Effect = request.action === "enable" ? "allow" : (request.effect ?? "deny")
  const scene = await lookAround(host)
  if (isProblem(scene)) return scene
  const { caller } = scene
  const sidecar = await readSidecar(host)
  const target = await findTarget(scene, request, sidecar)
  if (isProblem(target)) return target
  const wish = { id: target.id, effect }
  const files = globalFiles(host, scene.observation)
  if (request.agent !== undefined) {
    const { file } = targetFile(host, files, wish.id)
    const text = manualAgentRule(host.generation, request.agent, wish.id, effect)
    return scopeUnsupported(request.action, request.agent, { file: file.path, text })
  }
  if (!caller) return registryUnavailable()
  if (sidecar.error !== null) return sidecarUnsupported(sidecar.path, sidecar.error)
  const world = worldOf(scene, sidecar, wish)
  const result = planChange(world, wish)
  if (result.kind !== "change" && result.kind !== "unchanged") {
    const { file } = targetFile(host, files, wish.id)
    const text = manualRule(dialectFor(host, file, files).dialect, wish.id, effect)
    return refusal(result, wish, caller.id, host, { file: file.path, text })
  }
  const obstacle = result.kind === "change" ? await fileObstacle(result.plan) : null
  return obstacle ?? { scene, caller, skill: target.skill, wish, world, result, sidecar }
}

/** `enable` also works for a skill that is gone, as long as a rule or a record still names it. */
async function findTarget(
  scene: Scene,
  request: Request,
  sidecar: Sidecar,
): Promise<{ id: string; skill: HostSkill | null } | Problem> {
  const skill = findSkill(scene.skills, request)
  if (!isProblem(skill)) return skill.id === null ? registryUnavailable() : { id: skill.id, skill }
  const gone = request.action === "enable" && request.name === undefined ? request.id : undefined
  if (gone === undefined || skill.code !== "skill_not_found") return skill
  const recorded = sidecar.records.some((record) => record.id === gone && record.generation === scene.host.generation)
  const ruled = scene.agents.some((agent) => agent.attributed.rules.some((rule) => rule.resource === gone))
  const written = [...rulesetsAfter(scene, new Map()).values()].some((rules) =>
    rules?.some((rule) => rule.resource === gone),
  )
  return recorded || ruled || written ? { id: gone, skill: null } : skill
}

function worldOf(scene: Scene, sidecar: Sidecar, wish: Wish): World {
  const { host, observation } = scene
  const files = globalFiles(host, observation)
  return {
    generation: host.generation,
    agents: scene.agents.map((agent) => ({
      id: agent.id,
      hidden: agent.hidden,
      deniedByHost: deniedByHost(agent, wish.id),
    })),
    caller: scene.caller?.id ?? "",
    skills: scene.skills.flatMap((skill) => skill.id ?? []),
    files,
    records: sidecar.records,
    dialectFor: (file) => dialectFor(host, file, files).dialect,
    preference: (candidates) => preferredFiles(host, candidates),
    rulesets: (texts) => rulesetsAfter(scene, texts),
  }
}

/** What would stop the write is said in the rehearsal already. */
async function fileObstacle(plan: Plan): Promise<Problem | null> {
  for (const { file } of plan.changes) {
    const found = await readConfigFile(file.path)
    if (isFileProblem(found)) return fileProblem(found)
  }
  return null
}

/** Reads the written files back and evaluates them anew: the same effects as planned, or the change is taken back. */
async function lookAgain(rehearsal: Rehearsal, plan: Plan): Promise<Problem | null> {
  const texts = new Map<string, string | null>()
  for (const { file } of plan.changes) {
    const found = await readConfigFile(file.path)
    if (isFileProblem(found)) return fileProblem(found)
    texts.set(file.name, found.text)
  }
  const rulesets = compileAll(rulesetsAfter(rehearsal.scene, texts))
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
async function takeBackWhole(host: Host, key: string, rehearsal: Rehearsal, plan: Plan): Promise<Problem> {
  const left = await withLock(locksDirectory(host), key, async () => {
    const files = await takeBack(plan.changes)
    if (files.length === 0) await restoreRecords(rehearsal.sidecar)
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
  const notices = [...rehearsal.scene.notices, ...noticesOf(rehearsal), ...(committed?.notices ?? [])]
  if (verification === NOT_RELOADED) notices.push(notice("host_not_reloaded"))
  const { host } = rehearsal.scene
  return fitted(
    (share) => renderChange(rehearsal, request, verification, committed, notices, share),
    (outcome) => envelope(request.action, host, outcome),
  )
}

function noticesOf({ result, scene, wish, world }: Rehearsal): Notice[] {
  const found: Notice[] = []
  const { outcomes } = result.kind === "change" ? result.plan : result
  const unreached = result.kind === "change" ? result.plan.unreached : result.unreached
  if (unreached.length > 0) found.push(notice("partly_effective", { agents: unreached.map(({ agent }) => agent) }))
  const unpredicted = scene.agents.filter((agent) => !outcomes.some((outcome) => outcome.agent.id === agent.id))
  if (unpredicted.length > 0)
    found.push(notice("model_differs", { agents: unpredicted.map(({ id }) => id).slice(0, 20) }))
  if (result.kind !== "change") return found
  const opened = outcomes.filter(
    ({ agent, before, after }) =>
      agent.deniedByHost && decide(before, wish.id).effect === "deny" && decide(after, wish.id).effect !== "deny",
  )
  if (opened.length > 0) found.push(notice("opens_for", { agents: opened.map(({ agent }) => agent.id) }))
  if (wish.effect === "ask") found.push(notice("ask_may_hang"))
  if (!isLiteral(wish.id) || wish.id.includes("\\")) found.push(notice("rule_is_a_pattern", { id: wish.id }))
  const [first] = result.plan.changes
  const shared = first && world.dialectFor(first.file) === "permission" && scene.host.generation === "opencode-2"
  const target = scene.skills.find((skill) => skill.id === wish.id)
  if (shared && target?.name !== undefined && target.name !== wish.id) found.push(notice("other_host_differs"))
  return found
}
