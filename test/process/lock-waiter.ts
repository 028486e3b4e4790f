// A process that waits for a lock on a slow disk. Argument: a JSON job. Says "ready", waits for a word, and tells what it
// saw.
import { once } from "node:events"
import { open, unlink } from "node:fs/promises"
import { createRequire, syncBuiltinESMExports } from "node:module"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"

export interface WaiterJob {
  readonly directory: string
  readonly key: string
}

export interface WaiterReport {
  readonly turn: boolean
  /** Someone else was inside at the same time. */
  readonly met: boolean
}

/** Long enough for the others to do something between a look at a lock and its removal. */
const SLOW_MS = 300

const fs = createRequire(import.meta.url)("node:fs")
const { rmdir, promises } = fs
const { rmdir: rmdirPromised } = promises
fs.rmdir = (path: string, done: () => void) => setTimeout(() => rmdir(path, done), SLOW_MS)
promises.rmdir = (path: string) => sleep(SLOW_MS).then(() => rmdirPromised(path))
syncBuiltinESMExports()

const job: WaiterJob = JSON.parse(process.argv[2] ?? "{}")
const { withLock } = await import("../../src/files/lock.ts")
process.send?.("ready")
await once(process, "message")

const inside = join(job.directory, "..", "inside")
const answer = await withLock(job.directory, job.key, async () => {
  const alone = await open(inside, "wx").then(
    (handle) => handle.close().then(() => true),
    () => false,
  )
  await sleep(SLOW_MS)
  if (alone) await unlink(inside)
  return alone
})
const report: WaiterReport = { turn: answer !== "lock_timeout", met: answer === false }
process.send?.(report, () => process.disconnect())
