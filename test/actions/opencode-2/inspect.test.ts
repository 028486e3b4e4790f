import { join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import { arrayOf, placeOf, rule, start, stop } from "./harness.ts"

afterEach(stop)

const JSONC = `{
  // who may see what
  "permissions": [
    {"action": "skill", "resource": "*", "effect": "ask"},
    {"action": "skill", "resource": "a", "effect": "deny"}
  ],
  "agents": {"plan": {"permissions": [{"action": "skill", "resource": "?", "effect": "allow"}]}}
}
`

describe("origins", () => {
  it("name file, line and column, and the agent of a per-agent rule", async () => {
    const { inspect, path } = await start({ config: { "opencode.jsonc": JSONC } })
    const reply = await inspect("a")
    expect(reply).toMatchObject({ ok: true, action: "inspect", notices: [] })
    const file = path("opencode.jsonc")
    expect(reply.rules).toEqual([
      { ...rule("*", "allow"), action: "*", origin: { layer: "host-default", file: null, line: null, column: null } },
      { ...rule("*", "ask"), origin: { layer: "global", file, line: 4, column: 5 } },
      { ...rule("a", "deny"), origin: { layer: "global", file, line: 5, column: 5 } },
      {
        ...rule("?", "allow"),
        origin: { layer: "global", file, ...placeOf(JSONC, '{"action": "skill", "resource": "?"'), agent: "plan" },
      },
    ])
    expect(reply.conclusion).toBe(
      `\`a\` is denied for build by \`{skill, a, deny}\` in \`${file}\` line 5, which overrides the ask on line 4`,
    )
  })

  it("give every agent its deciding rule, hidden ones included", async () => {
    const { inspect } = await start({ config: { "opencode.jsonc": JSONC } })
    const { agents } = await inspect("b")
    expect(agents.map(({ id, hidden, mode, state }) => `${id} ${hidden} ${mode} ${state}`)).toEqual([
      "build false primary ask",
      "plan false primary available",
      "general false subagent ask",
      "explore false subagent ask",
      "compaction true primary ask",
      "title true primary ask",
      "summary true primary ask",
    ])
    expect(new Set(agents.map(({ explicit }) => explicit))).toEqual(new Set([true]))
  })

  it("trace the caller's matching rules in order; the last decides", async () => {
    const { inspect } = await start({ config: { "opencode.jsonc": JSONC } })
    const { caller, rules, agents } = await inspect("a", {}, "plan")
    const traced = caller.trace.map(
      (index) => `${rules[index]?.action} ${rules[index]?.resource} ${rules[index]?.effect}`,
    )
    expect(traced).toEqual(["* * allow", "* * allow", "skill * ask", "skill a deny", "skill ? allow"])
    expect(caller).toMatchObject({ id: "plan", verified: true, state: "available", explicit: true, hidden: false })
    expect(caller.rule).toBe(caller.trace.at(-1))
    expect(agents.find(({ id }) => id === "plan")?.rule).toBe(caller.rule)
  })

  it("tell the host's own denial from the user's", async () => {
    const { inspect } = await start()
    const { agents, rules } = await inspect("a")
    const explore = agents.find(({ id }) => id === "explore")
    expect(explore).toMatchObject({ state: "disabled", unlisted: "no_skill_tool" })
    expect(rules[explore?.rule ?? -1]).toMatchObject({
      action: "*",
      effect: "deny",
      origin: { layer: "built-in-agent", file: null },
    })
  })

  it.each<[string, string, (root: string) => Record<string, string>, string, string | null]>([
    ["the lower global file", "config/opencode/opencode.json", () => ({}), "global", "config/opencode/opencode.json"],
    [
      "$OPENCODE_CONFIG",
      "named.json",
      (root) => ({ OPENCODE_CONFIG: join(root, "named.json") }),
      "explicit",
      "named.json",
    ],
    ["a directory above the project", "opencode.jsonc", () => ({}), "project", "opencode.jsonc"],
    ["the project", "project/opencode.json", () => ({}), "project", "project/opencode.json"],
    [".opencode", "project/.opencode/opencode.jsonc", () => ({}), "project", "project/.opencode/opencode.jsonc"],
    [
      "$OPENCODE_CONFIG_CONTENT",
      "unused.json",
      () => ({ OPENCODE_CONFIG_CONTENT: arrayOf(["a", "deny"]) }),
      "content",
      null,
    ],
  ])("find a rule in %s", async (_, name, env, layer, file) => {
    const { inspect, host } = await start({ files: { [name]: arrayOf(["x", "ask"], ["a", "deny"]) }, env })
    const { rules, caller, notices } = await inspect("a")
    const line = file === null ? 3 : 4
    const at = { layer, file: file && join(host.root, file), line, column: 5 }
    expect(notices).toEqual([])
    expect(rules[caller.rule ?? -1]).toMatchObject({ ...rule("a", "deny"), origin: at })
  })

  it("find a rule of the OpenCode 1 map", async () => {
    const text = '{\r\n\t"permission": {\r\n\t\t"skill": { "b": "ask", "a": "deny" }\r\n\t}\r\n}'
    const { inspect, path } = await start({ config: { "opencode.json": text } })
    const { rules, caller } = await inspect("a")
    const origin = { layer: "global", file: path("opencode.json"), ...placeOf(text, '"a"') }
    expect(rules[caller.rule ?? -1]).toEqual({ ...rule("a", "deny"), origin })
  })

  it("speak of the raw text where a reference stands before the rule", async () => {
    const text = `{"username": "{env:LONG_NAME}", "permissions": [${JSON.stringify(rule("a", "deny"))}]}`
    process.env.LONG_NAME = "x".repeat(500)
    try {
      const { inspect, path } = await start({
        config: { "opencode.json": text },
        env: () => ({ LONG_NAME: "x".repeat(500) }),
      })
      const reply = await inspect("a")
      const { rules, caller } = reply
      const at = { line: 1, column: placeOf(text, '{"action"').column }
      expect(rules[caller.rule ?? -1]?.origin).toEqual({ layer: "global", file: path("opencode.json"), ...at })
      expect(JSON.stringify(reply)).not.toContain("xxxx")
    } finally {
      delete process.env.LONG_NAME
    }
  })
})

describe("agent files", () => {
  it("add rules after every document's, each with its place", async () => {
    const head = "---\ndescription: d\npermissions:\n  - {action: skill, resource: b, effect: allow}\n"
    const { inspect, host } = await start({
      config: { "opencode.jsonc": arrayOf(["a", "ask"]) },
      files: {
        "config/opencode/agents/build.md": `${head}  - action: skill\n    resource: a\n    effect: deny\n---\nBODY\n`,
        "project/.opencode/agent/plan.md": "---\npermission:\n  skill:\n    'a': deny\n---\n",
      },
    })
    const { rules, agents, caller, notices } = await inspect("a")
    expect(notices).toEqual([])
    const build = join(host.configDir, "agents/build.md")
    const plan = join(host.project, ".opencode/agent/plan.md")
    expect(rules[caller.rule ?? -1]).toEqual({
      ...rule("a", "deny"),
      origin: { layer: "global", file: build, line: 5, column: 5, agent: "build" },
    })
    const ofPlan = agents.find(({ id }) => id === "plan")
    expect(rules[ofPlan?.rule ?? -1]).toEqual({
      ...rule("a", "deny"),
      origin: { layer: "project", file: plan, line: 4, column: 5, agent: "plan" },
    })
    expect(agents.find(({ id }) => id === "general")).toMatchObject({ state: "ask" })
  })

  it("lose their array beside a key of OpenCode 1", async () => {
    const array = "permissions:\n  - {action: skill, resource: a, effect: deny}"
    const { inspect } = await start({
      files: { "config/opencode/agents/build.md": `---\ntemperature: 1\n${array}\n---\n` },
    })
    expect(await inspect("a")).toMatchObject({ notices: [], caller: { state: "available" } })
  })

  it("make agents of their own, by their path", async () => {
    const array = "permissions:\n  - {action: skill, resource: a, effect: ask}"
    const { inspect, host } = await start({
      files: { "config/opencode/agents/team/mine.md": `---\nmode: subagent\n${array}\n---\n` },
    })
    const { rules, agents, notices } = await inspect("a")
    expect(notices).toEqual([])
    const mine = agents.find(({ id }) => id === "team/mine")
    expect(mine).toMatchObject({ mode: "subagent", state: "ask", hidden: false })
    const file = join(host.configDir, "agents/team/mine.md")
    expect(rules[mine?.rule ?? -1]?.origin).toEqual({ layer: "global", file, line: 4, column: 5, agent: "team/mine" })
  })

  it("are known by their path, whatever name stands in them", async () => {
    const { inspect } = await start({
      files: { "config/opencode/agents/build.md": "---\nname: other\npermission:\n  skill:\n    a: deny\n---\n" },
    })
    const { rules, caller, notices } = await inspect("a")
    expect(notices).toEqual([])
    expect(rules[caller.rule ?? -1]?.origin).toMatchObject({ layer: "global", line: 5, agent: "build" })
  })
})

describe("documents", () => {
  const off = { skill: false }
  const map = (id: string, effect: string) => ({ permission: { skill: { [id]: effect } } })
  it.each<[string, "beta" | "2.0", object, string]>([
    ["agents", "2.0", { agents: { build: { permissions: [rule("a", "deny")] } } }, "deny global"],
    ["agent", "2.0", { agent: { build: map("a", "deny") } }, "deny global"],
    ["mode", "2.0", { mode: { build: map("a", "deny") } }, "deny global"],
    ["agent", "beta", { agent: { build: map("a", "deny") } }, "deny global"],
    ["mode", "beta", { mode: { build: map("a", "deny") } }, "deny global"],
    // On the betas an agent's `permission` replaces its `tools` key by key; later sources lay one over the other.
    ["tools and a map", "beta", { agent: { build: { tools: off, ...map("b", "allow") } } }, "allow host-default"],
    ["tools and a map", "2.0", { agent: { build: { tools: off, ...map("b", "allow") } } }, "deny global"],
    // On the betas a `mode` replaces an `agent` of its name.
    [
      "agent and mode",
      "beta",
      { agent: { build: map("a", "ask") }, mode: { build: map("b", "deny") } },
      "allow host-default",
    ],
    [
      "agent and agents",
      "2.0",
      { agent: { build: map("a", "ask") }, agents: { build: { permissions: [rule("a", "deny")] } } },
      "deny global",
    ],
    // The betas lose `agents` and the array beside a key of OpenCode 1, malformed or not.
    [
      "agent and malformed agents",
      "beta",
      { agent: { build: map("a", "deny") }, agents: { build: { permissions: [{}] } } },
      "deny global",
    ],
    ["a map and a malformed array", "beta", { ...map("a", "deny"), permissions: [{}] }, "deny global"],
    ["a malformed map value", "beta", { permission: { skill: { a: "deny", b: "never" } } }, "allow host-default"],
    ["a malformed element", "beta", { permissions: [rule("a", "deny"), {}] }, "allow host-default"],
    ["a malformed element", "2.0", { permissions: [rule("a", "deny"), {}] }, "deny global"],
    [
      "a malformed agent",
      "beta",
      { permissions: [rule("a", "deny")], agents: { plan: { permissions: [{}] } } },
      "allow host-default",
    ],
  ])("are followed: %s on %s", async (_, build, document, expected) => {
    const { inspect, effect } = await start({ build, config: { "opencode.json": JSON.stringify(document) } })
    const { caller, notices, rules } = await inspect("a")
    const decided = rules[caller.rule ?? -1]
    expect(`${decided?.effect} ${decided?.origin.layer}`).toBe(expected)
    expect(await effect("a")).toBe(decided?.effect)
    expect(notices).toEqual([])
  })

  it("let an agent start over where it was disabled before", async () => {
    const { inspect } = await start({
      config: {
        "opencode.json": JSON.stringify({ agents: { plan: { permissions: [rule("a", "deny")] } } }),
        "opencode.jsonc": JSON.stringify({ agents: { plan: { disabled: true } } }),
      },
      files: { "project/opencode.json": JSON.stringify({ agents: { plan: { permissions: [rule("b", "ask")] } } }) },
    })
    const { agents, notices } = await inspect("a")
    expect(notices).toEqual([])
    expect(agents.find(({ id }) => id === "plan")).toMatchObject({ state: "available" })
  })
})

describe("skill", () => {
  it("comes with its whole description, files, flags and record", async () => {
    const body =
      "---\ndescription: |\n  first\n  second\nmetadata:\n  opencode/autoinvoke: 'no'\ndisable-model-invocation: yes\n---\nSECRET BODY\n"
    const { inspect, disable, host } = await start({
      files: {
        "config/opencode/skills/deep/SKILL.md": body,
        "config/opencode/skills/deep/scripts/run.sh": "echo",
        "config/opencode/skills/deep/notes.txt": "n",
      },
    })
    await disable("deep", { note: "too deep" })
    const reply = await inspect("deep")
    expect(reply.skill).toMatchObject({
      id: "deep",
      state: "disabled",
      unlisted: "denied",
      description: "first\nsecond\n",
      realPath: join(host.configDir, "skills/deep/SKILL.md"),
      flags: { disableModelInvocation: true, autoinvoke: false },
      supportingFiles: { count: 2, first: ["notes.txt", "scripts/run.sh"] },
      record: { generation: "opencode-2", file: "opencode.jsonc", id: "deep", effect: "deny", note: "too deep" },
    })
    expect(reply.idDerivation.from).toBe("registry")
    expect(JSON.stringify(reply)).not.toContain("SECRET BODY")
  })

  it("is found by name, and never guessed", async () => {
    const { call } = await start({
      files: {
        "config/opencode/skills/x/SKILL.md": "---\nname: Twin\ndescription: d\n---\n",
        "config/opencode/skills/y/SKILL.md": "---\nname: Twin\ndescription: d\n---\n",
        "config/opencode/skills/z/SKILL.md": "---\nname: Lone\ndescription: d\n---\n",
      },
    })
    expect((await call("inspect", { name: "Lone" })).skill).toMatchObject({ id: "z", name: "Lone" })
    const twin = await call("inspect", { name: "Twin" })
    expect(twin).toMatchObject({ ok: false, error: { code: "name_ambiguous", data: { ids: ["x", "y"] } } })
    expect(await call("inspect", { id: "x", name: "Lone" })).toMatchObject({ error: { code: "invalid_input" } })
    const lost = await call("inspect", { id: "Z" })
    expect(lost).toMatchObject({ error: { code: "skill_not_found" } })
    expect(lost.error?.data?.suggestions).toContain("z")
  })
})
