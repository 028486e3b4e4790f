// Facts of the real host that the plugin and the other tests lean on, measured on 1.18.34.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { debugAgent, debugSkill, type Host, hostAvailable, startHost } from "./host.ts"
import { createSandbox, type Sandbox } from "./sandbox.ts"
import { type ScriptedModel, startScriptedModel } from "./scripted-model.ts"

const stub = `
const client = async (input, url) => {
  const { data, error, response } = await input.client._client.get({ url })
  return { data, error, status: response.status }
}
export default {
  id: "stub",
  server: async (input) => ({
    "tool.definition": async ({ toolID }, output) => {
      if (toolID === "probe" && "jsonSchema" in output) {
        output.jsonSchema = { type: "object", properties: { what: { enum: ["a", "b"] } }, additionalProperties: false }
      }
    },
    tool: {
      probe: {
        description: "Answers with what it got.",
        args: { what: { type: "string" } },
        execute: async (args, context) => ({
          title: "Probed",
          metadata: { seen: true },
          output: JSON.stringify({
            args,
            agent: context.agent,
            health: await client(input, "/global/health"),
            skills: (await client(input, "/skill")).data.map((skill) => skill.name).sort(),
          }),
        }),
      },
    },
  }),
}
`

const config = (skill: object) => JSON.stringify({ $schema: "https://opencode.ai/config.json", permission: { skill } })

describe.skipIf(!hostAvailable)("OpenCode 1", () => {
  let sandbox: Sandbox
  let model: ScriptedModel
  let host: Host

  beforeAll(async () => {
    sandbox = await createSandbox()
    model = await startScriptedModel()
    await sandbox.config("plugins/stub.ts", stub)
    await sandbox.config("opencode.json", config({ "ask-*": "ask" }))
    await sandbox.skill("pdf", { description: "Reads <b>PDF</b> & more.", dir: "files/p d&f" })
    await sandbox.skill("ask-me", { frontmatter: { license: "MIT" } })
    await sandbox.skill("silent", { description: null })
    await sandbox.agent(
      "writer",
      "---\nname: author\nmode: primary\npermission:\n  skill:\n    pdf: deny\n---\nYou write.",
    )
    host = await startHost(sandbox, { model })
  })

  afterAll(async () => {
    await host?.stop()
    await model?.stop()
    await sandbox?.remove()
  })

  const load = (name: string) => model.reply({ tools: [{ name: "skill", args: { name } }] })

  test("lives in the sandbox only", async () => {
    expect(await host.get("/path")).toEqual({
      home: sandbox.home,
      state: sandbox.stateDir,
      config: sandbox.configDir,
      worktree: "/",
      directory: sandbox.project,
    })
    expect(await host.get("/config")).toMatchObject({ model: "scripted/model" })
    expect(await sandbox.readConfig("opencode.json")).toBe(config({ "ask-*": "ask" }))
  })

  test("GET /agent lists name, mode and rules in order; a frontmatter name renames an agent", async () => {
    const agents = await host.get<Record<string, unknown>[]>("/agent")
    expect(agents.map(({ name, mode, native, hidden }) => ({ name, mode, native, hidden: hidden ?? false }))).toEqual([
      { name: "build", mode: "primary", native: true, hidden: false },
      { name: "author", mode: "primary", native: false, hidden: false },
      { name: "compaction", mode: "primary", native: true, hidden: true },
      { name: "explore", mode: "subagent", native: true, hidden: false },
      { name: "general", mode: "subagent", native: true, hidden: false },
      { name: "plan", mode: "primary", native: true, hidden: false },
      { name: "summary", mode: "primary", native: true, hidden: true },
      { name: "title", mode: "primary", native: true, hidden: true },
    ])
    const rules = (name: string) => {
      const permission = agents.find((agent) => agent.name === name)?.permission as { permission: string }[]
      return permission.filter((rule) => rule.permission === "*" || rule.permission === "skill")
    }
    expect(rules("author")).toEqual([
      { permission: "*", pattern: "*", action: "allow" },
      { permission: "skill", pattern: "ask-*", action: "ask" },
      { permission: "skill", pattern: "pdf", action: "deny" },
    ])
  })

  test("a tool call reaches the plugin, which reads the host through its client", async () => {
    const session = await host.createSession()
    model.reply({ tools: [{ name: "probe", args: { other: 1 } }] }, { text: "finished" })
    const answer = await host.prompt(session, { agent: "build", text: "Probe." })

    expect(answer.parts.find((part) => part.type === "text")?.text).toBe("finished")
    const [state, ...more] = await host.toolParts(session, "probe")
    expect(more).toEqual([])
    expect(state).toMatchObject({ status: "completed", title: "Probed", metadata: { seen: true, truncated: false } })
    expect(JSON.parse(state?.output ?? "")).toEqual({
      args: { other: 1 },
      agent: "build",
      health: { data: { healthy: true, version: "1.18.34" }, status: 200 },
      skills: ["ask-me", "customize-opencode", "pdf", "silent"],
    })
    expect(model.last().toolResults.map((result) => result.content)).toEqual([state?.output])
    expect(model.last().tools.find((tool) => tool.name === "probe")).toEqual({
      name: "probe",
      description: "Answers with what it got.",
      parameters: { type: "object", properties: { what: { enum: ["a", "b"] } }, additionalProperties: false },
    })
  })

  test("the system prompt lists the skills with a description; the skill tool loads one", async () => {
    const session = await host.createSession()
    load("pdf")
    await host.prompt(session, { text: "Load it." })

    const [builtIn] = (await host.get<{ name: string; description: string }[]>("/skill")).filter(
      (skill) => skill.name === "customize-opencode",
    )
    expect(skillSection(model.last().system)).toBe(
      [
        "Skills provide specialized instructions and workflows for specific tasks.",
        "Use the skill tool to load a skill when a task matches its description.",
        "<available_skills>",
        "  <skill>",
        "    <name>ask-me</name>",
        "    <description>About ask-me.</description>",
        `    <location>${sandbox.configDir}/skills/ask-me/SKILL.md</location>`,
        "  </skill>",
        "  <skill>",
        "    <name>customize-opencode</name>",
        `    <description>${builtIn?.description}</description>`,
        "    <location>&lt;built-in&gt;</location>",
        "  </skill>",
        "  <skill>",
        "    <name>pdf</name>",
        "    <description>Reads <b>PDF</b> & more.</description>",
        `    <location>${sandbox.configDir}/skills/files/p d&amp;f/SKILL.md</location>`,
        "  </skill>",
        "</available_skills>",
      ].join("\n"),
    )
    const tool = model.last().tools.find((tool) => tool.name === "skill")
    expect(tool?.description).not.toContain("pdf")
    expect(await host.toolParts(session, "skill")).toMatchObject([
      { status: "completed", title: "Loaded skill: pdf", output: expect.stringContaining("Body of pdf.") },
    ])
  })

  test("ask: a request waits; once loads the skill, reject refuses it", async () => {
    for (const reply of ["once", "reject"] as const) {
      const session = await host.createSession()
      load("ask-me")
      const turn = host.prompt(session, { text: "Load it." })
      const request = await host.nextPermission()
      expect(request).toMatchObject({
        sessionID: session,
        permission: "skill",
        patterns: ["ask-me"],
        always: ["ask-me"],
        metadata: {},
      })
      await host.replyPermission(request.id, reply)
      await turn
      expect(await host.permissions()).toEqual([])
      expect(await host.toolParts(session, "skill")).toMatchObject([
        reply === "once"
          ? { status: "completed", output: expect.stringContaining("Body of ask-me.") }
          : { status: "error", error: "The user rejected permission to use this specific tool call." },
      ])
    }
  })

  test("deny in the config: after a restart the skill is neither listed nor loaded", async () => {
    await sandbox.config("opencode.json", config({ pdf: "deny" }))
    await host.restart()
    const session = await host.createSession()
    load("pdf")
    await host.prompt(session, { text: "Load it." })

    const section = skillSection(model.last().system)
    expect(section).toContain("<name>ask-me</name>")
    expect(section).not.toContain("<name>pdf</name>")
    expect(await host.toolParts(session, "skill")).toMatchObject([
      { status: "error", error: expect.stringMatching(/^The user has specified a rule which prevents you/) },
    ])
  })

  test("the debug commands need no server", async () => {
    const [refused, allowed, skills] = await Promise.all([
      debugAgent(sandbox, "build", { tool: "skill", params: { name: "pdf" } }),
      debugAgent(sandbox, "build", { tool: "probe", params: {} }),
      debugSkill(sandbox),
    ])
    expect(refused.exitCode).toBe(1)
    expect(allowed).toMatchObject({ exitCode: 0, json: { tool: "probe", input: {}, result: { title: "Probed" } } })
    expect(skills.json).toContainEqual(expect.objectContaining({ name: "silent" }))
  })
})

function skillSection(system: string): string {
  return /^Skills provide[\s\S]*<\/available_skills>/m.exec(system)?.[0] ?? ""
}
