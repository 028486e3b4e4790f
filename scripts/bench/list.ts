import { writeFileSync } from "node:fs"
import { type OpenHost, openHost } from "./host.ts"
import { sideBySide } from "./side-by-side.ts"
import { configOf, rulesetsOf, type Size, skillsOf } from "./world.ts"

const ROUNDS = 41

/**
 * How many times as long as writing all its rows as JSON a whole `list` takes: host, files, evaluation, first page. It
 * is one call of many: the config is the one that the calls before it have seen, or it was `edited` since.
 */
export async function list(size: Size, edited = false): Promise<number> {
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
      if (edited) writeFileSync(host.configFile, `// ${round}\n${configOf(size)}`)
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
