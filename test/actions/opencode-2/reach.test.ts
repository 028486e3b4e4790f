import { join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import { arrayOf, codes, dataOf, type Options, placeOf, rule, start, stop } from "./harness.ts"

afterEach(stop)

const agentRules = (agent: string, id: string, effect: string) =>
  `{\n  "agents": { "${agent}": { "permissions": [${JSON.stringify(rule(id, effect))}] } }\n}\n`

describe("a rule of the project", () => {
  it.each<[string, string]>([
    ["a document", "project/opencode.json"],
    [".opencode", "project/.opencode/opencode.jsonc"],
    ["a directory above", "opencode.json"],
  ])("in %s that wins keeps a disable from being written", async (_, name) => {
    const text = arrayOf(["x", "ask"], ["a", "allow"])
    const { disable, host, names } = await start({ files: { [name]: text } })
    const file = join(host.root, name)
    const reply = await disable("a")
    expect(reply).toMatchObject({ ok: false, error: { code: "not_effective" } })
    expect(reply.error?.message).toContain(file)
    expect(reply.error?.message).toContain("line 4")
    const blocked = reply.error?.data?.blocked as { agent: string; effect: string; rule: object }[]
    expect(blocked.map(({ agent, effect }) => `${agent} ${effect}`)).toEqual([
      "build allow",
      "plan allow",
      "general allow",
    ])
    expect(blocked[0]?.rule).toEqual({ ...rule("a", "allow"), origin: { layer: "project", file, line: 4, column: 5 } })
    expect(names()).toEqual([])
  })

  it.each<[string, [string, string]]>([
    ["exact", ["a", "deny"]],
    ["broad", ["*", "deny"]],
    ["asking", ["?", "ask"]],
  ])("that wins blocks an enable: %s", async (_, [id, effect]) => {
    const text = arrayOf([id, effect])
    const global = arrayOf(["b", "ask"])
    const {
      enable,
      host,
      text: textOf,
    } = await start({
      files: { "project/opencode.json": text },
      config: { "opencode.json": global },
    })
    const file = join(host.project, "opencode.json")
    const reply = await enable("a")
    expect(reply).toMatchObject({ ok: false, error: { code: "blocked_elsewhere" } })
    expect(reply.error?.message).toContain(`${file}\` line 3`)
    expect(reply.error?.hint).toBeTruthy()
    const blocked = reply.error?.data?.blocked as { rule: object }[]
    expect(blocked[0]?.rule).toEqual({ ...rule(id, effect), origin: { layer: "project", file, line: 3, column: 5 } })
    expect(textOf("opencode.json")).toBe(global)
  })

  it("that denies makes a disable unnecessary", async () => {
    const { disable, names } = await start({ files: { "project/opencode.json": arrayOf(["a", "deny"]) } })
    expect(await disable("a")).toMatchObject({ ok: true, changed: false, reason: "already_disabled" })
    expect(names()).toEqual([])
  })

  it("for other skills is no obstacle", async () => {
    const { disable, effect } = await start({ files: { "project/opencode.json": arrayOf(["b", "allow"]) } })
    expect(await disable("a")).toMatchObject({ ok: true, verification: { method: "host" } })
    expect(await effect("a")).toBe("deny")
  })

  it.each<[string, (root: string) => Record<string, string>, string]>([
    ["$OPENCODE_CONFIG", (root) => ({ OPENCODE_CONFIG: join(root, "named.json") }), "explicit"],
    ["$OPENCODE_CONFIG_CONTENT", () => ({ OPENCODE_CONFIG_CONTENT: arrayOf(["a", "allow"]) }), "content"],
  ])("or of %s that wins is named by its layer", async (_, env, layer) => {
    const { disable } = await start({ files: { "named.json": arrayOf(["a", "allow"]) }, env })
    const reply = await disable("a")
    expect(reply).toMatchObject({ ok: false, error: { code: "not_effective" } })
    const blocked = reply.error?.data?.blocked as { rule: { origin: object } }[]
    expect(blocked[0]?.rule.origin).toMatchObject({ layer, line: 3 })
  })
})

describe("a rule of one agent", () => {
  const text = agentRules("plan", "a", "allow")

  it("is told where it wins over a disable", async () => {
    const { disable, effect, path } = await start({ config: { "opencode.json": text } })
    const reply = await disable("a")
    expect(reply).toMatchObject({ ok: true, changed: true, after: "deny", verification: { method: "host" } })
    const { line } = placeOf(text, '{"action"')
    const place = `\`${path("opencode.json")}\` line ${line}`
    expect(dataOf(reply, "partly_effective")).toEqual({
      agents: ["plan"],
      winner: `\`{skill, a, allow}\` in ${place} wins for plan`,
      help: `change ${place}: the rules of the agent \`plan\` come after all others`,
    })
    expect([await effect("a"), await effect("a", "plan"), await effect("a", "general")]).toEqual([
      "deny",
      "allow",
      "deny",
    ])
    expect(reply.impact.flatMap(({ agents }) => agents)).not.toContain("plan")
    expect(await disable("a")).toMatchObject({ ok: true, changed: false })
  })

  it("is told to that agent itself", async () => {
    const { disable } = await start({ config: { "opencode.json": text } })
    const reply = await disable("a", {}, "plan")
    expect(reply).toMatchObject({ ok: true, changed: true, before: "allow", after: "allow" })
    expect(dataOf(reply, "partly_effective")).toMatchObject({ agents: ["plan"] })
  })

  it("is told where it wins over an enable", async () => {
    const { enable, effect } = await start({
      config: { "opencode.json": arrayOf(["a", "deny"]), "opencode.jsonc": agentRules("plan", "a", "ask") },
    })
    const reply = await enable("a")
    expect(reply).toMatchObject({ ok: true, reason: "rule_removed", after: "allow" })
    expect(dataOf(reply, "partly_effective")).toMatchObject({ agents: ["plan"] })
    expect([await effect("a"), await effect("a", "plan")]).toEqual(["allow", "ask"])
  })

  it("in an agent file blocks an enable for all it is the only obstacle of", async () => {
    const markdown = "---\ndescription: d\npermissions:\n  - {action: skill, resource: a, effect: deny}\n---\n"
    const { enable, host, names } = await start({
      files: Object.fromEntries(
        ["build", "plan", "general"].map((id) => [`config/opencode/agents/${id}.md`, markdown]),
      ),
    })
    const reply = await enable("a")
    expect(reply).toMatchObject({ ok: false, error: { code: "blocked_elsewhere" } })
    const blocked = reply.error?.data?.blocked as { rule: { origin: object } }[]
    expect(blocked[0]?.rule.origin).toEqual({
      layer: "global",
      file: join(host.configDir, "agents/build.md"),
      line: 4,
      column: 5,
      agent: "build",
    })
    expect(names()).toEqual([])
  })

  it("for the skill that a denied agent may have is no obstacle", async () => {
    const { disable, effect } = await start({ config: { "opencode.json": agentRules("explore", "a", "allow") } })
    const reply = await disable("a")
    expect(reply).toMatchObject({ ok: true, unaffected: expect.arrayContaining(["explore"]) })
    expect(codes(reply)).not.toContain("partly_effective")
    expect(await effect("a", "explore")).toBe("allow")
  })
})

describe("agents that the host denies", () => {
  it("are opened by an exact ask, which is said", async () => {
    const { disable, effect } = await start()
    expect(await effect("a", "explore")).toBe("deny")
    const reply = await disable("a", { effect: "ask" })
    expect(dataOf(reply, "opens_for")).toEqual({ agents: ["explore", "title", "summary"] })
    expect(codes(reply)).toContain("ask_may_hang")
    const wider = reply.impact.filter(({ direction }) => direction === "wider")
    expect(wider.map(({ agents, before, after }) => `${agents.join()} ${before} ${after}`)).toEqual([
      "explore deny ask",
      "title,summary deny ask",
    ])
    expect(wider[0]).toMatchObject({ skillTool: true })
    expect(reply.unaffected).toEqual([])
    expect(await effect("a", "explore")).toBe("ask")
  })

  it("are opened by an exact allow, which is said", async () => {
    const { enable, effect } = await start({ config: { "opencode.json": arrayOf(["*", "deny"]) } })
    const reply = await enable("a")
    expect(reply).toMatchObject({ ok: true, reason: "allow_added", verification: { method: "host" } })
    expect(dataOf(reply, "opens_for")).toEqual({ agents: ["explore", "title", "summary"] })
    expect(reply.impact.map(({ agents, before, after }) => `${agents.join()} ${before} ${after}`)).toEqual([
      "build,plan,general,explore deny allow",
      "compaction,title,summary deny allow",
    ])
    expect(await effect("a", "explore")).toBe("allow")
  })

  it("are not opened when a rule goes", async () => {
    const { enable, effect } = await start({ config: { "opencode.json": arrayOf(["b", "ask"], ["a", "deny"]) } })
    const reply = await enable("a")
    expect(codes(reply)).not.toContain("opens_for")
    expect(reply.unaffected).toEqual(["explore", "title", "summary"])
    expect(await effect("a", "explore")).toBe("deny")
  })
})

describe("another plugin's rules", () => {
  const allows = (id: string, ...only: string[]): Options => ({
    hurried: true,
    alter: (agents) => {
      for (const agent of agents)
        if (only.length === 0 || only.includes(agent.id)) agent.permissions.push(rule(id, "allow"))
    },
  })

  it("make an agent unpredictable, which is said", async () => {
    const { disable, effect } = await start(allows("c", "plan"))
    const reply = await disable("a")
    expect(reply).toMatchObject({ ok: true, changed: true, unpredicted: ["plan"], verification: { method: "host" } })
    expect(dataOf(reply, "model_differs")).toEqual({
      agents: ["plan"],
      agent: "plan",
      predicted: [],
      real: [
        { action: "*", resource: "*", effect: "allow" },
        { action: "*", resource: "*", effect: "allow" },
        rule("c", "allow"),
      ],
    })
    expect(reply.impact.flatMap(({ agents }) => agents)).not.toContain("plan")
    expect(await effect("a")).toBe("deny")
  })

  it("stop a change whose caller is unpredictable, with the rule to paste", async () => {
    const { disable, names, path } = await start(allows("c"))
    const reply = await disable("a")
    expect(reply).toMatchObject({ ok: false, error: { code: "prediction_failed" } })
    expect(reply.error?.data?.manual).toEqual({
      file: path("opencode.jsonc"),
      text: `"permissions": [{ "action": "skill", "resource": "a", "effect": "deny" }]`,
    })
    expect(reply.error?.data?.agents).toContain("build")
    expect(names()).toEqual([])
  })

  it("stand behind ours, where the global files' own run is found", async () => {
    const before = arrayOf(["b", "ask"])
    const { disable, text } = await start({ ...allows("c"), config: { "opencode.json": before } })
    expect(await disable("a")).toMatchObject({ ok: true, unpredicted: [], verification: { method: "host" } })
    const reply = await disable("c")
    expect(reply).toMatchObject({ ok: false, error: { code: "not_effective" } })
    const blocked = reply.error?.data?.blocked as { rule: { origin: object } }[]
    expect(blocked[0]?.rule).toMatchObject({ resource: "c", origin: { layer: "unknown", file: null } })
    expect(text("opencode.json")).toBe(arrayOf(["b", "ask"], ["a", "deny"]))
  })

  it("are shown as of unknown place", async () => {
    const { inspect, list } = await start(allows("a"))
    const reply = await inspect("a")
    expect(reply.rules[reply.caller.rule ?? -1]).toMatchObject({ effect: "allow", origin: { layer: "unknown" } })
    expect(codes(reply)).toEqual(["model_differs"])
    expect(codes(await list())).toEqual(["model_differs"])
  })

  it("that speak of other tools are no matter", async () => {
    const { disable } = await start({
      alter: (agents) => {
        for (const { permissions } of agents) permissions.push({ action: "edit", resource: "*", effect: "ask" })
      },
    })
    expect(await disable("a")).toMatchObject({
      ok: true,
      notices: [],
      unpredicted: [],
      verification: { method: "host" },
    })
  })
})

it("refuses an edit that would change another skill", async () => {
  // On 2.0 `tools` lie below the map: an entry for `a` alone leaves the others denied.
  const { enable, effect } = await start({ config: { "opencode.json": '{ "tools": { "skill": false } }' } })
  const reply = await enable("a")
  expect([await effect("b"), await effect("c")]).toEqual(["deny", "deny"])
  if (reply.ok) expect(await effect("a")).toBe("allow")
  else expect(reply.error?.code).toBe("not_effective")
})
