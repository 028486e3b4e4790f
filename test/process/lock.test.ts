// A lock between processes, whose holder is gone.
import { mkdir, readdir, rm, utimes } from "node:fs/promises"
import { join } from "node:path"
import { afterEach, expect, test } from "vitest"
import type { WaiterJob, WaiterReport } from "./lock-waiter.ts"
import { endAll, ready, told } from "./run-child.ts"
import { makePlace, type Place } from "./world.ts"

const WAITERS = 5

let place: Place
afterEach(async () => {
  endAll()
  await rm(place.root, { recursive: true, force: true })
})

test("those who wait for a holder that is gone take turns, each alone", { timeout: 120_000 }, async () => {
  place = await makePlace({})
  const job: WaiterJob = { directory: join(place.root, "locks"), key: "key" }
  const held = join(job.directory, "key.lock")
  await mkdir(held, { recursive: true })
  const waiters = await Promise.all(
    Array.from({ length: WAITERS }, () => ready(new URL("lock-waiter.ts", import.meta.url), place.env, job)),
  )
  const past = new Date(Date.now() - 60_000)
  await utimes(held, past, past)
  const reports = await Promise.all(waiters.map((waiter) => told<WaiterReport>(waiter)))
  expect(reports).toEqual(Array.from({ length: WAITERS }, () => ({ turn: true, met: false })))
  expect(await readdir(job.directory)).toEqual([])
})
