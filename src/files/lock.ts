import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { codeOf } from "./config-file.ts"

/** How long a call waits for others that change the same config, in milliseconds. */
const WAIT_MS = 20_000
const RETRY_MS = 25
/** A holder that has not renewed its lock for this long is gone. */
const STALE_MS = 10_000

/**
 * Runs `work` while no other call, in this process or another, changes the config behind `key`.
 * Returns `lock_timeout` when the turn did not come in time; the lock is given back after any outcome. Throws
 * `LockUnavailable` when the state directory cannot hold a lock; what `work` throws comes through.
 */
export async function withLock<T>(directory: string, key: string, work: () => Promise<T>): Promise<T | "lock_timeout"> {
  return queue(key, async () => {
    const { lock } = (await import("proper-lockfile")).default
    await mkdir(directory, { recursive: true, mode: 0o700 }).catch(unavailable)
    const release = await lock(join(directory, key), {
      realpath: false,
      stale: STALE_MS,
      retries: { retries: WAIT_MS / RETRY_MS, factor: 1, minTimeout: RETRY_MS, maxTimeout: RETRY_MS, randomize: true },
      // The library's own handler throws from a timer, into the host's process. Every write compares the file
      // before it replaces it, so a lock that was lost costs a `config_changed`, never a byte.
      onCompromised: () => {},
    }).catch((error: unknown) => {
      return codeOf(error) === "ELOCKED" ? null : unavailable(error)
    })
    if (!release) return "lock_timeout"
    try {
      return await work()
    } finally {
      await release().catch(() => {})
    }
  })
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
