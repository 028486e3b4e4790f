// Each file-system call of a whole write fails, one at a time: the config, its backup, journal, sidecar and lock.
import { rm } from "node:fs/promises"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { Case, Job, Trial } from "./failing.ts"
import { runScript } from "./run-child.ts"
import { WHOLE_WRITES, type WholeWrite } from "./whole-writes.ts"
import { makePlace, type Place } from "./world.ts"

const CHANGING = ["open", "write", "fsync", "close", "rename", "mkdir", "rmdir", "unlink", "chmod", "chown", "utimes"]
const READING = ["stat", "readlink", "read", "readdir"]
const CODES = ["EIO", "EACCES", "ENOSPC"]

const failing = (calls: readonly string[], code: string): Trial[] => calls.map((call) => ({ call, fault: { code } }))
const TRIALS: Trial[] = [
  ...failing([...CHANGING, ...READING], "EIO"),
  { call: "write", fault: { code: "ENOSPC", done: "half" } },
  { call: "write", fault: { code: "ENOSPC" }, always: true },
  ...CHANGING.map((call): Trial => ({ call, fault: { code: "EIO", done: "all" } })),
]
/** The first write meets every code. */
const MORE = CODES.slice(1).flatMap((code) => failing([...CHANGING, ...READING], code))

const REFUSALS = ["config_unreadable", "config_readonly", "config_changed", "write_failed", "sidecar_unsupported"]

let place: Place
const cases: Case[] = []
beforeAll(async () => {
  place = await makePlace({})
})
afterAll(async () => {
  await rm(place.root, { recursive: true, force: true })
})

const LIMIT_MS = 900_000
const run = async <Line>(job: Job): Promise<Line[]> => {
  const { lines, stderr } = await runScript<Line>(new URL("failing.ts", import.meta.url), place.env, job, LIMIT_MS)
  expect(stderr).toBe("")
  return lines
}

test("the order of a write: nothing is touched before what it rests on is on disk", async () => {
  const [calls = []] = await run<string[]>({ write: "a rule more, behind links, backups full", faults: [] })
  expect(calls.filter((call) => /^(write|fsync|rename)|lock$/.test(call))).toEqual([
    ...["mkdir lock", "mkdir lock", "stat lock"],
    ...["write backup", "fsync backup", "rename backup", "fsync backup"],
    ...["write journal", "fsync journal"],
    ...["write config", "fsync config", "rename config", "fsync config"],
    // The sidecar's directory is the config's.
    ...["write sidecar", "fsync sidecar", "rename sidecar", "fsync config"],
    ...["write journal", "fsync journal"],
    "rmdir lock",
  ])
})

describe.concurrent("each call of", () => {
  test.each(Object.entries(WHOLE_WRITES))("%s", { timeout: LIMIT_MS }, async (name, write) => {
    const more = name === Object.keys(WHOLE_WRITES)[0] ? MORE : []
    const found = await run<Case>({ write: name, faults: [...TRIALS, ...more] })
    cases.push(...found)
    expect(found.flatMap((one) => broken(one, write))).toEqual([])
  })
})

test("every kind of call has failed, on every file, and every outcome was seen", () => {
  console.table(countedBy(callOf))
  console.table(countedBy(({ file }) => file))
  expect(new Set(cases.map(({ call }) => call))).toEqual(new Set([...CHANGING, ...READING]))
  expect(new Set(cases.map(({ file }) => file))).toEqual(new Set(["config", "backup", "journal", "sidecar", "lock"]))
  for (const [outcome, is] of Object.entries(OUTCOMES)) expect(cases.filter(is), outcome).not.toEqual([])
})

/** What a case breaks of the law. */
function broken(found: Case, { crashed, records }: WholeWrite): object[] {
  const { ok, changed, code, left, notices, after, again, always = false, fault } = found
  const sameRecords = records.old.join() === records.new.join()
  const warned = notices.includes("sidecar_not_written")
  // A full disk has no room for the closing line either, and a second file may not get its old text back.
  const open = always || notices.includes("unfinished_change") || crashed === true
  // Nobody knows of a lock when the answer got lost.
  const unknownLock = found.call === "mkdir" && fault.done === "all" && found.file === "lock"
  const litter = after.litter.filter(
    (name) => !(unknownLock && name.endsWith(".lock")) && !(crashed && name.endsWith(".0123456789ab.tmp")),
  )
  const laws = {
    "a refusal has a code": ok ? code === null : REFUSALS.includes(code ?? ""),
    "old bytes, or new ones and ok": ok
      ? changed && after.config === "new"
      : after.config === "old" || (left && always),
    "the record is written, or a warning says so": !ok || warned || after.unfinished > 0 || after.records === "new",
    "a refusal leaves the record": ok || crashed || sameRecords || after.records === "old",
    "the journal is closed, or the answer says so": after.unfinished === 0 || open,
    "nothing is left": litter.length === 0,
    "the next call works": again.ok && again.config === "new" && again.unfinished === 0 && again.litter.length === 0,
    "with the record": again.records === "new" || (ok && warned),
  }
  const names = Object.entries(laws).flatMap(([law, holds]) => (holds ? [] : [law]))
  return names.length > 0 ? [{ broken: names, ...found }] : []
}

const callOf = ({ call, fault, always }: Case): string => {
  if (always) return `${call}: disk full`
  return { half: `${call}: half of it`, all: `${call}: done, answer lost`, none: call }[fault.done ?? "none"]
}

const OUTCOMES = {
  "refused, old bytes": ({ ok, left }: Case) => !ok && !left,
  written: ({ ok, notices }: Case) => ok && !notices.some((code) => WARNINGS.includes(code)),
  "written, with a warning": ({ ok, notices }: Case) => ok && notices.some((code) => WARNINGS.includes(code)),
  "refused, says what stands": ({ left }: Case) => left,
}
const WARNINGS = ["sidecar_not_written", "unfinished_change"]

/** The table: how often each outcome came, by row. */
function countedBy(row: (found: Case) => string): Record<string, Record<string, number>> {
  const count = (name: string) => {
    const group = cases.filter((found) => row(found) === name)
    const counts = Object.entries(OUTCOMES).map(([outcome, is]) => [outcome, group.filter(is).length])
    return { cases: group.length, ...Object.fromEntries(counts) }
  }
  return Object.fromEntries([...new Set(cases.map(row))].sort().map((name) => [name, count(name)]))
}
