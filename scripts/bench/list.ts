import { writeFileSync } from "node:fs"
import { collectGarbage } from "./garbage.ts"
import { type OpenHost, openHost } from "./host.ts"
import { sideBySide } from "./side-by-side.ts"
import { configOf, rulesetsOf, type Size, skillsOf } from "./world.ts"

const ROUNDS = 41

/**
 * How many times as long as writing all its rows as JSON a whole `list` takes: host, files, evaluation, first page. It
 * is one call of many; where it is `anew`, the config is another one than before, and what was kept is gone.
 */
export async function list(size: Size, anew = false): Promise<number> {
  await using host = await openHost({
    skills: skillsOf(size.skills),
    rulesets: rulesetsOf(size),
    config: configOf(size),
  })
  const whole = { ...(await host.call({ action: "list" })), skills: await allRows(host.call) }
  if (whole.skills.length !== size.skills) throw new Error("rows are missing")
  const { ours, theirs } = await sideBySide(
    ROUNDS,
    () => host.call({ action: "list" }),
    () => JSON.stringify(whole),
    (round) => {
      if (!anew) return
      writeFileSync(host.configFile, `// ${round}\n${configOf(size)}`)
      collectGarbage()
    },
  )
  return ours / theirs
}

async function allRows(call: OpenHost["call"]): Promise<unknown[]> {
  const rows: unknown[] = []
  for (let cursor: unknown; cursor !== null; ) {
    const { skills, page } = await call({ action: "list", limit: 500, ...(cursor !== undefined && { cursor }) })
    rows.push(...Object.values(Object(skills)))
    cursor = Object(page).nextCursor
  }
  return rows
}
