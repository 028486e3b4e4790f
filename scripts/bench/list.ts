import { firstList, installationOf } from "./anew.ts"
import { type OpenHost, openHost } from "./host.ts"
import { median, sideBySide, timed } from "./side-by-side.ts"
import type { Size } from "./world.ts"

const ROUNDS = 41
const FIRST_ROUNDS = 15

/**
 * How many times as long as writing all its rows as JSON a whole `list` takes: host, files, evaluation, first page. It
 * is one call of many in a world that stays as it is.
 */
export async function list(size: Size): Promise<number> {
  await using host = await openHost(installationOf(size))
  const whole = await wholeOf(host, size)
  const { ours, theirs } = await sideBySide(
    ROUNDS,
    () => host.call({ action: "list" }),
    () => JSON.stringify(whole),
  )
  return ours / theirs
}

/** The same for the first call in a world that nobody has met. */
export async function listAnew(size: Size): Promise<number> {
  const whole = await (async () => {
    await using host = await openHost(installationOf(size))
    return wholeOf(host, size)
  })()
  const times = { ours: [] as number[], theirs: [] as number[] }
  for (let round = 0; round < FIRST_ROUNDS; round++) {
    times.ours.push(await firstList(size, round))
    times.theirs.push(await timed(() => JSON.stringify(whole)))
  }
  return median(times.ours) / median(times.theirs)
}

async function wholeOf({ call }: OpenHost, { skills }: Size) {
  const whole = { ...(await call({ action: "list" })), skills: await allRows(call) }
  if (whole.skills.length !== skills) throw new Error("rows are missing")
  return whole
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
