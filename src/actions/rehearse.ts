import { decide } from "../core/evaluate.ts"
import { compareIds } from "../core/order.ts"
import { worldProblem } from "../core/plan.ts"
import { type Draft, type PlannedTarget, planAll, type Refused } from "../core/plan-all.ts"
import type { Effect } from "../core/rule.ts"
import { type GlobalFile, idsOf, type Wish, type World } from "../core/world.ts"
import { isFileProblem, readConfigFile, writeObstacle } from "../files/config-file.ts"
import type { Request } from "../tool/input.ts"
import { nearNames } from "../tool/near.ts"
import {
  agentNotFound,
  configUnsupported,
  fileProblem,
  isProblem,
  type Problem,
  registryUnavailable,
  scopeUnsupported,
  sidecarUnsupported,
} from "../tool/problems.ts"
import type { Reason } from "../tool/vocabulary.ts"
import { dialectFor, dialectsFor, globalFiles, preferredFiles, targetFile } from "./global-files.ts"
import { manualAgentRule, manualRules } from "./manual.ts"
import { explainMissing } from "./namesakes.ts"
import type { Host } from "./ports.ts"
import { reconciliation } from "./reconcile.ts"
import { readSidecar, type Sidecar } from "./records.ts"
import { refusal } from "./refusal.ts"
import { findTargets, type Targets } from "./targets.ts"
import { undoing } from "./undo.ts"
import { type Agent, deniedByHost, lookAround, rulesetsAfter, type Scene } from "./world.ts"

/** One skill of a change, with the caller's effects. */
export interface Target {
  readonly id: string
  readonly path: string | null
  readonly before: Effect
  readonly after: Effect
  readonly reason: Reason
  readonly changed: boolean
}

/** Host, files and records at one moment: what a change is planned on. */
export interface Ground {
  readonly request: Request
  readonly scene: Scene
  readonly caller: Agent
  readonly sidecar: Sidecar
  readonly world: World
}

/** All that one rehearsal found out. */
export interface Rehearsal extends Ground {
  readonly draft: Draft
  readonly targets: readonly Target[]
  /** The change that an `undo` takes back. */
  readonly undoes?: string
}

/** Looks at host and files, and plans. Writes nothing. */
export async function rehearse(host: Host, request: Request): Promise<Rehearsal | Problem> {
  const scene = await lookAround(host)
  if (isProblem(scene)) return scene
  const sidecar = await readSidecar(host)
  const targets =
    request.action === "disable" || request.action === "enable" ? findTargets(scene, request, sidecar) : null
  if (targets && isProblem(targets)) return explainMissing(scene, targets, request)
  if (request.agent !== undefined) return scopeProblem(scene, request, request.agent, targets?.wishes ?? [])
  if (!scene.caller) return registryUnavailable()
  if (sidecar.error !== null) return sidecarUnsupported(sidecar.path, sidecar.error)
  const misread = await misreadFile(globalFiles(host, scene.observation))
  if (misread) return misread
  const ground: Ground = { request, scene, caller: scene.caller, sidecar, world: worldOf(scene, sidecar) }
  const planned = targets ? changing(ground, targets) : await otherDraft(ground)
  if (isProblem(planned)) return planned
  const obstacle = await fileObstacle(planned.draft)
  return obstacle ?? { ...ground, ...planned }
}

interface Planned {
  readonly draft: Draft
  readonly targets: readonly Target[]
  readonly undoes?: string
}

async function otherDraft(ground: Ground): Promise<Planned | Problem> {
  const broken = worldProblem(ground.world)
  if (broken) return refusal(broken, null, ground.caller.id, ground.scene.host, null)
  if (ground.request.action === "undo") {
    const found = await undoing(ground)
    return isProblem(found) ? found : { ...found, targets: targetsOf(ground, found.draft) }
  }
  const found = reconciliation(ground)
  if (isProblem(found)) return found
  const left = found.leftOut.map((id) => targetOf(ground, null, id, "protected", false))
  return { draft: found.draft, targets: [...targetsOf(ground, found.draft), ...left] }
}

/** `disable` and `enable`: one rule for each skill. What was named by what it has in common may leave some out. */
function changing(ground: Ground, { wishes, leftOut, loose }: Targets): Planned | Problem {
  const draft = planAll(ground.world, wishes)
  const left = (ids: readonly { id: string; reason: "protected" | "not_expressible" }[]) =>
    ids.map(({ id, reason }) => targetOf(ground, null, id, reason, false))
  if (!("refused" in draft)) return { draft, targets: inOrder([...targetsOf(ground, draft), ...left(leftOut)]) }
  const inexpressible = new Set(
    draft.refused.filter(({ problem }) => problem.kind === "id_not_expressible").map(({ wish }) => wish.id),
  )
  if (!loose || inexpressible.size < draft.refused.length || inexpressible.size === 0)
    return refusedChange(ground, draft.refused)
  return changing(ground, {
    wishes: wishes.filter(({ id }) => !inexpressible.has(id)),
    leftOut: [...leftOut, ...[...inexpressible].map((id) => ({ id, reason: "not_expressible" as const }))],
    loose,
  })
}

const SHOWN = 20

function refusedChange({ scene, caller }: Ground, refused: readonly Refused[]): Problem {
  const [first, second] = refused
  if (!first) throw new Error("a refused change names what it refuses")
  const { host } = scene
  const { file, dialect } = placeFor(scene, first.wish.id)
  const text = manualRules(dialect, [first.wish.id], first.wish.effect)
  const problem = refusal(first.problem, first.wish, caller.id, host, { file, text })
  if (!second) return problem
  const all = refused.map(({ wish, problem: { kind } }) => ({ id: wish.id, code: kind }))
  return {
    ...problem,
    data: {
      ...problem.data,
      refused: all.slice(0, SHOWN),
      ...(all.length > SHOWN && { refusedTruncated: { shown: SHOWN, total: all.length } }),
    },
  }
}

/** Where a person would write a rule for an id by hand. */
export function placeFor(scene: Scene, id?: string) {
  const { host, observation } = scene
  const { file } = targetFile(host, globalFiles(host, observation), id)
  return { file: file.path, dialect: dialectFor(host, file, observation.configJson).dialect }
}

function scopeProblem(scene: Scene, request: Request, agent: string, wishes: readonly Wish[]): Problem {
  const names = scene.agents.map(({ id }) => id)
  if (!names.includes(agent)) return agentNotFound(agent, nearNames(agent, names))
  const ids = wishes.map(({ id }) => id)
  const { file, dialect } = placeFor(scene, ids[0])
  const text = manualAgentRule(dialect, agent, ids, wishes[0]?.effect ?? "deny")
  return scopeUnsupported(request.action, agent, { file, text })
}

const targetsOf = (ground: Ground, draft: Draft): Target[] =>
  draft.targets.flatMap((target) =>
    idsOf(target.wish).map((id) => targetOf(ground, draft, id, reasonOf(ground, target), target.reason !== null)),
  )

function targetOf(ground: Ground, draft: Draft | null, id: string, reason: Reason, changed: boolean): Target {
  const outcome = draft?.outcomes.find(({ agent }) => agent.id === ground.caller.id)
  const before = outcome ? decide(outcome.before, id).effect : decide(ground.caller.now, id).effect
  return {
    id,
    path: ground.scene.skills.find((skill) => skill.id === id)?.path ?? null,
    before,
    after: outcome ? decide(outcome.after, id).effect : before,
    reason,
    changed,
  }
}

function reasonOf({ caller }: Ground, { wish, reason }: PlannedTarget): Reason {
  if (reason !== null) return reason
  if (wish.effect === "allow") return "already_enabled"
  return deniedByHost(caller, wish.id) ? "already_denied_by_agent" : "already_disabled"
}

const inOrder = (targets: readonly Target[]): Target[] => [...targets].sort((a, b) => compareIds(a.id, b.id))

function worldOf(scene: Scene, sidecar: Sidecar): World {
  const { host, observation } = scene
  return {
    generation: host.generation,
    agents: scene.agents.map((agent) => ({
      id: agent.id,
      hidden: agent.hidden,
      deniedByHost: deniedByHost(agent, ""),
    })),
    caller: scene.caller?.id ?? "",
    skills: scene.skills.flatMap((skill) => skill.id ?? []),
    files: globalFiles(host, observation),
    records: sidecar.records,
    read: (file, text) => observation.read(file.name, text),
    dialectsFor: (file) => dialectsFor(host, file, observation.configJson),
    preference: (candidates) => preferredFiles(host, candidates),
    rulesets: (texts) => rulesetsAfter(scene, texts),
  }
}

/** What would stop the write is said in the rehearsal already. */
async function fileObstacle(draft: Draft): Promise<Problem | null> {
  for (const { file } of draft.changes) {
    const found = await writeObstacle(file.path)
    if (found) return fileProblem(found)
  }
  return null
}

/**
 * A global file that is there but cannot be read is not walked around: its rules may be the ones that count. Where one in
 * another encoding does not parse, that is not for want of a comma. Nor is anything concluded from a text that is another
 * one now.
 */
async function misreadFile(files: readonly GlobalFile[]): Promise<Problem | null> {
  for (const { path, text } of files) {
    const found = await readConfigFile(path)
    if (isFileProblem(found)) return fileProblem(found)
    if (text?.error && found.lossy) return configUnsupported({ file: path, reason: "not_utf8" })
    if (found.text !== (text?.raw ?? null))
      return fileProblem({ kind: "config_changed", file: path, reason: "hash_differs" })
  }
  return null
}
