import { type OpenHost, openHost } from "./host.ts"
import { sideBySide } from "./side-by-side.ts"
import { configOf, rulesetsOf, type Size, skillsOf } from "./world.ts"

const ROUNDS = 15

/** How many times as long as writing all its rows as JSON a whole `list` takes: host, files, evaluation, first page. */
export async function list(size: Size): Promise<number> {
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
