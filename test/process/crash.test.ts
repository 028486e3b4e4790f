// A process that is killed at any step leaves configs that are entirely old or entirely new; the next write settles it.
import { readdir, readFile, rm } from "node:fs/promises"
import { join } from "node:path"
import { afterEach, describe, expect, test, vi } from "vitest"
import { runChild } from "./run-child.ts"
import { ageLeftovers, SKILLS, stateOf, WHOLE_WRITES } from "./whole-writes.ts"
import { makePlace, openTool, type Place } from "./world.ts"

const ONE = {
  "opencode.jsonc": '{\n  // mine\n  "permission": {\n    "skill": {\n      "docx": "deny"\n    }\n  }\n}\n',
}
const ONE_NEW =
  '{\n  // mine\n  "permission": {\n    "skill": {\n      "docx": "deny",\n      "pdf": "deny" // skill_management\n    }\n  }\n}\n'
const TWO = {
  "opencode.json": '{\n  "permission": { "skill": { "docx": "deny", "pdf": "deny" } }\n}\n',
  "opencode.jsonc": '{\n  "permission": {\n    "skill": {\n      "pdf": "ask" // sometimes\n    }\n  }\n}\n',
}
const TWO_NEW = {
  "opencode.json": '{\n  "permission": { "skill": { "docx": "deny" } }\n}\n',
  // A comment that is not ours stays where it stood.
  "opencode.jsonc": '{\n  "permission": {\n    "skill": {\n      // sometimes\n    }\n  }\n}\n',
}

let place: Place
afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(place.root, { recursive: true, force: true })
})

const filesOf = async () =>
  Object.fromEntries(
    await Promise.all(
      (await readdir(place.configDir))
        .filter((name) => name.startsWith("opencode"))
        .map(async (name) => [name, await readFile(join(place.configDir, name), "utf8")] as const),
    ),
  )

/** Runs the call to its death at each step in turn, until it lives. Returns the number of steps. */
async function dieEverywhere(
  files: Readonly<Record<string, string>>,
  job: object,
  check: () => Promise<void>,
  prepare = async () => {},
): Promise<number> {
  for (let step = 1; step < 200; step++) {
    place = await makePlace({ ...files })
    await prepare()
    const result = await runChild(place, { ...job, dieAfter: step })
    expect(result.stderr).toBe("")
    if (result.signal === null) return step - 1
    await ageLeftovers(place)
    await check()
    await rm(place.root, { recursive: true, force: true })
  }
  throw new Error("the call never came to an end")
}

describe("killed after each step", () => {
  test("one file: old or new, named by list, settled by the next write", { timeout: 600_000 }, async () => {
    const loaded = [["docx", "deny"]]
    let [old, fresh, named] = [0, 0, 0]
    const steps = await dieEverywhere(
      ONE,
      { skills: SKILLS, loaded, calls: [{ action: "disable", id: "pdf" }] },
      async () => {
        const text = (await filesOf())["opencode.jsonc"]
        expect([ONE["opencode.jsonc"], ONE_NEW]).toContain(text)
        if (text === ONE_NEW) fresh++
        else old++
        const again = await runChild(place, {
          skills: SKILLS,
          loaded: text === ONE_NEW ? [...loaded, ["pdf", "deny"]] : loaded,
          calls: [
            { action: "list", limit: 0 },
            { action: "disable", id: "pdf" },
            { action: "list" },
            { action: "enable", id: "pdf" },
          ],
        })
        expect(again.stderr).toBe("")
        const [before, disabled, after, enabled] = again.answers
        if (before.notices.some(({ code }: { code: string }) => code === "unfinished_change")) named++
        expect(disabled.ok).toBe(true)
        expect(after.notices.map(({ code }: { code: string }) => code)).not.toContain("unfinished_change")
        expect(enabled).toMatchObject({ ok: true, changed: true })
        expect((await filesOf())["opencode.jsonc"]).toBe(ONE["opencode.jsonc"])
        expect(await readdir(place.configDir)).toEqual(["opencode.jsonc"])
        expect(await readdir(join(place.stateDir, "locks"))).toEqual([])
      },
    )
    console.info(
      `killed at ${steps} steps: ${old} times the old file, ${fresh} times the new one; ${named} named by list`,
    )
    expect(Math.min(old, fresh, named)).toBeGreaterThan(0)
  })

  test("two files: both or none after the next write", { timeout: 600_000 }, async () => {
    const loaded = [
      ["docx", "deny"],
      ["pdf", "ask"],
    ]
    let mixed = 0
    const steps = await dieEverywhere(
      TWO,
      { skills: SKILLS, loaded, calls: [{ action: "enable", id: "pdf" }] },
      async () => {
        const files = await filesOf()
        const states = (["opencode.json", "opencode.jsonc"] as const).map((name) => {
          expect([TWO[name], TWO_NEW[name]]).toContain(files[name])
          return files[name] === TWO_NEW[name]
        })
        if (states[0] !== states[1]) mixed++
        // The host starts anew on what the crash left; a mixed state merges to the rules of both files.
        const now = states[1]
          ? states[0]
            ? [["docx", "deny"]]
            : [
                ["docx", "deny"],
                ["pdf", "deny"],
              ]
          : states[0]
            ? [
                ["docx", "deny"],
                ["pdf", "ask"],
              ]
            : loaded
        const again = await runChild(place, {
          skills: SKILLS,
          loaded: now,
          calls: [
            { action: "disable", id: "xlsx" },
            { action: "enable", id: "xlsx" },
          ],
        })
        expect(again.stderr).toBe("")
        expect(again.answers.map(({ ok }) => ok)).toEqual([true, true])
        const settled = await filesOf()
        expect([TWO, TWO_NEW]).toContainEqual({
          "opencode.json": settled["opencode.json"],
          "opencode.jsonc": settled["opencode.jsonc"],
        })
      },
    )
    console.info(`killed at ${steps} steps: ${mixed} times only one of two files was new`)
    expect(mixed).toBeGreaterThan(0)
  })

  test.each(["a rule more, behind links, backups full", "a file is made", "a file goes"])(
    "%s: old or new, and settled by the next write of a host that ran all the while",
    { timeout: 600_000 },
    async (name) => {
      const write = WHOLE_WRITES[name]
      if (!write) throw new Error(`no write is called ${name}`)
      let host: Awaited<ReturnType<typeof openTool>>
      let [old, fresh] = [0, 0]
      const steps = await dieEverywhere(
        write.files,
        { skills: SKILLS, loaded: rulesIn(write.old["opencode.jsonc"] ?? ""), calls: [write.call] },
        async () => {
          const crashed = await stateOf(place, write)
          expect(["old", "new"]).toContain(crashed.config)
          if (crashed.config === "new") fresh++
          else old++
          const { notices } = await host({ action: "list", limit: 0 })
          const named = notices.some(({ code }: { code: string }) => code === "unfinished_change")
          expect(named).toBe(crashed.unfinished > 0)
          expect(await host(write.call)).toMatchObject({ ok: true, changed: crashed.config === "old" })
          const { litter, ...settled } = await stateOf(place, write)
          expect(settled).toEqual({ config: "new", records: "new", unfinished: 0 })
          // A copy of a change that was not begun stays among the twenty.
          expect(litter.filter((left) => !/^\d{8}T\d+Z-/.test(left))).toEqual([])
        },
        async () => {
          const { TMPDIR: _, ...env } = place.env
          for (const [key, value] of Object.entries(env)) vi.stubEnv(key, value)
          host = await openTool(SKILLS, write.loaded)
          for (const input of write.first ?? []) await host(input)
          await write.arrange?.(place)
        },
      )
      console.info(`${name}: killed at ${steps} steps: ${old} times the old text, ${fresh} times the new one`)
      expect(Math.min(old, fresh)).toBeGreaterThan(0)
    },
  )
})

/** The skill rules of a text, as a host shows them that starts on it. */
const rulesIn = (text: string): string[][] =>
  [...text.matchAll(/"(docx|pdf|xlsx)": "(\w+)"/g)].map(([, id = "", effect = ""]) => [id, effect])
