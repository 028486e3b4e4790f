/** Another plugin that rewrites an agent through its `config` hook, on the real OpenCode 1. */
import { afterEach, beforeEach, describe, expect, inject, test } from "vitest"
import { compileRuleset, decide, speaksOfSkills } from "../../src/core/evaluate.ts"
import type { Effect } from "../../src/core/rule.ts"
import { debugAgent, hostAvailable } from "../hosts/opencode-1/host.ts"
import { createSandbox, type Sandbox } from "../hosts/opencode-1/sandbox.ts"
import { pluginEntry } from "./packed.ts"

const env = { OPENCODE_CONFIG_CONTENT: JSON.stringify({ plugin: [pluginEntry(inject("tarball"))] }) }

/** Gives `build` a rule of its own that stands in no file. */
const OTHER = `export default {
  id: "other",
  server: async () => ({
    config: async (config) => {
      const build = config.agent?.build ?? {}
      config.agent = { ...config.agent, build: { ...build, permission: { skill: { notes: "ask" } } } }
    },
  }),
}
`

describe.skipIf(!hostAvailable)("beside a plugin that rewrites `build`", () => {
  let sandbox: Sandbox
  beforeEach(async () => {
    sandbox = await createSandbox()
    for (const name of ["notes", "pdf"]) await sandbox.skill(name)
    await sandbox.config("plugins/other.js", OTHER)
  })
  afterEach(() => sandbox.remove())

  async function call(params: object) {
    const { json, stderr } = await debugAgent(sandbox, "build", { tool: "skill_management", params, env })
    const output = Object(Object(json).result).output
    if (typeof output !== "string") throw new Error(stderr)
    return JSON.parse(output)
  }

  async function rulesOfBuild() {
    const { json } = await debugAgent(sandbox, "build", { env })
    const { permission } = json as { permission: { permission: string; pattern: string; action: Effect }[] }
    return permission
      .map(({ permission: action, pattern: resource, action: effect }) => ({ action, resource, effect }))
      .filter(speaksOfSkills)
  }

  test("the global files' run is found in its rules, and a change comes out as foreseen", async () => {
    const text =
      '{\n  "$schema": "https://opencode.ai/config.json",\n  "permission": { "skill": { "x-*": "deny" } }\n}\n'
    await sandbox.config("opencode.jsonc", text)
    expect(await rulesOfBuild()).toEqual([
      { action: "*", resource: "*", effect: "allow" },
      { action: "skill", resource: "x-*", effect: "deny" },
      { action: "skill", resource: "notes", effect: "ask" },
    ])
    expect(await call({ action: "disable", id: "pdf" })).toMatchObject({ ok: true, after: "deny", unpredicted: [] })
    const rules = compileRuleset(await rulesOfBuild())
    const effects = ["pdf", "notes", "x-1", "other"].map((id) => [id, decide(rules, id).effect])
    expect(effects).toEqual([
      ["pdf", "deny"],
      ["notes", "ask"],
      ["x-1", "deny"],
      ["other", "allow"],
    ])
    expect(await call({ action: "enable", id: "pdf" })).toMatchObject({ ok: true, after: "allow" })
    expect(await sandbox.readConfig("opencode.jsonc")).toBe(text)
  })

  test("without a run to find, nothing is foreseen for the caller, and nothing is written", async () => {
    const text = '{\n  "$schema": "https://opencode.ai/config.json"\n}\n'
    await sandbox.config("opencode.jsonc", text)
    expect(await call({ action: "disable", id: "pdf" })).toMatchObject({
      ok: false,
      error: {
        code: "prediction_failed",
        data: { agents: ["build"], manual: { text: '"permission": { "skill": { "pdf": "deny" } }' } },
      },
    })
    expect(await sandbox.readConfig("opencode.jsonc")).toBe(text)
  })
})
