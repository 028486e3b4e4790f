import { compilePattern } from "../core/wildcard.ts"
import type { Request } from "../tool/input.ts"
import type { HostSkill } from "./ports.ts"
import { scopesOf, sourcesOf } from "./rows.ts"
import { type Scene, stateIn, stateOf } from "./world.ts"

/** Whether a skill has every trait that the call names by `match`, `where` and `query`. */
export function keeps({ host, caller }: Scene, { match, where, query }: Request): (skill: HostSkill) => boolean {
  const [ids, paths] = [match, where?.path].map((pattern) =>
    pattern === undefined ? undefined : compilePattern(pattern),
  )
  const [sourceOf, scopeOf] = [sourcesOf(host), scopesOf(host)]
  const wanted = query?.toLowerCase()
  return (skill) => {
    const { id, name, description, path } = skill
    if (ids && !(id !== null && ids.matches(id))) return false
    if (where?.source !== undefined && sourceOf(skill) !== where.source) return false
    if (where?.scope !== undefined && scopeOf(path) !== where.scope) return false
    if (where?.state !== undefined && stateIn(caller?.now ?? null, skill) !== asState(where.state)) return false
    if (paths && !(path !== null && paths.matches(path))) return false
    if (wanted === undefined) return true
    return [id, name, description, path].some((text) => text?.toLowerCase().includes(wanted))
  }
}

const asState = (word: string): string => (word === "allow" || word === "deny" ? stateOf(word) : word)
