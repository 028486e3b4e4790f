import { lutimesSync, mkdirSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, describe, expect, it } from "vitest"
import { lastMatch, like } from "./rules.ts"
import { createStandin, type Listing, type Standin, type StandinOptions } from "./standin.ts"

const DELAY = 60
const idle = { id: "idle", setup: () => {} }
const skillRules = (...rules: [resource: string, effect: string][]) =>
  JSON.stringify({ permissions: rules.map(([resource, effect]) => ({ action: "skill", resource, effect })) })

let host: Standin
function standin(options: StandinOptions = {}): Standin {
  host = createStandin({ reloadDelayMs: DELAY, ...options })
  return host
}
afterEach(() => host.stop())

function put(path: string, text: string) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}
/** The `skill` rules of an agent, as `resource effect`. */
async function rulesOf(agent: string): Promise<string[] | undefined> {
  const { data } = await host.agents()
  const rules = data.find((one) => one.id === agent)?.permissions
  return rules?.filter((rule) => rule.action === "skill").map((rule) => `${rule.resource} ${rule.effect}`)
}

describe("setup", () => {
  it("sees empty lists, and the same calls are full afterwards", async () => {
    const { load, skill } = standin()
    skill("alpha", { description: "desc of alpha" })
    skill("beta")
    const during: unknown[] = []
    let lists: (() => Promise<Listing<{ id: string }>>)[] = []
    await load({
      id: "p",
      async setup(ctx: Record<"agent" | "skill", { list: () => Promise<Listing<{ id: string }>> }>) {
        lists = [ctx.agent.list, ctx.skill.list]
        for (const list of lists) during.push((await list()).data)
      },
    })
    expect(during).toEqual([[], []])
    const after = await Promise.all(lists.map((list) => list()))
    expect(after.map((list) => list.data.map((one) => one.id))).toEqual([
      ["build", "plan", "general", "explore", "compaction", "title", "summary"],
      ["opencode", "report", "alpha", "beta"],
    ])
    expect(after[0]?.location).toEqual({ directory: host.project, project: { id: "global", directory: "/" } })
  })

  it.each([
    ["beta", false, "location"],
    ["2.0", true, "path"],
  ] as const)("on %s hands over the recorded keys", async (build, later, pathKey) => {
    standin({ build, options: { a: 1 } }).skill("alpha", { description: "d" })
    let context: object = {}
    await host.load({
      id: "p",
      setup(ctx: object) {
        context = ctx
      },
    })
    const recorded = "options agent aisdk catalog command event integration plugin reference skill tool session".split(
      " ",
    )
    expect(Object.keys(context).sort()).toEqual([...recorded, ...(later ? ["app", "location"] : [])].sort())
    expect(context).toMatchObject({ options: { a: 1 } })
    const path = join(host.configDir, "skills/alpha/SKILL.md")
    const alpha = { id: "alpha", name: "alpha", description: "d", content: "BODY-OF-alpha\n", [pathKey]: path }
    expect((await host.skills()).data.at(-1)).toEqual(alpha)
  })
})

describe("skill ids", () => {
  it("come from the path, never from the frontmatter name", async () => {
    standin().skill("pdf", { name: "Other name" })
    host.skill("teams/release")
    put(join(host.configDir, "skills/flat.md"), "---\ndescription: f\n---\n")
    put(join(host.configDir, "skills/teams/notes.md"), "---\ndescription: none\n---\n")
    put(join(host.configDir, "skill/single/SKILL.md"), "---\ndescription: s\n---\n")
    await host.load(idle)
    const { data } = await host.skills()
    const found = data.slice(2).map((skill) => `${skill.id} = ${skill.name}`)
    expect(found).toEqual(["single = single", "flat = flat", "pdf = Other name", "release = release"])
  })
})

describe("merged permissions", () => {
  it("follow the order of documents, top level before per-agent", async () => {
    const { root } = standin({ env: { OPENCODE_CONFIG_CONTENT: skillRules(["content", "deny"]) } })
    host.env.OPENCODE_CONFIG = join(root, "named.json")
    const documents: [file: string, id: string][] = [
      ["project/.opencode/opencode.jsonc", "8"],
      ["project/.opencode/opencode.json", "7"],
      [".opencode/opencode.json", "6"],
      ["project/opencode.jsonc", "5"],
      ["project/opencode.json", "4"],
      ["opencode.json", "3"],
      ["named.json", "2"],
      ["config/opencode/opencode.jsonc", "1"],
      ["config/opencode/opencode.json", "0"],
    ]
    const rule = (resource: string) => [{ action: "skill", resource, effect: "deny" }]
    for (const [file, id] of documents) {
      const agents = { plan: { permissions: rule(`plan-${id}`) } }
      put(join(root, file), JSON.stringify({ permissions: rule(id), agents }))
    }
    put(join(root, "config/opencode/config.json"), skillRules(["never-read", "deny"]))
    const file = (id: string) => `---\npermissions:\n  - {action: skill, resource: ${id}, effect: deny}\n---\n`
    host.agent("plan", file("md-agents"))
    put(join(host.configDir, "agent/plan.md"), file("md-agent"))
    put(join(host.project, ".opencode/agents/plan.md"), file("md-project"))
    await host.load(idle)

    const top = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "content"].map((id) => `${id} deny`)
    expect(await rulesOf("build")).toEqual(top)
    const own = ["plan-0", "plan-1", "md-agent", "md-agents", "plan-2", "plan-3", "plan-4", "plan-5", "plan-6"]
    const ownLast = ["plan-7", "plan-8", "md-project"]
    expect(await rulesOf("plan")).toEqual([...top, ...[...own, ...ownLast].map((id) => `${id} deny`)])
  })

  const mixed = `{
    "permissions": [
      {"action": "skill", "resource": "array", "effect": "ask"},
      {"action": "skill", "resource": "bad", "effect": "never"},
    ],
    // tools, map and array in one document
    "permission": {"skill": {"b": "deny", "10": "ask", "2": "deny"}},
    "tools": {"skill": false},
  }`
  it.each([
    ["2.0", ["* deny", "2 deny", "10 ask", "b deny", "array ask"]],
    ["beta", ["* deny", "2 deny", "10 ask", "b deny"]],
  ] as const)("on %s read both dialects in one document", async (build, expected) => {
    standin({ build }).config("opencode.jsonc", mixed)
    await host.load(idle)
    expect(await rulesOf("build")).toEqual(expected)
  })

  it.each([
    ["2.0", ["a deny"]],
    ["beta", []],
  ] as const)("on %s meet one malformed array element", async (build, expected) => {
    standin({ build }).config("opencode.json", skillRules(["a", "deny"], ["b", "never"]))
    await host.load(idle)
    expect(await rulesOf("build")).toEqual(expected)
  })

  it.each(["", "[]", "// nothing", '{"permissions": [{"action": "skill", "resource": "a", "eff'])(
    "lose a document that reads %j, and only that one",
    async (text) => {
      standin().config("opencode.json", text)
      host.config("opencode.jsonc", skillRules(["kept", "deny"]))
      await host.load(idle)
      expect(await rulesOf("build")).toEqual(["kept deny"])
    },
  )

  it("lose an agent file's array beside a key that is not a V2 agent key", async () => {
    const array = "permissions:\n  - {action: skill, resource: a, effect: deny}"
    standin().agent("plan", `---\ntemperature: 0.1\n${array}\n---\n`)
    host.agent("build", `---\nsteps: 3\n${array}\n---\n`)
    await host.load(idle)
    expect([await rulesOf("plan"), await rulesOf("build")]).toEqual([[], ["a deny"]])
  })

  it("break the location when {file:…} is missing, and substitute {env:…}", async () => {
    standin({ env: { TEAM: "red" } }).config("opencode.json", skillRules(["{env:TEAM}-*", "deny"]))
    await host.load(idle)
    expect(await rulesOf("build")).toEqual(["red-* deny"])
    host.config("opencode.jsonc", skillRules(["{file:./missing}", "deny"]))
    await expect.poll(() => host.agents().catch(String)).toMatch(/\{file:.\/missing\} is missing/)
  })

  it("match by the last rule", () => {
    const rules = [
      { action: "*", resource: "*", effect: "allow" },
      { action: "skill", resource: "pdf*", effect: "deny" },
      { action: "sk*", resource: "pdf-1", effect: "ask" },
    ] as const
    const effects = ["docx", "pdf", "pdf-1"].map((id) => lastMatch(rules, "skill", id))
    expect([...effects, lastMatch([], "skill", "pdf")]).toEqual(["allow", "deny", "ask", "ask"])
  })

  // Observed on V2 builds: pattern, what it matches, what it does not.
  it.each<[string, string[], string[]]>([
    ["pdf*", ["pdf", "pdf-10"], ["PDF-tools", "xpdf"]],
    ["pdf-?", ["pdf-1"], ["pdf-", "pdf-10"]],
    ["*", ["", "a/b", "ab\ncd"], []],
    ["a\\b", ["a/b", "a\\b"], ["ab"]],
    ["my *", ["my", "my skill"], ["mySkill"]],
    ["[a-z]*", [], ["a"]],
    ["{a,b}", ["{a,b}"], ["a"]],
    ["?", ["a"], ["", "ab", "😀"]],
    ["a.b", ["a.b"], ["axb"]],
  ])("pattern %j", (pattern, match, miss) => {
    expect([...match, ...miss].filter((value) => like(pattern, value))).toEqual(match)
  })
})

describe("hot reload", () => {
  it("keeps the old rules until the delay has passed, also through a rename", async () => {
    standin({ reloadDelayMs: 400 }).config("opencode.json", skillRules(["old", "deny"]))
    await host.load(idle)
    const started = performance.now()
    host.config("new.json", skillRules(["new", "ask"]))
    renameSync(join(host.configDir, "new.json"), join(host.configDir, "opencode.json"))
    expect(await rulesOf("build")).toEqual(["old deny"])
    await expect.poll(() => rulesOf("build"), { timeout: 5_000, interval: 5 }).toEqual(["new ask"])
    expect(performance.now() - started).toBeGreaterThan(390)
  })

  it("drops the rules of a file that is gone", async () => {
    standin().config("opencode.json", skillRules(["a", "deny"]))
    await host.load(idle)
    unlinkSync(join(host.configDir, "opencode.json"))
    await expect.poll(() => rulesOf("build")).toEqual([])
  })

  it("does not see through a symlink until the link's own times change", async () => {
    const link = join(standin().configDir, "opencode.jsonc")
    const target = join(host.root, "dotfiles.jsonc")
    writeFileSync(target, skillRules(["old", "deny"]))
    symlinkSync(target, link)
    await host.load(idle)
    writeFileSync(target, skillRules(["new", "deny"]))
    await sleep(4 * DELAY)
    expect(await rulesOf("build")).toEqual(["old deny"])
    const now = new Date()
    lutimesSync(link, now, now)
    await expect.poll(() => rulesOf("build")).toEqual(["new deny"])
  })
})

describe("call", () => {
  const schema = { type: "object", properties: { n: { type: "number" } }, additionalProperties: false }
  const text = [{ type: "text", text: "hi" }]
  type Execute = (input: unknown, context: Record<string, unknown>) => unknown
  function plugin(execute: Execute, more: object = { output: schema }) {
    const tool = {
      name: "t",
      description: "",
      input: schema,
      jsonSchema: schema,
      options: { codemode: false },
      execute,
    }
    return {
      id: "p",
      setup: (ctx: { tool: { transform(change: (editor: { add(tool: object): void }) => void): Promise<void> } }) =>
        ctx.tool.transform((editor) => editor.add({ ...tool, ...more })),
    }
  }
  const call = (agent = "build", input: unknown = {}) => host.call("t", input, { agent })

  it("returns output and text, and names the caller", async () => {
    let seen: unknown
    const execute: Execute = async (_, context) => {
      seen = context
      return { output: { n: 1 }, content: text }
    }
    await standin().load(plugin(execute))
    expect(await host.call("t", {}, { agent: "plan", sessionID: "ses_1" })).toEqual({ output: { n: 1 }, text: "hi" })
    expect(seen).toMatchObject({ agent: "plan", sessionID: "ses_1" })
  })

  it.each<[string, unknown, object, RegExp]>([
    ["output without a schema", { output: {}, content: text }, {}, /without a declared output schema/],
    ["output beside its schema", { output: { n: "1" }, content: text }, { output: schema }, /does not fit/],
    ["a bare string", { content: "hi" }, {}, /bare string/],
    ["no text item", { content: [{ type: "file" }] }, {}, /no text item/],
    ["Code Mode", { content: text }, { options: {} }, /Code Mode/],
  ])("fails on %s", async (_, result, more, message) => {
    await standin().load(plugin(() => result, more))
    await expect(call()).rejects.toThrow(message)
  })

  it("fails when the tool throws, and on the beta without jsonSchema", async () => {
    const throwing = plugin(() => {
      throw new Error("boom")
    })
    await standin({ build: "beta" }).load(throwing)
    await expect(call()).rejects.toThrow(/threw/)
    await expect(host.load(plugin(() => ({}), { jsonSchema: undefined }))).rejects.toThrow(/jsonSchema/)
  })

  it("validates input on 2.0 only", async () => {
    const echo: Execute = (input) => ({ content: [{ type: "text", text: JSON.stringify(input) }] })
    await standin({ build: "beta" }).load(plugin(echo))
    expect(await call("build", { x: null })).toEqual({ output: undefined, text: '{"x":null}' })
    host.stop()
    await standin({ build: "2.0" }).load(plugin(echo))
    await expect(call("build", { x: null })).rejects.toThrow(/input refused/)
  })

  it("does not offer the tool to explore, nor where a rule denies it", async () => {
    standin().config(
      "opencode.json",
      '{"agents": {"plan": {"permissions": [{"action": "t", "resource": "*", "effect": "deny"}]}}}',
    )
    await host.load(plugin(() => ({ content: text })))
    await expect(call("explore")).rejects.toThrow(/hidden from agent explore/)
    await expect(call("plan")).rejects.toThrow(/hidden from agent plan/)
    expect((await call("build")).text).toBe("hi")
  })

  it("runs calls of one turn at the same time", async () => {
    let running = 0
    let most = 0
    const execute: Execute = async () => {
      most = Math.max(most, ++running)
      await sleep(20)
      running--
      return { content: text }
    }
    await standin().load(plugin(execute))
    await Promise.all([call(), call(), call()])
    expect(most).toBe(3)
  })
})
