import { realpath } from "node:fs/promises"
import { findSkillFiles, type SkillFile } from "../files/skill-search.ts"
import { cut } from "../tool/budget.ts"
import type { Request } from "../tool/input.ts"
import { type Problem, skillNotFound, unregisteredWhy } from "../tool/problems.ts"
import { suggestions } from "./find-skill.ts"
import type { HostSkill } from "./ports.ts"
import type { Scene } from "./world.ts"

const MAX_ROOTS = 20
const MAX_FILES = 10
const MAX_SUGGESTIONS = 3

async function namesakes({ host, skills }: Scene, wanted: string): Promise<SkillFile[]> {
  const registered = skills.flatMap(({ path, id }) => (path === null || id === null ? [] : [[path, id] as const]))
  return findSkillFiles(await host.skillRoots(), wanted, host.judgeSkill, new Map(registered))
}

/** Other files that claim a registered skill's id, in the order in which the host searches. */
export async function duplicatesOf(scene: Scene, skill: HostSkill, realPath: string | null): Promise<string[]> {
  if (skill.id === null) return []
  const files = await namesakes(scene, skill.id)
  const others = files.filter(
    (file) => file.id === skill.id && file.fault === null && file.path !== skill.path && file.realPath !== realPath,
  )
  return others.filter((file, at) => firstOf(others, file) === at).map(({ path }) => path)
}

const firstOf = (files: readonly SkillFile[], { realPath }: SkillFile): number =>
  files.findIndex((other) => other.realPath === realPath)

/** `skill_not_found` with all that the disk knows: where was looked, and the files of that name, each with its reason. */
export async function explainMissing(scene: Scene, problem: Problem, request: Request): Promise<Problem> {
  if (problem.code !== "skill_not_found") return problem
  const unknown = [request.id, ...(request.ids ?? [])].filter(
    (id) => id !== undefined && !scene.skills.some((skill) => skill.id === id),
  )
  const [wanted = request.name ?? "", second] = unknown
  if (second !== undefined) return problem
  const roots = (await scene.host.skillRoots()).filter(({ off }) => !off)
  const found = await namesakes(scene, wanted)
  const registered = found.length > 0 ? await registeredFiles(scene.skills) : new Map<string, string>()
  const ids = new Set(registered.values())
  const files = found.map(({ path, realPath, id, fault }) => {
    const own = registered.get(path) ?? registered.get(realPath)
    const clash = id !== null && ids.has(id) ? "name_clash" : "not_registered"
    return { path, own, why: unregisteredWhy(own === undefined ? (fault ?? clash) : "other_name", own ?? id ?? "") }
  })
  const known = files.flatMap(({ own }) => own ?? [])
  const names = [...new Set([...known, ...suggestions(scene.skills, wanted)])].slice(0, MAX_SUGGESTIONS)
  return skillNotFound(wanted, names, {
    ...cut(
      "searched",
      roots.map(({ directory }) => directory),
      MAX_ROOTS,
    ),
    ...cut(
      "unregistered",
      files.map(({ path, why }) => ({ path, why })),
      MAX_FILES,
    ),
  })
}

/** The id of each registered file, by its path and by where that leads. */
async function registeredFiles(skills: readonly HostSkill[]): Promise<Map<string, string>> {
  const files = new Map<string, string>()
  for (const { path, id } of skills) {
    if (path === null || id === null) continue
    files.set(path, id)
    files.set(await realpath(path).catch(() => path), id)
  }
  return files
}
