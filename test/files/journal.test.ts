import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { appendJournal, backUp, type Intent, unfinishedChanges } from "../../src/files/journal.ts"

let root: string
let state: string
let journal: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "journal-")))
  state = join(root, "state", "opencode", "skill_management")
  journal = join(state, "journal.jsonl")
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const intent = (change: string): Intent => ({
  kind: "intent",
  change,
  time: "2026-01-01T00:00:00.000Z",
  session: "ses_1",
  caller: "build",
  generation: "opencode-1",
  action: "disable",
  targets: ["pdf\u2028é"],
  files: [{ path: "/c/opencode.json", before: "a", after: "b" }],
  inverse: [{ file: "/c/opencode.json", section: "permission", inserted: '"pdf": "deny"\n', replaced: "" }],
  rules: [],
  former: [],
  configDirectory: "/config",
  backup: [],
  records: [],
})
const closing = (change: string, kind: "done" | "undone" = "done") => ({
  kind,
  change,
  time: "2026-01-01T00:00:01.000Z",
})
const lines = () => readFileSync(journal, "utf8").split("\n")
const open = async () => (await unfinishedChanges(state)).map(({ change }) => change)

describe("the journal", () => {
  it("is made for its user alone, one line for each entry", async () => {
    await appendJournal(state, intent("c1"))
    await appendJournal(state, closing("c1"))
    expect(statSync(state).mode & 0o777).toBe(0o700)
    expect(statSync(journal).mode & 0o777).toBe(0o600)
    expect(lines().map((line) => line && JSON.parse(line))).toEqual([intent("c1"), closing("c1"), ""])
  })

  it("knows the changes without a closing line, in order", async () => {
    expect(await open()).toEqual([])
    for (const change of ["c1", "c2", "c3", "c4"]) await appendJournal(state, intent(change))
    await appendJournal(state, closing("c2"))
    await appendJournal(state, closing("c3", "undone"))
    expect(await open()).toEqual(["c1", "c4"])
  })

  it("a torn last line costs neither itself nor a later one anything else", async () => {
    await appendJournal(state, intent("c1"))
    const whole = JSON.stringify(intent("c2"))
    for (const cut of [1, 10, Math.floor(whole.length / 2), whole.length - 1]) {
      appendFileSync(journal, whole.slice(0, cut))
      expect(await open()).toEqual(["c1"])
      await appendJournal(state, intent(`after-${cut}`))
      expect(await open()).toEqual(["c1", `after-${cut}`])
      await appendJournal(state, closing(`after-${cut}`))
      expect(await open()).toEqual(["c1"])
    }
    expect(readFileSync(journal, "utf8").endsWith("\n")).toBe(true)
  })

  it("a line that is whole but for its line end counts", async () => {
    await appendJournal(state, intent("c1"))
    appendFileSync(journal, JSON.stringify(intent("c2")))
    expect(await open()).toEqual(["c1", "c2"])
    await appendJournal(state, closing("c2"))
    expect(await open()).toEqual(["c1"])
  })

  it("a line torn inside a character", async () => {
    await appendJournal(state, intent("c1"))
    const bytes = Buffer.from(JSON.stringify(intent("c2")))
    appendFileSync(journal, bytes.subarray(0, bytes.indexOf(Buffer.from("é")) + 1))
    await appendJournal(state, closing("c1"))
    expect(await open()).toEqual([])
  })

  it("lines that are not ours say nothing", async () => {
    mkdirSync(state, { recursive: true })
    const strange = [
      "",
      "null",
      "5",
      "[]",
      "{}",
      '{"kind":"intent"}',
      '{"change":"c9"}',
      '{"kind":"other","change":"c9"}',
      "not json",
      "\u0000\u0000",
    ]
    writeFileSync(journal, `${strange.join("\n")}\n`)
    await appendJournal(state, intent("c1"))
    expect(await open()).toEqual(["c1"])
  })

  it("holds a thousand lines at most, and keeps the newest 800 when it is full", async () => {
    mkdirSync(state, { recursive: true })
    writeFileSync(
      journal,
      `${Array.from({ length: 1_000 }, (_, i) => JSON.stringify(closing(`old-${i}`))).join("\n")}\n`,
      { mode: 0o600 },
    )
    await appendJournal(state, intent("c1"))
    await appendJournal(state, closing("c1"))
    const kept = lines().filter((line) => line !== "")
    expect(kept).toHaveLength(801)
    expect(JSON.parse(kept[0] ?? "").change).toBe("old-201")
    expect(kept.slice(-2).map((line) => JSON.parse(line))).toEqual([intent("c1"), closing("c1")])
    expect(statSync(journal).mode & 0o777).toBe(0o600)
    expect(readdirSync(state)).toEqual(["journal.jsonl"])
  })

  it("many writers at once lose no line", async () => {
    const changes = Array.from({ length: 40 }, (_, i) => `c${i}`)
    await Promise.all(changes.map((change) => appendJournal(state, intent(change))))
    expect((await open()).sort()).toEqual([...changes].sort())
  })

  it.each<[string, () => void]>([
    ["a directory in its place", () => mkdirSync(journal, { recursive: true })],
    [
      "a file in the place of its directory",
      () => {
        mkdirSync(join(root, "state", "opencode"), { recursive: true })
        writeFileSync(state, "a file")
      },
    ],
  ])("%s fails with a code", async (_, arrange) => {
    arrange()
    await expect(appendJournal(state, intent("c1"))).rejects.toMatchObject({ code: expect.stringMatching(/^E[A-Z]+$/) })
  })
})

describe("backups", () => {
  it("hold the bytes as they were, for the user alone", async () => {
    const text = "\uFEFF{\r\n  // é \u2028\r\n}"
    const path = await backUp(state, "c1", "opencode.jsonc", text)
    expect(path).toBe(join(state, "backups", "c1-opencode.jsonc"))
    expect(readFileSync(path, "utf8")).toBe(text)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(statSync(join(state, "backups")).mode & 0o777).toBe(0o700)
  })

  it("twenty are kept, the newest", async () => {
    const names = Array.from({ length: 25 }, (_, i) => `20260101T0000${String(i).padStart(2, "0")}000Z-0000`)
    for (const name of names) await backUp(state, name, "opencode.json", name)
    expect(readdirSync(join(state, "backups")).sort()).toEqual(names.slice(-20).map((name) => `${name}-opencode.json`))
  })

  it("one that cannot be written fails with a code", async () => {
    mkdirSync(join(state, "backups"), { recursive: true })
    mkdirSync(join(state, "backups", "c1-opencode.json"))
    await expect(backUp(state, "c1", "opencode.json", "x")).rejects.toMatchObject({ code: expect.any(String) })
    rmSync(join(state, "backups"), { recursive: true })
    writeFileSync(join(state, "backups"), "a file")
    await expect(backUp(state, "c1", "opencode.json", "x")).rejects.toMatchObject({
      code: expect.stringMatching(/^E[A-Z]+$/),
    })
    chmodSync(state, 0o700)
  })
})
