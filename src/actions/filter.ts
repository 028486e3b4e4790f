import { compilePattern } from "../core/wildcard.ts"
import type { Request } from "../tool/input.ts"
import type { FullRow } from "./rows.ts"
import { stateOf } from "./world.ts"

/** Whether a row has every trait that the call names by `match`, `where` and `query`. */
export function keeps({ match, where, query }: Request): (row: FullRow) => boolean {
  const [ids, paths] = [match, where?.path].map((pattern) =>
    pattern === undefined ? undefined : compilePattern(pattern),
  )
  const wanted = query?.toLowerCase()
  return (row) => {
    if (ids && !(row.id !== null && ids.matches(row.id))) return false
    if (where?.source !== undefined && row.source !== where.source) return false
    if (where?.scope !== undefined && row.scope !== where.scope) return false
    if (where?.state !== undefined && row.state !== asState(where.state)) return false
    if (paths && !(row.path !== null && paths.matches(row.path))) return false
    if (wanted === undefined) return true
    return [row.id, row.name, row.description, row.path].some((text) => text?.toLowerCase().includes(wanted))
  }
}

const asState = (word: string): string => (word === "allow" || word === "deny" ? stateOf(word) : word)
