// Taking changes back, after others have written too, on both hosts.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import { validated } from "../tool/validated.ts"
import { HOSTS, type OpenHost, snapshot, unchanged, type World } from "./both-hosts.ts"

const CONFIG = '{\n  // mine\n  "permission": {\n    "skill": {\n      "docx": "ask" // why not\n    }\n  }\n}\n'
const WORLD: World = { files: { "opencode.jsonc": CONFIG }, loaded: { rules: [["skill", "docx", "ask"]] } }

describe.each(HOSTS)("undo on $name", ({ open }) => {
  let host: OpenHost
  afterEach(() => host.stop())

  const call = async (input: object) => {
    const answer = validated(await host.call(input))
    await host.settle()
    return answer
  }
  const done = async (input: object): Promise<string> => {
    const answer = await call(input)
    expect(answer).toMatchObject({ ok: true, changed: true })
    return String(answer.change)
  }
  const text = () => host.readConfig("opencode.jsonc")
  const edit = async (change: (text: string) => string) => {
    host.config("opencode.jsonc", change(text()))
    await host.settle()
  }

  it("puts back what stood there before, comment and all", async () => {
    host = await open(WORLD)
    await done({ action: "enable", id: "docx" })
    expect(text()).not.toContain("docx")
    await done({ action: "undo" })
    expect(text()).toBe(CONFIG)
  })

  it("rehearses, and lists the changes that it can name", async () => {
    host = await open(WORLD)
    const first = await done({ action: "disable", id: "pdf", note: "misfires" })
    const second = await done({ action: "disable", id: "pdf-forms" })
    await done({ action: "undo", change: second })
    const answer = validated(await unchanged(host, () => host.call({ action: "undo", dryRun: true })))
    expect(answer).toMatchObject({ ok: true, changed: false, undoes: first, targets: [{ id: "pdf", after: "allow" }] })
    expect(answer.plan, "undo takes none").toBeUndefined()
    expect(answer.changes).toMatchObject([
      { action: "undo", targets: ["pdf-forms"] },
      { change: second, action: "disable", undoneBy: expect.any(String) },
      { change: first, action: "disable", targets: ["pdf"], note: "misfires" },
    ])
  })

  it("takes an older change back while a newer one stands behind it", async () => {
    host = await open(WORLD)
    const first = await done({ action: "disable", id: "pdf" })
    await done({ action: "disable", id: "pdf-forms" })
    await done({ action: "undo", change: first })
    expect(text()).toBe(
      CONFIG.replace('"ask" // why not\n', '"ask", // why not\n      "pdf-forms": "deny" // skill_management\n'),
    )
  })

  it("leaves what others have written since, also right behind the rule", async () => {
    host = await open(WORLD)
    await done({ action: "disable", id: "pdf" })
    await edit((now) =>
      now.replace('"pdf": "deny" //', '"pdf": "deny", //').replace("\n    }\n", '\n      "x-*": "ask"\n    }\n'),
    )
    await edit((now) => `// seen\n${now}`)
    await done({ action: "undo" })
    expect(text()).toBe(
      `// seen\n${CONFIG.replace('"ask" //', '"ask", //').replace("\n    }\n", '\n      "x-*": "ask"\n    }\n')}`,
    )
  })

  it("leaves what a person has written behind our mark, and to no other rule", async () => {
    host = await open(WORLD)
    await done({ action: "disable", id: "pdf" })
    await done({ action: "disable", id: "pdf-forms" })
    await edit((now) => now.replace('"pdf-forms": "deny" // skill_management', "$&, it misfires"))
    await done({ action: "undo" })
    expect(text()).toBe(
      '{\n  // mine\n  "permission": {\n    "skill": {\n      "docx": "ask", // why not\n      "pdf": "deny" // skill_management\n      // skill_management, it misfires\n    }\n  }\n}\n',
    )
  })

  it("refuses where someone has changed the rule since, and shows both", async () => {
    host = await open(WORLD)
    const change = await done({ action: "disable", id: "pdf" })
    await edit((now) => now.replace('"pdf": "deny"', '"pdf": "ask"'))
    const answer = validated(await unchanged(host, () => host.call({ action: "undo" })))
    expect(answer.error).toMatchObject({
      code: "undo_conflict",
      data: { change, ours: [{ id: "pdf", before: null, after: "deny" }] },
    })
    expect(JSON.stringify(answer.error?.data?.found)).toContain('\\"pdf\\": \\"ask\\"')
  })

  it("knows what is undone already, and what it never knew", async () => {
    host = await open(WORLD)
    const change = await done({ action: "disable", id: "pdf" })
    const undo = await done({ action: "undo" })
    expect((await call({ action: "undo" })).error?.code).toBe("nothing_to_undo")
    expect((await call({ action: "undo", change })).error).toMatchObject({ data: { undoneBy: undo } })
    expect((await call({ action: "undo", change: "20260101T000000000Z-00c0ffee" })).error?.code).toBe("nothing_to_undo")
    await done({ action: "undo", change: undo })
    expect(text()).toContain('"pdf": "deny"')
    expect((await call({ action: "undo", dryRun: true })).undoes).toBe(change)
  })

  it("tells another session which changes it can name", async () => {
    host = await open(WORLD)
    const change = await done({ action: "disable", id: "pdf" })
    const journal = join(host.stateDir, "journal.jsonl")
    writeFileSync(journal, readFileSync(journal, "utf8").replace(/"session":"[^"]*"/, '"session":"ses_other"'))
    for (const input of [{ action: "undo" }, { action: "undo", dryRun: true }])
      expect((await call(input)).error).toMatchObject({
        code: "nothing_to_undo",
        data: { changes: [{ change, action: "disable", targets: ["pdf"] }] },
      })
    await done({ action: "undo", change })
    expect(text()).toBe(CONFIG)
  })

  it("is the way back that each change offers", async () => {
    host = await open(WORLD)
    for (const action of ["disable", "enable"]) {
      const { next } = await call({ action, id: "docx" })
      const back = next[0]?.input ?? {}
      await done(back)
      expect(text()).toBe(CONFIG)
    }
  })

  it("survives a torn last line of the journal, and mends it", async () => {
    host = await open(WORLD)
    await done({ action: "disable", id: "pdf" })
    const journal = join(host.stateDir, "journal.jsonl")
    appendFileSync(journal, '{"kind":"intent","change":"torn')
    await done({ action: "undo" })
    expect(text()).toBe(CONFIG)
    const lines = readFileSync(journal, "utf8").trimEnd().split("\n")
    expect(lines.filter((line) => line.includes("torn"))).toEqual(['{"kind":"intent","change":"torn'])
  })

  it.each([
    {
      name: "beside the section",
      start: '{\n  "theme": "x"\n}\n',
      at: /"theme": "x"/,
      beside: '"theme": "x",\n  "model": "m"',
    },
    { name: "in the section", start: '{\n  "theme": "x"\n}\n', at: /("permissions?": [[{])/, beside: "$1 BASH," },
    { name: "in the file that was made", start: null, at: /^\{/, beside: '{\n  "theme": "x",' },
  ])("takes out all that was made for the rule, whatever has come $name", async ({ start, at, beside }) => {
    for (const back of [{ action: "undo" }, { action: "enable", id: "pdf" }]) {
      host = await open(start === null ? {} : { files: { "opencode.jsonc": start } })
      await done({ action: "disable", id: "pdf" })
      const bash = text().includes("permissions")
        ? '{ "action": "bash", "resource": "*", "effect": "ask" }'
        : '"bash": "ask"'
      await edit((now) => now.replace(at, beside).replace("BASH", bash))
      const { notices } = await call(back)
      expect(notices.map(({ code }) => code)).not.toContain("section_left")
      expect(text()).not.toMatch(/"skill"|pdf|\[\s*\]/)
      expect(text()).toContain(beside.replace("$1 BASH,", bash))
      host.stop()
    }
  })

  it("removes the file and the records that the change made", async () => {
    host = await open({})
    const first = snapshot(host.configDir)
    await done({ action: "disable", id: "pdf" })
    await done({ action: "undo" })
    expect(snapshot(host.configDir)).toEqual(first)
    expect(existsSync(join(host.configDir, "skill_management.state.json"))).toBe(false)
  })
})
