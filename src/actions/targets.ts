import { findExact } from "../core/candidates.ts"
import { compareIds } from "../core/order.ts"
import type { Effect } from "../core/rule.ts"
import { compilePattern, isLiteral } from "../core/wildcard.ts"
import type { Wish } from "../core/world.ts"
import type { Request } from "../tool/input.ts"
import { nearNames } from "../tool/near.ts"
import {
  isProblem,
  noMatch,
  type Problem,
  protectedSkills,
  registryUnavailable,
  skillNotFound,
  skillsNotFound,
} from "../tool/problems.ts"
import { keeps } from "./filter.ts"
import { findSkill, suggestions } from "./find-skill.ts"
import { globalFiles } from "./global-files.ts"
import type { Host } from "./ports.ts"
import type { Sidecar } from "./records.ts"
import type { Scene } from "./world.ts"

/** What a call wants of which skills, in the order of their ids. */
export interface Targets {
  readonly wishes: readonly Wish[]
  /** Skills that a pattern or a trait covers, but that are left as they are. */
  readonly leftOut: readonly { readonly id: string; readonly reason: "protected" | "not_expressible" }[]
  /** The call names its skills by what they have in common, so that some of them may be left out. */
  readonly loose: boolean
}

/** The skills that a call names, by `id`, `name`, `ids`, or `match` and `where`. */
export function findTargets(scene: Scene, request: Request, sidecar: Sidecar): Targets | Problem {
  const effect: Effect = request.action === "enable" ? "allow" : (request.effect ?? "deny")
  const loose = request.match !== undefined || request.where !== undefined
  const found = loose ? matching(scene, request) : named(scene, request, sidecar)
  if (isProblem(found)) return found
  const ids = [...new Set(found)]
  const guarded = protectedAmong(scene.host, ids)
  const asPattern = request.rule === "pattern"
  if (guarded.length > 0 && (!loose || asPattern)) return protectedSkills(guarded)
  const free = ids.filter((id) => !guarded.includes(id))
  return {
    wishes: asPattern ? [{ id: request.match ?? "", effect, covers: free }] : free.map((id) => ({ id, effect })),
    leftOut: guarded.map((id) => ({ id, reason: "protected" })),
    loose,
  }
}

/** The ids that the plugin's options protect. */
export function protectedAmong({ options }: Host, ids: readonly string[]): string[] {
  const guards = options.protect.map(compilePattern)
  return ids.filter((id) => guards.some((guard) => guard.matches(id)))
}

function matching(scene: Scene, request: Request): string[] | Problem {
  const ids = scene.skills.filter(keeps(scene, request)).flatMap((skill) => skill.id ?? [])
  if (ids.length > 0) return ids.sort(compareIds)
  const bare = request.match?.replace(/[*?]/g, "") ?? ""
  return noMatch(
    bare === ""
      ? []
      : nearNames(
          bare,
          scene.skills.flatMap((skill) => skill.id ?? []),
        ),
  )
}

function named(scene: Scene, request: Request, sidecar: Sidecar): string[] | Problem {
  const gone = (id: string): boolean => request.action === "enable" && isRuled(scene, sidecar, id)
  if (request.ids === undefined) {
    const skill = findSkill(scene.skills, request)
    if (!isProblem(skill)) return skill.id === null ? registryUnavailable() : [skill.id]
    const { id, name } = request
    return skill.code === "skill_not_found" && id !== undefined && name === undefined && gone(id) ? [id] : skill
  }
  const registered = new Set(scene.skills.map(({ id }) => id))
  const unknown = request.ids.filter((id) => !registered.has(id) && !gone(id))
  const [first] = unknown
  if (first === undefined) return [...request.ids].sort(compareIds)
  const near = (id: string) => suggestions(scene.skills, id)
  return unknown.length === 1 ? skillNotFound(first, near(first)) : skillsNotFound(unknown, near)
}

/** `enable` also works for a skill that is gone, as long as a rule or a record still names it. */
function isRuled(scene: Scene, sidecar: Sidecar, id: string): boolean {
  const { host, observation } = scene
  if (sidecar.records.some((record) => record.id === id && record.generation === host.generation)) return true
  // A broad rule is nobody's exact rule, whatever the registry holds.
  return isLiteral(id) && findExact(globalFiles(host, observation), id).length > 0
}
