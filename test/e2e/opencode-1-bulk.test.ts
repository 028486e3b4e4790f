// Two hundred skills on the real host: looked at, cleaned up, taken back; and what the caller's own rules say to it.
import { describe, expect, inject, test } from "vitest"
import { hostAvailable } from "../hosts/opencode-1/host.ts"
import { pluginEntry } from "./packed.ts"
import { begin, type Setting } from "./setting.ts"

const number = (at: number): string => String(at).padStart(3, "0")
const PACK = Array.from({ length: 120 }, (_, at) => `pack-${number(at)}`)
const OTHERS = Array.from({ length: 80 }, (_, at) => `skill-${number(at)}`)
const SKILLS = [...PACK, ...OTHERS]

const configWith = (permission: object, plugin: unknown = pluginEntry(inject("tarball"))): string =>
  `{\n  "$schema": "https://opencode.ai/config.json",\n  // mine\n  "plugin": [${JSON.stringify(plugin)}],\n  "permission": ${JSON.stringify(permission)}\n}\n`

const count = (answer: { [field: string]: unknown }, at: string): unknown => Object(answer.counts)[at]

describe.skipIf(!hostAvailable)("a cleanup on OpenCode 1", () => {
  test.concurrent("review, apply, restart, undo, restart", async (context) => {
    const config = configWith({ webfetch: "ask" })
    const setting = await begin(context, config, SKILLS)
    const session = await setting.host.createSession()
    expect(await setting.listed()).toEqual(SKILLS)

    const rehearsal = await setting.call({ action: "disable", match: "pack-*" }, "build", session)
    expect(rehearsal).toMatchObject({
      ok: false,
      error: { code: "plan_required" },
      changed: false,
      plan: { count: 120 },
    })
    expect(await setting.sandbox.readConfig("opencode.jsonc")).toBe(config)

    const applied = await setting.call(rehearsal.next[0]?.input ?? {}, "build", session)
    expect(applied).toMatchObject({ ok: true, changed: true, takesEffect: "restart" })
    expect(count(applied, "changed")).toBe(120)
    expect(Object(applied.tokens).build).toBeLessThan(0)
    await setting.host.restart()
    expect(await setting.listed()).toEqual(OTHERS)

    const undone = await setting.call({ action: "undo" }, "build", session)
    expect(undone).toMatchObject({ ok: true, changed: true, undoes: applied.change })
    expect(await setting.sandbox.readConfig("opencode.jsonc")).toBe(config)
    await setting.host.restart()
    expect(await setting.listed()).toEqual(SKILLS)
  })
})

describe.skipIf(!hostAvailable)("approval on OpenCode 1", () => {
  const SMALL = ["docx", "pdf"]
  const start = (context: Parameters<typeof begin>[0], rules: object, project?: object) =>
    begin(context, configWith({ ...rules, skill: { docx: "deny" } }), SMALL, async (sandbox) => {
      if (project) await sandbox.projectFile("opencode.json", JSON.stringify({ permission: project }))
    })

  /** The model calls the tool, and the user answers what the host then asks, or does not. */
  async function answered(setting: Setting, args: object, reply: "once" | "reject" | null) {
    const session = await setting.host.createSession()
    setting.model.reply({ tools: [{ name: "skill_management", args }] })
    await setting.host.promptAsync(session, { agent: "build", text: "Go on." })
    const { id, permission, patterns } = await setting.host.nextPermission()
    if (reply) await setting.host.replyPermission(id, reply)
    // Until the turn has ended: what the model says next is meant for the next one.
    const finish = async () => Object((await setting.host.messages(session)).at(-1)?.info).finish
    await expect.poll(finish, { timeout: 180_000, interval: 500 }).toBe("stop")
    const [state] = await setting.host.toolParts(session, "skill_management")
    return { permission, patterns, answer: JSON.parse(state?.output ?? "{}") }
  }

  test.concurrent("`ask`: the host shows its dialogue once; yes writes, no does not", async (context) => {
    const setting = await start(context, { skill_management: { "enable:*": "ask" } })
    const before = await setting.sandbox.readConfig("opencode.jsonc")
    const no = await answered(setting, { action: "enable", id: "docx" }, "reject")
    expect(no).toMatchObject({ permission: "skill_management", patterns: ["enable:docx"] })
    expect(no.answer).toMatchObject({ ok: false, error: { code: "not_permitted" } })
    expect(await setting.sandbox.readConfig("opencode.jsonc")).toBe(before)

    const yes = await answered(setting, { action: "enable", id: "docx" }, "once")
    expect(yes.answer).toMatchObject({ ok: true, changed: true })
    expect(await setting.sandbox.readConfig("opencode.jsonc")).not.toBe(before)
  })

  test.concurrent("nobody there: the call comes back by itself, and nothing is written", async (context) => {
    const setting = await start(context, { skill_management: { "enable:*": "ask" } })
    const before = await setting.sandbox.readConfig("opencode.jsonc")
    const { answer } = await answered(setting, { action: "enable", id: "docx" }, null)
    expect(answer).toMatchObject({ ok: false, error: { code: "approval_required" } })
    expect(await setting.sandbox.readConfig("opencode.jsonc")).toBe(before)
  })

  test.concurrent("`deny` and `allow`", async (context) => {
    const setting = await start(context, { skill_management: { "enable:*": "deny", "disable:*": "allow" } })
    expect(await setting.call({ action: "enable", id: "docx" })).toMatchObject({ error: { code: "not_permitted" } })
    const answer = await setting.call({ action: "disable", id: "pdf" })
    expect(answer).toMatchObject({ ok: true, changed: true })
    expect(answer.notices.map(({ code }) => code)).not.toContain("approval_not_configured")
  })

  test.concurrent("a cloned repository does not widen what its user wants to be asked for", async (context) => {
    const setting = await start(context, { skill_management: "ask" }, { skill_management: "allow" })
    for (const input of [
      { action: "enable", id: "docx" },
      { action: "disable", id: "pdf" },
    ])
      expect(await setting.call(input)).toMatchObject({ error: { code: "approval_required" } })
    expect(await setting.host.permissions()).toEqual([])
  })
})
