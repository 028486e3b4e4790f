/** The packed plugin, installed by the real OpenCode 1 into a config folder of its own, used by a model. */
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, inject, type TestContext, test, vi } from "vitest"
import { hostInputSchema } from "../../src/tool/input-schema.ts"
import { hostAvailable } from "../hosts/opencode-1/host.ts"
import type { Sandbox } from "../hosts/opencode-1/sandbox.ts"
import { pluginEntry } from "./packed.ts"
import { type Answer, begin as open, type Setting } from "./setting.ts"

const CONFIG = `{
  "$schema": "https://opencode.ai/config.json",
  // What this user installed.
  "plugin": ["${pluginEntry(inject("tarball"))}"], // keep it last
  /* What is asked first. */
  "permission": {
    "webfetch": "ask", // never without a word

    "edit": { "*.lock": "deny" }
  }
}
`
const SKILLS = ["notes", "pdf", "xlsx"]
const SIDECAR = "skill_management.state.json"

const begin = (context: TestContext, more?: (sandbox: Sandbox) => Promise<unknown>): Promise<Setting> =>
  open(context, CONFIG, SKILLS, more)

async function expectUntouched({ sandbox }: Setting): Promise<void> {
  expect(await sandbox.readConfig("opencode.jsonc")).toBe(CONFIG)
  expect(await readdir(sandbox.configDir)).not.toContain(SIDECAR)
}

const rowsOf = (answer: Answer) =>
  answer.skills
    .filter(({ id }) => SKILLS.includes(id))
    .map(({ id, state, pending }) => (pending === undefined ? `${id} ${state}` : `${id} ${state}, then ${pending}`))
const codesOf = (answer: Answer) => answer.notices.map(({ code }) => code)

const loaded = (name: string) => ({ status: "completed", output: expect.stringContaining(`Body of ${name}.`) })
const refused = {
  status: "error",
  error: expect.stringMatching(/^The user has specified a rule which prevents you from using this specific tool call/),
}

describe.skipIf(!hostAvailable)("the packed plugin on OpenCode 1", () => {
  test.concurrent("a model lists its skills with the tool, and sees the schema as it is", async (context) => {
    const setting = await begin(context)
    const answer = await setting.call({ action: "list" })

    expect(answer).toMatchObject({
      schemaVersion: 1,
      action: "list",
      ok: true,
      warnings: [],
      host: { generation: "opencode-1", version: "1.18.34" },
      callerAgent: { id: "build", verified: true },
      summary: { total: 4, available: 4, disabled: 0, ask: 0 },
      config: { file: join(setting.sandbox.configDir, "opencode.jsonc"), dialect: "permission", hadPermissions: false },
      sidecar: { ok: true, error: null },
    })
    expect(answer.skills.map(({ id }) => id)).toEqual(["customize-opencode", ...SKILLS])
    expect(answer.skills.find(({ id }) => id === "pdf")).toMatchObject({
      state: "available",
      source: "config",
      scope: "user",
      description: "About pdf.",
      path: join(setting.sandbox.configDir, "skills", "pdf", "SKILL.md"),
    })

    const shown = setting.model.last().tools.find(({ name }) => name === "skill_management")
    expect(shown?.parameters).toEqual(hostInputSchema)
    expect(shown?.parameters).toMatchObject({
      type: "object",
      properties: {
        action: { type: "string", enum: ["list", "inspect", "disable", "enable", "undo", "reconcile"] },
        id: { type: ["string", "null"] },
        dryRun: { type: ["boolean", "null"] },
      },
      required: ["action"],
    })
    expect(JSON.stringify(shown)).not.toMatch(/zod|_def|~standard/)
    await expectUntouched(setting)
  })

  test.concurrent("disable hides a skill after a restart, enable returns it and the config's own bytes", async (context) => {
    const setting = await begin(context)
    expect(await setting.load("pdf")).toMatchObject(loaded("pdf"))
    expect(await setting.listed()).toEqual(SKILLS)

    const disabled = await setting.call({ action: "disable", id: "pdf", note: "too long" })
    expect(disabled).toMatchObject({
      ok: true,
      changed: true,
      reason: "rule_added",
      before: "allow",
      after: "deny",
      takesEffect: "restart",
      verification: { method: "simulated", ok: true },
      unpredicted: [],
    })
    expect(await setting.sandbox.readConfig("opencode.jsonc")).toBe(
      CONFIG.replace(
        '"edit": { "*.lock": "deny" }\n',
        '"edit": { "*.lock": "deny" },\n    "skill": {\n      "pdf": "deny" // skill_management\n    }\n',
      ),
    )

    const waiting = await setting.call({ action: "list" })
    expect(rowsOf(waiting)).toEqual(["notes available", "pdf available, then disabled", "xlsx available"])
    expect(codesOf(waiting)).toEqual(["restart_pending"])
    expect(await setting.load("pdf")).toMatchObject(loaded("pdf"))

    await setting.host.restart()
    expect(await setting.listed()).toEqual(["notes", "xlsx"])
    expect(await setting.load("pdf")).toMatchObject(refused)
    expect(await setting.load("notes")).toMatchObject(loaded("notes"))
    const now = await setting.call({ action: "list" })
    expect(rowsOf(now)).toEqual(["notes available", "pdf disabled", "xlsx available"])
    expect(now).toMatchObject({
      notices: [],
      consistency: { staleSidecarIds: [], unrecordedRules: [], missingFromRegistry: [] },
    })

    const enabled = await setting.call({ action: "enable", id: "pdf" })
    expect(enabled).toMatchObject({ ok: true, changed: true, before: "deny", after: "allow", takesEffect: "restart" })
    const back = await setting.call({ action: "list" })
    expect(rowsOf(back)).toEqual(["notes available", "pdf disabled, then available", "xlsx available"])
    expect(codesOf(back)).toEqual(["restart_pending"])

    await setting.host.restart()
    expect(await setting.listed()).toEqual(SKILLS)
    expect(await setting.load("pdf")).toMatchObject(loaded("pdf"))
    await expectUntouched(setting)
  })

  test.concurrent("disable with ask: the host asks the user, once loads the skill, reject refuses it", async (context) => {
    const setting = await begin(context)
    const { host, model } = setting
    const answer = await setting.call({ action: "disable", name: "pdf", effect: "ask" })
    expect(answer).toMatchObject({ ok: true, changed: true, before: "allow", after: "ask" })
    expect(codesOf(answer)).toContain("ask_may_hang")
    expect(rowsOf(await setting.call({ action: "list" }))).toContain("pdf available, then ask")
    await host.restart()
    expect(rowsOf(await setting.call({ action: "list" }))).toContain("pdf ask")
    expect(await setting.listed()).toEqual(SKILLS)

    const loadAsked = async (reply: "once" | "reject") => {
      const session = await host.createSession()
      model.reply({ tools: [{ name: "skill", args: { name: "pdf" } }] })
      const turn = host.prompt(session, { agent: "build", text: "Load it." })
      const request = await host.nextPermission()
      expect(request).toMatchObject({ sessionID: session, permission: "skill", patterns: ["pdf"] })
      await host.replyPermission(request.id, reply)
      await turn
      return host.toolParts(session, "skill")
    }
    expect(await loadAsked("once")).toMatchObject([loaded("pdf")])
    expect(await loadAsked("reject")).toMatchObject([
      { status: "error", error: "The user rejected permission to use this specific tool call." },
    ])
    expect(await setting.load("notes")).toMatchObject(loaded("notes"))

    await setting.call({ action: "enable", id: "pdf" })
    await expectUntouched(setting)
  })

  test.concurrent("a subagent that calls the tool is the caller", async (context) => {
    const setting = await begin(context, (sandbox) =>
      sandbox.agent("reader", "---\nmode: subagent\npermission:\n  skill:\n    xlsx: deny\n---\nYou read."),
    )
    const { host, model } = setting
    const asSubagent = async (agent: string, args: object): Promise<Answer> => {
      const session = await host.createSession()
      model.reply(
        { tools: [{ name: "task", args: { description: "Look", prompt: "Look.", subagent_type: agent } }] },
        { tools: [{ name: "skill_management", args }] },
        { text: "looked" },
        { text: "finished" },
      )
      const before = model.requests.length
      await host.prompt(session, { agent: "build", text: "Delegate." })
      const [, , within, after] = model.requests.slice(before)
      expect(after?.toolResults.at(-1)?.content).toContain("looked")
      return JSON.parse(within?.toolResults.at(-1)?.content ?? "")
    }

    const general = await asSubagent("general", { action: "list" })
    expect(general).toMatchObject({ callerAgent: { id: "general", verified: true }, notices: [] })
    expect(rowsOf(general)).toEqual(["notes available", "pdf available", "xlsx available"])

    const reader = await asSubagent("reader", { action: "list" })
    expect(reader).toMatchObject({ callerAgent: { id: "reader", verified: true }, notices: [] })
    expect(rowsOf(reader)).toEqual(["notes available", "pdf available", "xlsx disabled"])

    const throughItsEyes = await setting.call({ action: "list", agent: "reader" })
    expect(throughItsEyes.callerAgent).toEqual({ id: "reader", verified: true })
    expect(rowsOf(throughItsEyes)).toEqual(rowsOf(reader))

    const disabled = await asSubagent("general", { action: "disable", id: "notes" })
    expect(disabled).toMatchObject({ ok: true, changed: true, before: "allow", after: "deny" })
    await host.restart()
    expect(rowsOf(await setting.call({ action: "list" }))).toEqual([
      "notes disabled",
      "pdf available",
      "xlsx available",
    ])
    expect(rowsOf(await asSubagent("reader", { action: "list" }))).toEqual([
      "notes disabled",
      "pdf available",
      "xlsx disabled",
    ])
  })

  test.concurrent("two calls in one turn both end in the file, and both go again", async (context) => {
    const setting = await begin(context)
    const both = async (action: string) => {
      const states = await setting.turn("skill_management", [
        { action, id: "pdf" },
        { action, id: "notes" },
      ])
      return states.map(({ output }) => JSON.parse(output ?? ""))
    }
    const disabled = await both("disable")
    expect(disabled).toMatchObject([
      { ok: true, changed: true, targets: [{ id: "pdf", after: "deny" }] },
      { ok: true, changed: true, targets: [{ id: "notes", after: "deny" }] },
    ])
    const text = await setting.sandbox.readConfig("opencode.jsonc")
    expect(text).toContain('"pdf": "deny"')
    expect(text).toContain('"notes": "deny"')

    await setting.host.restart()
    expect(await setting.listed()).toEqual(["xlsx"])
    expect(await setting.load("pdf")).toMatchObject(refused)
    expect(await setting.load("notes")).toMatchObject(refused)
    expect(codesOf(await setting.call({ action: "list" }))).toEqual([])

    expect(await both("enable")).toMatchObject([
      { ok: true, changed: true },
      { ok: true, changed: true },
    ])
    await expectUntouched(setting)
    await setting.host.restart()
    expect(await setting.listed()).toEqual(SKILLS)
  })

  test.concurrent("the entry for OpenCode 2 does nothing here", async (context) => {
    // The host runs every plugin's `setup` with a context of its early V2 core, and swallows what it throws
    // (measured on 1.18.34). A witness is handed the same context and calls the installed plugin's `setup` with it.
    const witness = (packages: string, file: string) => `
      import { writeFile } from "node:fs/promises"
      export default {
        id: "witness",
        server: async () => ({}),
        setup: async (given) => {
          const { default: plugin } = await import(${JSON.stringify(packages)})
          const seen = { id: plugin.id, context: Object.keys(given).sort() }
          try {
            seen.resolved = (await plugin.setup(given)) ?? "nothing"
          } catch (error) {
            seen.thrown = String(error)
          }
          await writeFile(${JSON.stringify(file)}, JSON.stringify(seen))
        },
      }`
    let report = ""
    const setting = await begin(context, async ({ root, config }) => {
      report = join(root, "witness.json")
      const name = "opencode-skill-management"
      const home = join(root, "cache", "opencode", "packages", pluginEntry(inject("tarball")), "node_modules", name)
      await config("plugins/witness.ts", witness(join(home, "dist", "index.js"), report))
    })
    expect((await setting.call({ action: "list" })).ok).toBe(true)
    const seen = await vi.waitFor(async () => JSON.parse(await readFile(report, "utf8")), { timeout: 10_000 })
    expect(seen).toEqual({
      id: "opencode-skill-management",
      context: expect.arrayContaining(["agent", "options", "plugin", "skill"]),
      resolved: "nothing",
    })

    await setting.host.stop()
    expect(setting.host.log).not.toMatch(/error|skill_management|opencode-skill-management/i)
    const log = await setting.sandbox.readLog()
    expect(log).toContain("level=INFO")
    expect(log.split("\n").filter((line) => /level=(WARN|ERROR|FATAL)/.test(line))).toEqual([])
  })
})
