import { join, relative, sep } from "node:path"
import { upwards } from "../files/locations.ts"
import type { Row } from "../tool/answer-schema.ts"
import type { Source } from "../tool/vocabulary.ts"
import type { Host, HostSkill } from "./ports.ts"
import { promptTokens, type Scene, stateIn, unlistedReason } from "./world.ts"

/** One skill as the caller sees it, description whole. */
export type FullRow = Required<Omit<Row, "unlisted" | "pending" | "truncated">> & Pick<Row, "unlisted" | "pending">

export function rowOf(scene: Scene, skill: HostSkill): FullRow {
  const { caller, host } = scene
  const state = stateIn(caller?.now ?? null, skill)
  const pending = caller?.next ? stateIn(caller.next, skill) : state
  const unlisted = caller ? unlistedReason(caller.now, caller.skillTool, skill) : null
  return {
    id: skill.id,
    name: skill.name,
    autoinvoke: skill.autoinvoke,
    source: sourceOf(host, skill),
    scope: scopeOf(host, skill.path),
    state,
    path: skill.path,
    description: skill.description,
    tokens: unlisted ? 0 : promptTokens(skill),
    ...(unlisted && { unlisted }),
    ...(pending !== state && { pending }),
  }
}

function sourceOf(host: Host, skill: HostSkill): Source {
  const { location, path } = skill
  if (location === "<built-in>" || location?.startsWith("/builtin/")) return "embedded"
  if (!path) return "unknown"
  if (isInside(path, host.configDirectory)) return "config"
  if (path.includes("/.claude/skills/")) return "claude"
  if (path.includes("/.agents/skills/")) return "agents"
  if (path.includes("/.opencode/") || isInside(path, host.directory)) return "project"
  if (path.includes("/node_modules/")) return "plugin"
  return isInside(path, host.cacheDirectory) ? "catalog" : "unknown"
}

/** A folder that holds skills for the directory above it. */
const HOLDER = /^(.*?)\/\.(?:opencode|claude|agents)\//

function scopeOf(host: Host, path: string | null): "user" | "project" {
  if (!path || isInside(path, host.configDirectory)) return "user"
  const roots = (host.worktree === "/" ? [host.directory] : upwards(host.directory, host.worktree)).filter(
    (root) => root !== host.home && root !== "/",
  )
  const owner = HOLDER.exec(path)?.[1]
  if (owner !== undefined) return roots.includes(owner) ? "project" : "user"
  return roots.some((root) => isInside(path, root)) ? "project" : "user"
}

export const isInside = (path: string, directory: string): boolean => {
  const way = relative(directory, path)
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && way !== join(path)
}
