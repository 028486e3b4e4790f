/** Why a skill is as it is, and what the answers say of it, on both hosts. */
import { symlinkSync } from "node:fs"
import { join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import { refused, validated } from "../tool/validated.ts"
import { HOSTS, type OpenHost, openOpenCode1, openOpenCode2, put, type World } from "./both-hosts.ts"

let host: OpenHost
afterEach(() => host.stop())

const skillMap = (skill: object, more: object = {}): string => JSON.stringify({ permission: { skill }, ...more })

async function ask(call: object, caller = "build") {
  const answer = validated(await host.call(call, { agent: caller }))
  return answer as typeof answer & Record<string, never>
}
const dataOf = (answer: { notices: readonly { code: string; data?: object }[] }, code: string) =>
  answer.notices.find((notice) => notice.code === code)?.data

describe.each(HOSTS)("reachability on $name", ({ open, generation }) => {
  const first = generation === "opencode-1"

  it("says what the model is told, what it can load, and what the user's mention does", async () => {
    host = await open({
      files: { "opencode.json": skillMap({ denied: "deny", asked: "ask" }) },
      loaded: {
        rules: [
          ["skill", "denied", "deny"],
          ["skill", "asked", "ask"],
        ],
      },
      skills: { plain: { description: "d" }, denied: { description: "d" }, asked: { description: "d" } },
    })
    const reach = async (id: string, agent = "build") => (await ask({ action: "inspect", id, agent })).reachability
    const allowed = first ? { mention: true, reasons: ["slash_command"] } : { mention: true, reasons: [] }
    const limited = first ? allowed : { mention: null, reasons: ["unmeasured"] }
    expect(await reach("plain")).toEqual({ model: { listed: true, loadable: true, reasons: [] }, user: allowed })
    expect(await reach("denied")).toEqual({
      model: { listed: false, loadable: false, reasons: ["denied"] },
      user: limited,
    })
    expect(await reach("asked")).toEqual({
      model: { listed: true, loadable: true, reasons: ["asks_first"] },
      user: limited,
    })
    expect(await reach("plain", "explore")).toEqual({
      model: { listed: false, loadable: false, reasons: ["denied"] },
      user: limited,
    })
  })

  it("names every reason", async () => {
    host = await open({
      files: { "opencode.json": skillMap({ "*": "deny" }) },
      loaded: { rules: [["skill", "*", "deny"]] },
      arrange: ({ configDir }) => void put(join(configDir, "skills/bare/SKILL.md"), "---\nname: bare\n---\n"),
      skills: {},
    })
    if (first) host.answerWith("/skill", [{ name: "bare", location: join(host.configDir, "skills/bare/SKILL.md") }])
    const { reachability, skill } = await ask({ action: "inspect", id: "bare" })
    expect(reachability).toMatchObject({ model: { reasons: ["no_skill_tool", "denied", "no_description"] } })
    expect(skill).toMatchObject({ unlisted: "no_skill_tool" })
  })
})

describe.each(HOSTS)("an empty description, on $name", ({ open }) => {
  it("is one: the model is told of the skill", async () => {
    host = await open({ skills: { empty: { description: "" } } })
    const { skill, reachability } = await ask({ action: "inspect", id: "empty" })
    expect(skill).not.toHaveProperty("unlisted")
    expect(reachability).toMatchObject({ model: { listed: true, loadable: true, reasons: [] } })
  })
})

describe("a user's own mention", () => {
  it("is `/name` on OpenCode 1, unless a command has that name", async () => {
    host = await openOpenCode1({ skills: { review: { description: "d" }, pdf: { description: "d" } } })
    const user = async (id: string) => Object((await ask({ action: "inspect", id })).reachability).user
    expect(await user("review")).toEqual({ mention: false, reasons: ["command_of_same_name"] })
    host.answerWith("/command", [])
    expect(await user("pdf")).toEqual({ mention: false, reasons: [] })
    host.answerWith("/command", new Error("no route"))
    expect(await user("pdf")).toEqual({ mention: null, reasons: ["unmeasured"] })
  })

  it.each([
    ["2.0.8", { mention: true, reasons: ["rules_not_asked"] }],
    ["2.0.11", { mention: true, reasons: ["rules_not_asked"] }],
    ["2.0.7", { mention: null, reasons: ["unmeasured"] }],
    ["2.1.0", { mention: null, reasons: ["unmeasured"] }],
    ["0.0.0-beta-17793", { mention: null, reasons: ["unmeasured"] }],
  ])("of a denied skill on OpenCode 2 depends on the build: %s", async (version, user) => {
    host = await openOpenCode2({
      files: { "opencode.json": skillMap({ pdf: "deny" }) },
      standin: {
        wrap: (given) => ({
          id: given.id,
          setup: (context: never) => given.setup({ ...Object(context), app: { version } } as never),
        }),
      },
    })
    expect((await ask({ action: "inspect", id: "pdf" })).reachability).toMatchObject({ user })
    expect((await ask({ action: "inspect", id: "docx" })).reachability).toMatchObject({
      user: { mention: true, reasons: [] },
    })
  })
})

describe.each(HOSTS)("a skill that is not there, on $name", ({ open, generation }) => {
  const first = generation === "opencode-1"

  it("is looked for on the disk: near names, where was searched, what the host passed over", async () => {
    host = await open({
      arrange: ({ configDir, project }) => {
        put(join(configDir, "skills/notes/SKILL.md"), "---\nname: [notes\n---\n")
        put(join(project, ".opencode/skill/notes/skill.md"), "---\nname: notes\n---\n")
      },
    })
    const { error } = refused(await host.call({ action: "disable", id: "notes" }), "skill_not_found")
    expect(error?.data).toEqual({
      suggestions: [],
      searched: [join(host.configDir, "skills"), join(host.project, ".opencode/skill")],
      unregistered: [
        { path: join(host.configDir, "skills/notes/SKILL.md"), why: "its frontmatter is missing, or not sound YAML" },
        {
          path: join(host.project, ".opencode/skill/notes/skill.md"),
          why: "a skill's file has to be called `SKILL.md`",
        },
      ],
    })
    expect(error?.hint).toBe(
      `${join(host.configDir, "skills/notes/SKILL.md")}: its frontmatter is missing, or not sound YAML`,
    )
    const near = refused(await host.call({ action: "inspect", id: "pfd" }), "skill_not_found")
    expect(near.error).toMatchObject({ hint: "did you mean `pdf`?", data: { suggestions: ["pdf"], unregistered: [] } })
  })

  it("may be registered under another name, or be too new", async () => {
    host = await open({
      skills: first ? { "PDF tools": { description: "d" } } : { "pdf-tools": { name: "PDF tools", description: "d" } },
    })
    put(join(host.configDir, "skills/fresh/SKILL.md"), "---\nname: fresh\ndescription: d\n---\n")
    const { error } = refused(await host.call({ action: "inspect", id: "fresh" }), "skill_not_found")
    expect(error?.data?.unregistered).toEqual([
      {
        path: join(host.configDir, "skills/fresh/SKILL.md"),
        why: "the host has not registered it; when it is new, restart the host",
      },
    ])
    if (!first) return
    put(join(host.configDir, "skills/clash/SKILL.md"), "---\nname: PDF tools\ndescription: d\n---\n")
    const clash = refused(await host.call({ action: "inspect", id: "clash" }), "skill_not_found")
    expect(clash.error?.data?.unregistered).toEqual([
      {
        path: join(host.configDir, "skills/clash/SKILL.md"),
        why: "another file is registered as `PDF tools`",
      },
    ])
  })

  it("is looked for where the config says", async () => {
    host = await open({
      arrange: ({ root, configDir }) => {
        const named = [join(root, "named"), "{env:SKILL_TEST_SECRET}/skills", "https://example.org/skills/"]
        put(join(configDir, "opencode.json"), JSON.stringify({ skills: first ? { paths: named } : named }))
        put(join(root, "named/wiki/SKILL.md"), "no head")
      },
    })
    const reply = await host.call({ action: "inspect", id: "wiki" })
    expect(refused(reply, "skill_not_found").error?.data?.searched).toEqual([
      join(host.configDir, "skills"),
      join(host.root, "named"),
    ])
  })
})

describe.each(HOSTS)("files of one id, on $name", ({ open, generation }) => {
  it("are named, the winner's own file and links to it aside", async () => {
    host = await open({
      arrange: ({ configDir, project, root }) => {
        put(join(project, ".claude/skills/pdf/SKILL.md"), "---\nname: pdf\ndescription: d\n---\n")
        put(join(root, "home/.agents/skills/pdf/SKILL.md"), "---\nname: pdf\n---\n")
        symlinkSync(join(configDir, "skills/pdf"), join(project, ".claude/skills/zlink"))
      },
    })
    const answer = await ask({ action: "inspect", id: "pdf" })
    const claude = join(host.project, ".claude/skills/pdf/SKILL.md")
    const agents = join(host.root, "home/.agents/skills/pdf/SKILL.md")
    const first = generation === "opencode-1"
    expect(Object(answer.skill).duplicates).toEqual(first ? [agents, claude] : [claude, agents])
    expect(answer.notices).toEqual(first ? [{ code: "winner_not_stable" }] : [])
    expect(Object((await ask({ action: "inspect", id: "docx" })).skill).duplicates).toEqual([])
  })
})

describe.each(HOSTS)("enable on $name", ({ open, generation }) => {
  it("names the exact rules that it met, and the broad ones", async () => {
    const world: World = {
      files: {
        "opencode.json": '{\n  "permission": { "skill": { "*": "ask", "pdf": "deny" } }\n}\n',
        "opencode.jsonc": '{\n  "permission": { "skill": { "p*": "allow" } }\n}\n',
      },
      loaded: {
        rules: [
          ["skill", "*", "ask"],
          ["skill", "pdf", "deny"],
          ["skill", "p*", "allow"],
        ],
      },
    }
    host = await open(world)
    const place = (name: string, column: number) => ({
      layer: "global",
      file: join(host.configDir, name),
      line: 2,
      column,
    })
    for (const answer of [
      await ask({ action: "enable", id: "pdf", dryRun: true }),
      await ask({ action: "enable", id: "pdf" }),
    ]) {
      expect(answer.candidates).toEqual([{ effect: "deny", origin: place("opencode.json", 42) }])
      expect(answer.relatedRules).toEqual([
        { action: "skill", resource: "*", effect: "ask", origin: place("opencode.json", 30) },
        { action: "skill", resource: "p*", effect: "allow", origin: place("opencode.jsonc", 30) },
      ])
    }
  })

  it("says what hides a skill that no rule hides", async () => {
    host = await open({
      skills: { bare: {} },
      arrange: ({ configDir }) => void put(join(configDir, "skills/bare/SKILL.md"), "---\nname: bare\n---\n"),
    })
    if (generation === "opencode-1")
      host.answerWith("/skill", [{ name: "bare", location: join(host.configDir, "skills/bare/SKILL.md") }])
    const answer = await ask({ action: "enable", id: "bare" })
    expect(answer).toMatchObject({ ok: true, changed: false, reason: "already_enabled" })
    expect(answer.notices).toEqual([
      {
        code: "still_unlisted",
        data: { reason: "no_description", ids: ["bare"] },
      },
    ])
    expect(answer.warnings).toEqual(["no rule hides `bare`, yet the model is not told of it: it has no description"])
    expect((await ask({ action: "disable", id: "bare" })).notices).toEqual([])
  })

  it("points at the project's rule, and at the line to move", async () => {
    host = await open({
      projectFiles: { "opencode.json": '{\n  "permission": { "skill": { "pdf": "deny" } }\n}\n' },
      loaded: { rules: [["skill", "pdf", "deny"]] },
    })
    const { error } = refused(await host.call({ action: "enable", id: "pdf" }), "blocked_elsewhere")
    const place = `\`${join(host.project, "opencode.json")}\` line 2`
    expect(error?.message).toBe(`\`pdf\` stays deny: \`{skill, pdf, deny}\` in ${place} wins for build`)
    expect(error?.hint).toBe(`change ${place}: a project's rules come after the global ones; nothing was written here`)
  })

  it("names the value that an entry would take the place of", async () => {
    host = await open({
      files: { "opencode.json": '{\n  "tools": { "skill": false }\n}\n' },
      loaded: { rules: [["skill", "*", "deny"]] },
      standin: { build: "beta" },
    })
    const reply = await host.call({ action: "enable", id: "pdf" })
    if (generation === "opencode-2") return void expect(validated(reply).ok).toBe(true)
    const { error } = refused(reply, "not_effective")
    expect(error?.hint).toBe(
      `write \`{skill, *, deny}\` in \`${join(host.configDir, "opencode.json")}\` line 2 as a map by hand, with a \`*\` entry that keeps its meaning`,
    )
    expect(error?.data).toMatchObject({ blocked: [{ agent: "build", effect: "deny" }, {}, {}] })
  })
})

describe.each(HOSTS)("disable on $name", ({ open, generation }) => {
  it("names the later key that only its owner can move", async () => {
    host = await open({
      files: { "opencode.json": '{\n  "permission": {\n    "skill": { "docx": "deny" },\n    "*": "ask"\n  }\n}\n' },
      loaded: {
        rules: [
          ["skill", "docx", "deny"],
          ["*", "*", "ask"],
        ],
      },
    })
    const { error } = refused(await host.call({ action: "disable", id: "pdf" }), "not_effective")
    const file = join(host.configDir, "opencode.json")
    expect(error?.message).toBe(
      `a rule for \`pdf\` in the global files would not win: \`{*, *, ask}\` in \`${file}\` line 4 wins for build`,
    )
    expect(error?.hint).toBe(
      `move line 4 above the \`skill\` section in \`${file}\`: the later key wins; nothing was written`,
    )
  })

  it("to `ask` names the subagents that have nobody to ask", async () => {
    host = await open()
    const answer = await ask({ action: "disable", id: "pdf", effect: "ask", dryRun: true })
    const agents = generation === "opencode-1" ? ["explore", "general"] : ["general", "explore"]
    expect(dataOf(answer, "ask_may_hang")).toEqual({ agents })
    expect(answer.warnings).toContain(
      `an \`ask\` may stay unanswered in a run without a user, and in a subagent: \`${agents.join("`, `")}\``,
    )
  })

  it("again, before the host has read the first, says that it waits for a restart", async () => {
    host = await open()
    await ask({ action: "disable", id: "pdf" })
    await host.settle()
    const again = await ask({ action: "disable", id: "pdf" })
    expect(again).toMatchObject({ changed: false, reason: "already_disabled" })
    expect(again.notices).toEqual(generation === "opencode-1" ? [{ code: "restart_pending" }] : [])
    if (generation === "opencode-2") return
    expect((await ask({ action: "inspect", id: "pdf" })).conclusion).toBe(
      "`pdf` is allowed for build by `{*, *, allow}` (the host's default); after a restart it is denied",
    )
  })
})

describe.each(HOSTS)("an enable that leaves a broad `ask`, on $name", ({ open, generation }) => {
  it("warns as a disable to `ask` does", async () => {
    host = await open({
      files: { "opencode.json": skillMap({ "*": "ask", pdf: "deny" }) },
      loaded: {
        rules: [
          ["skill", "*", "ask"],
          ["skill", "pdf", "deny"],
        ],
      },
    })
    expect(dataOf(await ask({ action: "enable", id: "pdf", dryRun: true }), "ask_may_hang")).toEqual({
      agents: generation === "opencode-1" ? ["explore", "general"] : ["general", "explore"],
    })
  })
})

describe.each(HOSTS)("a Markdown agent whose rules count for nothing, on $name", ({ open, generation }) => {
  it("has its sentence", async () => {
    const rules = "permissions:\n  - {action: skill, resource: 'p*', effect: deny}"
    host = await open({ files: { "agents/plan.md": `---\ntemperature: 1\n${rules}\n---\n` } })
    const { conclusion } = await ask({ action: "inspect", id: "pdf", agent: "plan" })
    const why =
      generation === "opencode-1"
        ? "OpenCode 1 passes over `permissions` in a Markdown agent, its word is `permission`"
        : "beside `temperature` OpenCode 2 takes the file for one of OpenCode 1 and loses its `permissions`"
    expect(conclusion).toBe(
      "`pdf` is allowed for plan by `{*, *, allow}` (the host's default); `{skill, p*, deny}` in " +
        `\`${join(host.configDir, "agents/plan.md")}\` line 4 counts for nothing: ${why}`,
    )
    expect((await ask({ action: "inspect", id: "pdf", agent: "build" })).conclusion).not.toContain("nothing")
    expect((await ask({ action: "inspect", id: "docx", agent: "plan" })).conclusion).not.toContain("nothing")
  })
})

describe.each(HOSTS)("rules that no file accounts for, on $name", ({ open }) => {
  const world: World = {
    files: { "opencode.json": '{\n  "permission": { "skill": { "docx": "ask" } }\n}\n' },
    loaded: {
      rules: [
        ["skill", "docx", "ask"],
        ["skill", "pdf", "deny"],
      ],
    },
    standin: { env: { OPENCODE_CONFIG_CONTENT: skillMap({ pdf: "deny" }) } },
  }

  it("are of unknown origin; both sequences are shown, and what the global files account for keeps its place", async () => {
    host = await open(world)
    const answer = await ask({ action: "inspect", id: "pdf" })
    expect(answer.conclusion).toBe(
      "`pdf` is denied for build by `{skill, pdf, deny}` (which no config file accounts for: another plugin or an " +
        "unread layer adds it), which overrides the allow (of unknown origin)",
    )
    const data = dataOf(answer, "model_differs") as { predicted: object[]; real: object[] }
    expect(data).toMatchObject({ agent: "build", predicted: [{ action: "skill", resource: "docx", effect: "ask" }] })
    expect(data.real.slice(-2)).toEqual([
      { action: "skill", resource: "docx", effect: "ask" },
      { action: "skill", resource: "pdf", effect: "deny" },
    ])
    const docx = await ask({ action: "inspect", id: "docx" })
    expect(docx.conclusion).toContain(
      `by \`{skill, docx, ask}\` in \`${join(host.configDir, "opencode.json")}\` line 2`,
    )
  })
})
