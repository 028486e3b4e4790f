import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import lockfile from "proper-lockfile"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { withLock } from "../../src/files/lock.ts"
import { asUser } from "../actions/both-hosts.ts"

let root: string
let count = 0
beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "lock-")))
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** A lock of its own for each test: they run at the same time. */
const fresh = () => {
  const directory = join(root, `locks-${++count}`)
  const key = `key-${count}`
  return { directory, key, path: join(directory, key), held: join(directory, `${key}.lock`) }
}

/** Holds the lock as another process does: past the queue of this one. */
async function otherHolder({ directory, path }: { directory: string; path: string }) {
  mkdirSync(directory, { recursive: true })
  return lockfile.lock(path, { realpath: false, stale: 10_000, update: 1_000 })
}

describe.concurrent("a lock", () => {
  it("gives back what the work answers, and leaves nothing behind", async ({ expect }) => {
    const { directory, key } = fresh()
    expect(await withLock(directory, key, async () => readdirSync(directory))).toEqual([`${key}.lock`])
    expect(readdirSync(directory)).toEqual([])
    expect(statSync(directory).mode & 0o777).toBe(0o700)
  })

  it("its directories go again when nothing was written beside it, whatever came of the work", async ({ expect }) => {
    const key = `key-${++count}`
    const home = join(root, `home-${count}`)
    mkdirSync(home)
    const state = join(home, "state", "opencode")
    const directory = join(state, "locks")
    await withLock(directory, key, async () => "refused")
    expect(readdirSync(home)).toEqual([])
    const failing = withLock(directory, key, () => Promise.reject(new RangeError("work")))
    await expect(failing).rejects.toThrow(RangeError)
    expect(readdirSync(home)).toEqual([])
    await withLock(directory, key, async () => writeFileSync(join(state, "journal"), ""))
    expect(readdirSync(state).sort()).toEqual(["journal", "locks"])
  })

  it("comes also when another call takes the directories away meanwhile", async ({ expect }) => {
    const directory = join(root, `home-${++count}`, "locks")
    const calls = Array.from({ length: 20 }, (_, i) => withLock(directory, `key-${count}-${i}`, async () => i))
    expect(await Promise.all(calls)).toEqual(calls.map((_, i) => i))
  })

  it("two holders in one process take turns, in the order in which they came", async ({ expect }) => {
    const { directory, key } = fresh()
    const order: string[] = []
    const work = (name: string) => async () => {
      order.push(`${name} in`)
      await sleep(20)
      order.push(`${name} out`)
      return name
    }
    const names = ["a", "b", "c", "d"]
    expect(await Promise.all(names.map((name) => withLock(directory, key, work(name))))).toEqual(names)
    expect(order).toEqual(names.flatMap((name) => [`${name} in`, `${name} out`]))
  })

  it("a holder in another process is waited for", async ({ expect }) => {
    const lock = fresh()
    const release = await otherHolder(lock)
    let released = false
    const turn = withLock(lock.directory, lock.key, async () => released)
    await sleep(300)
    released = true
    await release()
    expect(await turn).toBe(true)
  })

  it("other keys do not wait", async ({ expect }) => {
    const { directory } = fresh()
    const inside = await withLock(directory, "one", () =>
      withLock(directory, "two", async () => readdirSync(directory).sort()),
    )
    expect(inside).toEqual(["one.lock", "two.lock"])
  })

  it("is given back when the work fails, and the next one has its turn", async ({ expect }) => {
    const { directory, key } = fresh()
    const failing = withLock(directory, key, async () => {
      throw new RangeError("work")
    })
    const next = withLock(directory, key, async () => "next")
    await expect(failing).rejects.toThrow(RangeError)
    expect(await next).toBe("next")
    expect(readdirSync(directory)).toEqual([])
  })

  it("a stale one is taken over", async ({ expect }) => {
    const { directory, key, held } = fresh()
    mkdirSync(held, { recursive: true })
    const longAgo = new Date(Date.now() - 60_000)
    utimesSync(held, longAgo, longAgo)
    expect(await withLock(directory, key, async () => "mine")).toBe("mine")
    expect(readdirSync(directory)).toEqual([])
  })

  it.each(["its directory", "its parent"])("a file in the place of %s fails with a code", async (what) => {
    const parent = join(root, `locks-${++count}`)
    if (what === "its parent") writeFileSync(parent, "a file")
    else writeFileSync(join(mkdirSync(parent, { recursive: true }) ?? parent, "locks"), "a file")
    await expect(withLock(join(parent, "locks"), `never-${count}`, async () => "never")).rejects.toMatchObject({
      code: expect.stringMatching(/^E[A-Z]+$/),
    })
  })

  it("one that is lost while it is held ends neither the work nor the process", async ({ expect }) => {
    const { directory, key, held } = fresh()
    const answer = await withLock(directory, key, async () => {
      rmSync(held, { recursive: true })
      await sleep(6_500)
      return "done"
    })
    expect(answer).toBe("done")
    expect(await withLock(directory, key, async () => "next")).toBe("next")
  }, 20_000)

  it("does not come: the answer is lock_timeout, and the work was not begun", async ({ expect }) => {
    const lock = fresh()
    const release = await otherHolder(lock)
    let begun = false
    const answer = await withLock(lock.directory, lock.key, async () => {
      begun = true
    })
    expect([answer, begun]).toEqual(["lock_timeout", false])
    await release()
    expect(await withLock(lock.directory, lock.key, async () => "next")).toBe("next")
  }, 60_000)

  it("nor behind a call of this process that does not end", async ({ expect }) => {
    const { directory, key } = fresh()
    let end = () => {}
    const stuck = withLock(directory, key, () => new Promise<string>((resolve) => (end = () => resolve("ended"))))
    await sleep(100)
    const waiting = withLock(directory, key, async () => "begun")
    const answer = await Promise.race([waiting, sleep(35_000, "still waiting after 35 s")])
    end()
    expect(answer).toBe("lock_timeout")
    expect(await stuck).toBe("ended")
    await waiting
  }, 60_000)
})

// Not at the same time as others: the process gives its rights up for as long.
it("a lock in a directory that may not be written is not waited for", async () => {
  const { directory, key } = fresh()
  mkdirSync(directory)
  chmodSync(directory, 0o555)
  const answer = asUser(() => withLock(directory, key, async () => "never"), root)
  await expect(answer).rejects.toMatchObject({ code: "EACCES" })
}, 10_000)
