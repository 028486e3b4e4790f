// Someone else saves the config while a new text of it is on its way to the disk.
import { readdir, readFile, rm } from "node:fs/promises"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { runChild } from "./run-child.ts"
import { makePlace, type Place } from "./world.ts"

const FIRST = '{\n  "permission": {\n    "skill": {\n      "docx": "deny"\n    }\n  }\n}\n'
const WITH_PDF = FIRST.replace('"docx": "deny"', '"docx": "deny",\n      "pdf": "deny" // skill_management')

let place: Place
beforeEach(async () => {
  place = await makePlace({ "opencode.jsonc": FIRST })
})
afterEach(() => rm(place.root, { recursive: true, force: true }))

const disable = async (times: number) => {
  const file = join(place.configDir, "opencode.jsonc")
  const { answers, stderr } = await runChild(place, {
    skills: ["docx", "pdf"],
    loaded: [["docx", "deny"]],
    calls: [{ action: "disable", id: "pdf" }],
    edits: { file, times },
  })
  expect(stderr).toBe("")
  return { answer: answers[0], text: await readFile(file, "utf8") }
}

const journal = async () => {
  const lines = (await readFile(join(place.stateDir, "journal.jsonl"), "utf8")).trim().split("\n")
  return lines.map((line) => JSON.parse(line).kind)
}

test("once: the change is planned anew on the new text, and both edits stand", async () => {
  const { answer, text } = await disable(1)
  expect(answer).toMatchObject({ ok: true, changed: true })
  expect(text).toBe(`${WITH_PDF}// edit 1\n`)
  expect(await journal()).toEqual(["intent", "undone", "intent", "done"])
})

test("twice: the change is refused, and the edits stand alone; the next call works", async () => {
  const { answer, text } = await disable(2)
  expect(answer).toMatchObject({ ok: false, error: { code: "config_changed", data: { reason: "hash_differs" } } })
  expect(text).toBe(`${FIRST}// edit 1\n// edit 2\n`)
  expect(await journal()).toEqual(["intent", "undone", "intent", "undone"])
  expect(await readdir(place.configDir)).toEqual(["opencode.jsonc"])
  expect(await readdir(join(place.stateDir, "locks"))).toEqual([])

  const again = await disable(0)
  expect(again.answer).toMatchObject({ ok: true, changed: true })
  expect(again.text).toBe(`${WITH_PDF}// edit 1\n// edit 2\n`)
})
