import { join } from "node:path"
import { findExact } from "../core/candidates.ts"
import type { Plan, PlanResult } from "../core/plan.ts"
import { planChange } from "../core/plan.ts"
import type { Effect } from "../core/rule.ts"
import { isLiteral } from "../core/wildcard.ts"
import type { Wish, World } from "../core/world.ts"
import { isFileProblem, readConfigFile, writeObstacle } from "../files/config-file.ts"
import type { Request } from "../tool/input.ts"
import { nearNames } from "../tool/near.ts"
import {
  agentNotFound,
  fileProblem,
  isProblem,
  type Problem,
  registryUnavailable,
  scopeUnsupported,
  sidecarUnsupported,
} from "../tool/problems.ts"
import { findSkill } from "./find-skill.ts"
import { dialectFor, dialectsFor, globalFiles, preferredFiles, targetFile } from "./global-files.ts"
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

/** Looks at host and files, and plans. Writes nothing. */
export async function rehearse(host: Host, request: Request): Promise<Rehearsal | Problem> {
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
    const names = scene.agents.map(({ id }) => id)
    if (!names.includes(request.agent)) return agentNotFound(request.agent, nearNames(request.agent, names))
    const { file } = targetFile(host, files, wish.id)
    const { dialect } = dialectFor(host, file, scene.observation.configJson)
    const text = manualAgentRule(dialect, request.agent, wish.id, effect)
    return scopeUnsupported(request.action, request.agent, { file: file.path, text })
  }
  if (!caller) return registryUnavailable()
  if (sidecar.error !== null) return sidecarUnsupported(sidecar.path, sidecar.error)
  const unreadable = await unreadableFile(host)
  if (unreadable) return unreadable
  const world = worldOf(scene, sidecar, wish)
  const result = planChange(world, wish)
  if (result.kind !== "change" && result.kind !== "unchanged") {
    const { file } = targetFile(host, files, wish.id)
    const text = manualRule(dialectFor(host, file, scene.observation.configJson).dialect, wish.id, effect)
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
  // A broad rule is nobody's exact rule, whatever the registry holds.
  if (!recorded && !isLiteral(gone)) return skill
  const ruled = findExact(globalFiles(scene.host, scene.observation), gone).length > 0
  return recorded || ruled ? { id: gone, skill: null } : skill
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
    dialectsFor: (file) => dialectsFor(host, file, observation.configJson),
    preference: (candidates) => preferredFiles(host, candidates),
    rulesets: (texts) => rulesetsAfter(scene, texts),
  }
}

/** What would stop the write is said in the rehearsal already. */
async function fileObstacle(plan: Plan): Promise<Problem | null> {
  for (const { file } of plan.changes) {
    const found = await writeObstacle(file.path)
    if (found) return fileProblem(found)
  }
  return null
}

/** A global file that is there but cannot be read is not walked around: its rules may be the ones that count. */
async function unreadableFile(host: Host): Promise<Problem | null> {
  for (const name of host.globalNames) {
    const found = await readConfigFile(join(host.configDirectory, name))
    if (isFileProblem(found)) return fileProblem(found)
  }
  return null
}
