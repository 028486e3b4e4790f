// Eight processes change one config at the same time, two hundred times there and back each, while a ninth reads it.
import { readdir, readFile, rm } from "node:fs/promises"
import { join } from "node:path"
import { afterEach, expect, test } from "vitest"
import type { ReaderJob, ReaderReport } from "./load-reader.ts"
import type { WriterJob, WriterReport } from "./load-writer.ts"
import { endAll, ready, told } from "./run-child.ts"
import { makePlace, type Place } from "./world.ts"

const WRITERS = 8
const SKILLS_EACH = 5
const ROUNDS = 40
const LIMIT_MS = 900_000

const FIRST = `// Kept in dotfiles.
{
  "model": "anthropic/claude", /* daytime */
  "permission": {
    "bash": "ask",   // never without me
    "skill": {
      "lark-*": "deny" // work account only
    }
  },
  "mcp": {}
}
`

let place: Place
afterEach(async () => {
  endAll()
  await rm(place.root, { recursive: true, force: true })
})

test("no update is lost, no read is torn, and the first bytes are the last", { timeout: LIMIT_MS }, async () => {
  place = await makePlace({ "opencode.jsonc": FIRST })
  const config = join(place.configDir, "opencode.jsonc")
  const own = Array.from({ length: WRITERS }, (_, writer) =>
    Array.from({ length: SKILLS_EACH }, (_, skill) => `skill-${writer}-${skill}`),
  )
  const skills = ["lark-mail", ...own.flat()]
  const reader = await ready(new URL("load-reader.ts", import.meta.url), place.env, {
    ...{ config, first: FIRST },
    own: String.raw`^      "skill-\d-\d": "deny",? // skill_management\n`,
  } satisfies ReaderJob)
  const writers = await Promise.all(
    own.map((ids) =>
      ready(new URL("load-writer.ts", import.meta.url), place.env, {
        ...{ skills, own: ids, rounds: ROUNDS, config },
        loaded: [["lark-*", "deny"]],
      } satisfies WriterJob),
    ),
  )

  const start = performance.now()
  const reports = await Promise.all(writers.map((writer) => told<WriterReport>(writer)))
  const seconds = (performance.now() - start) / 1_000
  const { reads, texts, torn } = await told<ReaderReport>(reader)

  const calls = reports.reduce((sum, report) => sum + report.calls, 0)
  const failures = reports.flatMap((report) => report.failures)
  const lost = reports.flatMap((report) => report.lost)
  console.table({
    ...{ processes: WRITERS, calls, "failed calls": failures.length, "lost updates": lost.length },
    ...{ reads, "different texts read": texts, "torn reads": torn.length },
    "longest call, with its wait for the lock, s": Math.max(...reports.map(({ longestMs }) => longestMs)) / 1_000,
    "all calls, s": seconds,
  })
  expect({ failures, lost, torn }).toEqual({ failures: [], lost: [], torn: [] })
  expect(calls).toBe(3_200)
  expect(texts).toBeGreaterThan(100)

  expect(await readFile(config, "utf8")).toBe(FIRST)
  expect(await readdir(place.configDir)).toEqual(["opencode.jsonc"])
  expect((await readdir(place.stateDir)).sort()).toEqual(["backups", "journal.jsonl", "locks"])
  expect(await readdir(join(place.stateDir, "locks"))).toEqual([])
  expect(await readdir(join(place.stateDir, "backups"))).toHaveLength(20)
  const journal = (await readFile(join(place.stateDir, "journal.jsonl"), "utf8")).trimEnd().split("\n")
  expect(journal.length).toBeLessThanOrEqual(1_000)
  const lines: { kind: string; change: string }[] = journal.map((line) => JSON.parse(line))
  const done = lines.filter(({ kind }) => kind === "done").map(({ change }) => change)
  const intents = lines.filter(({ kind }) => kind === "intent").map(({ change }) => change)
  // The journal was shortened on the way, perhaps between the two lines of a change.
  expect(done.slice(-intents.length)).toEqual(intents)
})
