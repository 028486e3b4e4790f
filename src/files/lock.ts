import { createHash } from "node:crypto"
import { mkdir, readdir, rmdir, stat } from "node:fs/promises"
import { dirname, join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { codeOf } from "./config-file.ts"

/** How long a call waits for others that change the same config, in milliseconds. */
const WAIT_MS = 20_000
const RETRY_MS = 25
/** A holder that has not renewed its lock for this long is gone. */
const STALE_MS = 10_000

/** The key for one path, which says nothing about it. */
export const lockKey = (realPath: string): string => createHash("sha256").update(realPath).digest("hex").slice(0, 32)

/**
 * Runs `work` while no other call, in this process or another, changes the config behind `key`.
 * Returns `lock_timeout` when the turn did not come in time; the lock is given back after any outcome. Throws
 * `LockUnavailable` when the state directory cannot hold a lock; what `work` throws comes through.
 */
export async function withLock<T>(directory: string, key: string, work: () => Promise<T>): Promise<T | "lock_timeout"> {
  const until = Date.now() + WAIT_MS
  return queue(key, async () => {
    const made = await mkdir(directory, { recursive: true, mode: 0o700 }).catch(unavailable)
    try {
      const release = await acquire(join(directory, key), until)
      if (!release) return "lock_timeout"
      try {
        return await work()
      } finally {
        await release()
      }
    } finally {
      if (made !== undefined) await removeUnused(directory, made).catch(() => {})
    }
  })
}

/** Takes the lock as soon as it is free. Null: not in time. */
async function acquire(path: string, until: number): Promise<(() => Promise<void>) | null> {
  const { lock } = (await import("proper-lockfile")).default
  const held = `${path}.lock`
  for (;;) {
    try {
      const release = await lock(path, {
        realpath: false,
        stale: Number.POSITIVE_INFINITY,
        update: STALE_MS / 2,
        // The library's own handler throws from a timer, into the host's process. Every write compares the file
        // before it replaces it, so a lock that was lost costs a `config_changed`, never a byte.
        onCompromised: () => {},
      })
      // One that was lost is another's by now; one that could not be removed is still ours.
      return () => release().catch((error) => (codeOf(error) === "ERELEASED" ? undefined : rmdir(held).catch(() => {})))
    } catch (error) {
      const code = codeOf(error)
      // Another call's `removeUnused` may have come between.
      if (code === "ENOENT") await mkdir(dirname(path), { recursive: true, mode: 0o700 }).catch(unavailable)
      else if (code !== "ELOCKED") unavailable(error)
    }
    if (Date.now() >= until) return null
    await removeStale(held).catch(unavailable)
    await delay(RETRY_MS * (0.5 + Math.random()))
  }
}

/**
 * Removes the lock of a holder that is gone. One waiter at a time: the library lets two of them find it stale, and the
 * slower one then removes the lock that the faster one has taken since (measured: 2 of 100 times with seven waiters).
 */
async function removeStale(held: string): Promise<void> {
  if (!(await isStale(held))) return
  const guard = `${held}.stale`
  try {
    await mkdir(guard)
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error
    // Whoever made it may have died here.
    if (await isStale(guard)) await rmdir(guard).catch(gone)
    return
  }
  try {
    if (await isStale(held)) await rmdir(held).catch(gone)
  } finally {
    await rmdir(guard).catch(gone)
  }
}

const isStale = async (path: string): Promise<boolean> => {
  const found = await stat(path).catch(gone)
  return found !== undefined && found.mtimeMs < Date.now() - STALE_MS
}

/** The answer of a call about a directory that is not there any more; any other failure is one. */
function gone(error: unknown): undefined {
  if (codeOf(error) !== "ENOENT") throw error
}

/** Directories that were made for the lock alone go again, when nothing was written beside it. */
async function removeUnused(directory: string, made: string): Promise<void> {
  if ((await readdir(dirname(directory))).length > 1) return
  for (let at = directory; at.length >= made.length; at = dirname(at)) await rmdir(at)
}

export class LockUnavailable extends Error {
  readonly code: string
  constructor(code: string) {
    super("the lock cannot be made")
    this.code = code
  }
}

const unavailable = (error: unknown): never => {
  throw new LockUnavailable(codeOf(error))
}

/** Calls of one process take turns without polling each other; one whose turn does not come in time gives it up. */
const tails = new Map<string, Promise<unknown>>()

async function queue<T>(key: string, work: () => Promise<T>): Promise<T | "lock_timeout"> {
  let state: "waiting" | "begun" | "late" = "waiting"
  const turn = async (): Promise<T | "lock_timeout"> => {
    if (state === "late") return "lock_timeout"
    state = "begun"
    return work()
  }
  const mine = (tails.get(key) ?? Promise.resolve()).then(turn, turn)
  tails.set(key, mine)
  const leave = () => {
    if (tails.get(key) === mine) tails.delete(key)
  }
  mine.then(leave, leave)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<"lock_timeout">((resolve) => {
    timer = setTimeout(() => {
      if (state !== "waiting") return
      state = "late"
      resolve("lock_timeout")
    }, WAIT_MS)
  })
  return Promise.race([mine, late]).finally(() => clearTimeout(timer))
}
