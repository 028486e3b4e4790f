import { afterEach, describe, expect, it } from "vitest"
import plugin from "../../../src/index.ts"
import { arrayOf, codes, eventually, placeOf, rule, start, stop } from "./harness.ts"

afterEach(stop)

const B_DENY = JSON.stringify(rule("b", "deny"))

describe("the beta reads a document as a whole", () => {
  const MIXED = `{\n  "permission": { "skill": { "a": "ask" } },\n  "permissions": [${B_DENY}]\n}\n`

  it.each<["beta" | "2.0", string[]]>([
    ["beta", ["ask", "available", "available"]],
    ["2.0", ["ask", "disabled", "available"]],
  ])("map and array on %s", async (build, states) => {
    const { list, inspect, path } = await start({ build, config: { "opencode.json": MIXED } })
    const reply = await list({ match: "?" })
    expect(reply.notices).toEqual([])
    expect(reply.skills.map(({ state }) => state)).toEqual(states)
    const { caller, rules } = await inspect("a")
    const origin = { layer: "global", file: path("opencode.json"), ...placeOf(MIXED, '"a"') }
    expect(rules[caller.rule ?? -1]?.origin).toEqual(origin)
  })

  it.each(["server", "provider", "agent", "small_model"])("an array beside `%s` is lost", async (key) => {
    const text = `{ "${key}": {}, "permissions": [${B_DENY}] }`
    const { list, disable, effect } = await start({ build: "beta", config: { "opencode.json": text } })
    const reply = await list({ match: "b" })
    expect(reply.notices).toEqual([])
    expect(reply.skills).toMatchObject([{ id: "b", state: "available" }])
    expect(await disable("a")).toMatchObject({ ok: true, verification: { method: "host" }, takesEffect: "now" })
    expect([await effect("a"), await effect("b")]).toEqual(["deny", "allow"])
  })

  it("never reports a rule that the beta loses as written", async () => {
    // Nothing in the rules tells yet which build this is: both readings of the document say the same.
    const before = '{ "server": {}, "permissions": [] }'
    const session = await start({ build: "beta", config: { "opencode.json": before }, hurried: true })
    const reply = await session.disable("a")
    if (reply.ok) expect(await session.effectAfterRestart("a")).toBe("deny")
  })

  it("does not lose the array to an edit in the other form", async () => {
    const before = arrayOf(["b", "deny"])
    const session = await start({
      build: "beta",
      config: { "opencode.json": before },
      options: { dialect: "permission" },
    })
    const reply = await session.disable("a")
    expect(await session.effectAfterRestart("b")).toBe("deny")
    if (reply.ok) expect(await session.effectAfterRestart("a")).toBe("deny")
  })

  it("takes a rule out of an array that it does not read", async () => {
    const { enable, text } = await start({ build: "beta", config: { "opencode.json": MIXED } })
    expect(await enable("b")).toMatchObject({ ok: true, reason: "rule_removed", before: "allow", after: "allow" })
    expect(text("opencode.json")).toBe(MIXED.replace(B_DENY, ""))
  })
})

describe.each(["beta", "2.0"] as const)("on %s", (build) => {
  it.each<[string, Record<string, string>]>([
    ["no file", {}],
    ["an array", { "opencode.json": arrayOf(["b", "deny"]) }],
    ["a map", { "opencode.json": '{ "permission": { "skill": { "b": "deny" } } }' }],
    ["a key of OpenCode 1", { "opencode.json": '{ "provider": {} }' }],
    [
      "both files",
      { "opencode.json": '{ "permission": { "skill": { "b": "deny" } } }', "opencode.jsonc": arrayOf(["c", "ask"]) },
    ],
  ])("list, inspect, disable and enable work with %s", async (_, config) => {
    const { list, inspect, disable, enable, effect, text } = await start({ build, config })
    const listed = await list()
    expect(listed).toMatchObject({ ok: true, summary: { total: 5, derivedIds: 0 } })
    expect(codes(listed).filter((code) => code !== "both_files")).toEqual([])
    expect(await disable("a")).toMatchObject({ ok: true, verification: { method: "host" }, takesEffect: "now" })
    expect((await inspect("a")).caller).toMatchObject({ state: "disabled", explicit: true })
    expect(await effect("a")).toBe("deny")
    expect(await enable("a")).toMatchObject({ ok: true, reason: "rule_removed", verification: { method: "host" } })
    for (const name of ["opencode.json", "opencode.jsonc"]) expect(text(name)).toBe(config[name] ?? null)
  })

  it("paths and scopes of skills are the same", async () => {
    const { list, host } = await start({
      build,
      files: { "project/.opencode/skills/own/SKILL.md": "---\ndescription: d\n---\n" },
    })
    const { skills } = await list({ fields: ["id", "path", "source", "scope"] })
    expect(skills).toEqual([
      ...["a", "b", "c"].map((id) => ({
        id,
        path: `${host.configDir}/skills/${id}/SKILL.md`,
        source: "config",
        scope: "user",
      })),
      { id: "opencode", path: null, source: "embedded", scope: "user" },
      { id: "own", path: `${host.project}/.opencode/skills/own/SKILL.md`, source: "project", scope: "project" },
      { id: "report", path: null, source: "embedded", scope: "user" },
    ])
  })
})

it("answers for an input that the beta does not check", async () => {
  const { host } = await start({ build: "beta" })
  for (const input of [null, 7, "list", [], {}, { action: 1 }, { action: "lst" }, { action: "list", where: {} }]) {
    const { output, text } = await host.call("skill_management", input, { agent: "build" })
    expect(output).toMatchObject({ schemaVersion: 1, ok: false, error: { code: "invalid_input" } })
    expect(JSON.parse(text)).toEqual(output)
  }
})

it("answers where the host cannot open the location", async () => {
  const { host, list, disable, effect } = await start()
  const text = '{"username": "{file:./missing}"}'
  host.config("opencode.json", text)
  await eventually(() => effect("a").catch(String)).toContain("missing")
  expect(await list()).toMatchObject({ ok: false, error: { code: "unsupported_host" } })
  expect(await disable("a")).toMatchObject({ ok: false, error: { code: "unsupported_host" } })
  expect(host.readConfig("opencode.json")).toBe(text)
})

describe("setup", () => {
  it.each<[string, unknown]>([
    ["as OpenCode 1 calls it", { client: {}, project: {}, directory: "/", worktree: "/", serverUrl: "x", $: () => {} }],
    ["without agents", { tool: { transform: () => fail() }, skill: { list: () => [] } }],
    ["with agents that are no list", { tool: { transform: () => fail() }, agent: {}, skill: { list: () => [] } }],
    ["without skills", { tool: { transform: () => fail() }, agent: { list: () => [] } }],
    ["without tools", { agent: { list: () => [] }, skill: { list: () => [] } }],
    ["with nulls", { tool: null, agent: null, skill: null }],
    ["with nothing", undefined],
    ["with null", null],
  ])("does nothing %s", async (_, context) => {
    expect(await plugin.setup(context)).toBeUndefined()
  })

  function fail(): never {
    throw new Error("no tool may be added here")
  }

  it("adds one tool, outside Code Mode, with both schema keys", async () => {
    const added: Record<string, unknown>[] = []
    const list = async () => ({ data: [] })
    await plugin.setup({
      tool: { transform: (change: (editor: object) => void) => change({ add: (tool: never) => added.push(tool) }) },
      agent: { list },
      skill: { list },
    })
    expect(added).toHaveLength(1)
    const [tool] = added
    expect(tool).toMatchObject({ name: "skill_management", options: { codemode: false } })
    expect(tool?.jsonSchema).toEqual(tool?.input)
    expect(tool?.output).toMatchObject({ type: "object" })
  })

  it("takes bare arrays from the lists", async () => {
    type Tool = { execute: (input: unknown, call: unknown) => Promise<{ output: unknown }> }
    const tools: Tool[] = []
    await plugin.setup({
      tool: { transform: (change: (editor: object) => void) => change({ add: (tool: Tool) => tools.push(tool) }) },
      agent: {
        list: () => [
          {
            id: "build",
            mode: "primary",
            hidden: false,
            permissions: [{ action: "*", resource: "*", effect: "allow" }],
          },
        ],
      },
      skill: { list: () => [{ id: "x", name: "x", path: "/s/x/SKILL.md", content: "" }] },
    })
    const session = await start()
    expect(session.names()).toEqual([])
    const result = await tools[0]?.execute({ action: "list" }, { agent: "build" })
    expect(result?.output).toMatchObject({
      ok: true,
      callerAgent: { id: "build" },
      skills: [{ id: "x", state: "available" }],
    })
  })
})
