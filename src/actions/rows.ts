import { sep } from "node:path"
import { upwards } from "../files/locations.ts"
import type { Row } from "../tool/answer-schema.ts"
import type { Source } from "../tool/vocabulary.ts"
import type { Host, HostSkill } from "./ports.ts"
import { unlistedReason } from "./prompt.ts"
import { type Scene, stateIn } from "./world.ts"

/** One skill as the caller sees it, description whole. */
export type FullRow = Required<Omit<Row, "unlisted" | "pending" | "truncated">> & Pick<Row, "unlisted" | "pending">

export function rowsOf(scene: Scene): (skill: HostSkill) => FullRow {
  const { caller, next, host } = scene
  const [sourceOf, scopeOf] = [sourcesOf(host), scopesOf(host)]
  return (skill) => {
    const state = stateIn(caller?.now ?? null, skill)
    const pending = next ? stateIn(next, skill) : state
    const unlisted = caller ? unlistedReason(state, caller.skillTool, skill) : null
    return {
      id: skill.id,
      name: skill.name,
      autoinvoke: skill.autoinvoke,
      source: sourceOf(skill),
      scope: scopeOf(skill.path),
      state,
      path: skill.path,
      description: skill.description,
      tokens: unlisted ? 0 : skill.tokens,
      ...(unlisted && { unlisted }),
      ...(pending !== state && { pending }),
    }
  }
}

/** Where a skill comes from, by its place. */
export function sourcesOf(host: Host): (skill: HostSkill) => Source {
  const isConfig = inside(host.configDirectory)
  const isProject = inside(host.directory)
  const isCache = inside(host.cacheDirectory)
  return ({ location, path }) => {
    if (location === "<built-in>" || location?.startsWith("/builtin/")) return "embedded"
    if (!path) return "unknown"
    if (isConfig(path)) return "config"
    if (path.includes("/.claude/skills/")) return "claude"
    if (path.includes("/.agents/skills/")) return "agents"
    if (path.includes("/.opencode/") || isProject(path)) return "project"
    if (path.includes("/node_modules/")) return "plugin"
    return isCache(path) ? "catalog" : "unknown"
  }
}

/** A folder that holds skills for the directory above it. */
const HOLDER = /^(.*?)\/\.(?:opencode|claude|agents)\//

/** Whose skill it is, by the directory above the folder that holds it. */
export function scopesOf(host: Host): (path: string | null) => "user" | "project" {
  const roots = (host.worktree === "/" ? [host.directory] : upwards(host.directory, host.worktree)).filter(
    (root) => root !== host.home && root !== "/",
  )
  const isConfig = inside(host.configDirectory)
  const isProject = roots.map(inside)
  return (path) => {
    if (!path || isConfig(path)) return "user"
    const owner = HOLDER.exec(path)?.[1]
    if (owner !== undefined) return roots.includes(owner) ? "project" : "user"
    return isProject.some((is) => is(path)) ? "project" : "user"
  }
}

function inside(directory: string): (path: string) => boolean {
  const start = directory.endsWith(sep) ? directory : directory + sep
  return (path) => path.startsWith(start)
}
