/** Which files OpenCode 1 registers as skills, and what a user's own command does with them, on the real host. */
import { mkdir, symlink, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { afterEach, beforeEach, describe, expect, inject, test } from "vitest"
import { findSkillFiles } from "../../src/files/skill-search.ts"
import { globalSources } from "../../src/hosts/opencode-1/layers.ts"
import { judgeSkill, skillRoots } from "../../src/hosts/opencode-1/skills.ts"
import { debugAgent, debugSkill, type Host, hostAvailable, startHost } from "../hosts/opencode-1/host.ts"
import { createSandbox, type Sandbox } from "../hosts/opencode-1/sandbox.ts"
import { type ScriptedModel, startScriptedModel } from "../hosts/opencode-1/scripted-model.ts"
import { pluginEntry } from "./packed.ts"

const head = (lines: string) => `---\n${lines}\n---\nBody.\n`
const sound = (name: string) => head(`name: ${name}\ndescription: About ${name}.`)

/** What the host makes of each file: `registered`, or why not. The skill that it should be is called after its folder. */
const FILES: readonly (readonly [path: string, text: string, verdict: string])[] = [
  ["config/opencode/skills/plain/SKILL.md", sound("plain"), "registered"],
  ["config/opencode/skill/singular/SKILL.md", sound("singular"), "registered"],
  ["config/opencode/skills/a/b/c/deep/SKILL.md", sound("deep"), "registered"],
  ["config/opencode/skills/plain/inner/SKILL.md", sound("inner"), "registered"],
  ["config/opencode/skills/no-description/SKILL.md", head("name: no-description"), "registered"],
  ["config/opencode/skills/empty-description/SKILL.md", head("name: empty-description\ndescription: ''"), "registered"],
  ["config/opencode/skills/crlf/SKILL.md", sound("crlf").replaceAll("\n", "\r\n"), "registered"],
  ["config/opencode/skills/bom/SKILL.md", `\uFEFF${sound("bom")}`, "registered"],
  ["config/opencode/skills/colon/SKILL.md", head("name: colon\ndescription: a: b: c"), "registered"],
  ["config/opencode/skills/no-name/SKILL.md", head("description: no-name"), "no_name"],
  ["config/opencode/skills/number-name/SKILL.md", head("name: 42\ndescription: number-name"), "bad_name"],
  ["config/opencode/skills/number-text/SKILL.md", head("name: number-text\ndescription: 42"), "bad_description"],
  ["config/opencode/skills/null-text/SKILL.md", head("name: null-text\ndescription:"), "bad_description"],
  ["config/opencode/skills/bad-yaml/SKILL.md", head("name: [bad-yaml"), "bad_frontmatter"],
  ["config/opencode/skills/twice/SKILL.md", head("name: twice\nname: twice\ndescription: d"), "bad_frontmatter"],
  ["config/opencode/skills/headless/SKILL.md", "headless\n", "bad_frontmatter"],
  ["config/opencode/skills/late-head/SKILL.md", `\n${sound("late-head")}`, "bad_frontmatter"],
  ["config/opencode/skills/lower/skill.md", sound("lower"), "wrong_file_name"],
  ["config/opencode/skills/flat.md", sound("flat"), "wrong_file_name"],
  ["config/opencode/skills/.dotted/dotted/SKILL.md", sound("dotted"), "hidden_directory"],
  ["home/.claude/skills/claude/SKILL.md", sound("claude"), "registered"],
  ["home/.claude/skills/.hidden/in-claude/SKILL.md", sound("in-claude"), "registered"],
  ["home/.agents/skills/agents/SKILL.md", sound("agents"), "registered"],
  ["home/.opencode/skills/home/SKILL.md", sound("home"), "registered"],
  ["project/.claude/skills/project-claude/SKILL.md", sound("project-claude"), "registered"],
  ["project/.opencode/skill/project/SKILL.md", sound("project"), "registered"],
  ["project/named/relative/SKILL.md", sound("relative"), "registered"],
  ["elsewhere/absolute/SKILL.md", sound("absolute"), "registered"],
]

describe.skipIf(!hostAvailable)("skills on OpenCode 1", () => {
  let sandbox: Sandbox
  beforeEach(async () => {
    sandbox = await createSandbox()
  })
  afterEach(() => sandbox.remove())

  test("a file is registered, or passed over for the reason that is given", async () => {
    await sandbox.projectFile(".opencode/.keep", "")
    for (const [path, text] of FILES) await put(path, text)
    await symlink("..", join(sandbox.configDir, "skills/loop"))
    await sandbox.config("opencode.json", JSON.stringify({ skills: { paths: ["nowhere"] } }))
    const paths = [join(sandbox.root, "elsewhere"), "named"]
    await sandbox.config("opencode.jsonc", JSON.stringify({ skills: { paths } }))
    const { json } = await debugSkill(sandbox, { OPENCODE_DISABLE_EXTERNAL_SKILLS: "false" })
    const names = (json as { name: string }[]).map(({ name }) => name)

    const roots = await skillRoots(
      { directory: sandbox.project, worktree: "/", home: sandbox.home, configDirectory: sandbox.configDir },
      await globalSources(sandbox.configDir),
    )
    for (const [path, , verdict] of FILES) {
      const name = /([^/]+?)(?:\/skill)?\.md$/i.exec(path)?.[1] ?? ""
      const found = await findSkillFiles(roots, name, judgeSkill)
      expect([path, names.includes(name)]).toEqual([path, verdict === "registered"])
      expect(found.map((file) => [file.path, file.fault ?? "registered"])).toEqual([
        [join(sandbox.root, path), verdict],
      ])
    }
  })

  test("a skill that is missing is found on the disk, with the reason", async () => {
    await put("config/opencode/skills/no-name/SKILL.md", head("description: d"))
    await put("config/opencode/skills/pdf/SKILL.md", sound("PDF tools"))
    expect((await call({ action: "inspect", id: "no-name" })).error).toMatchObject({
      code: "skill_not_found",
      data: {
        searched: [join(sandbox.configDir, "skills")],
        unregistered: [
          { path: join(sandbox.configDir, "skills/no-name/SKILL.md"), why: "its frontmatter has no `name`" },
        ],
      },
    })
    expect((await call({ action: "enable", id: "pdf" })).error).toMatchObject({
      code: "skill_not_found",
      data: { suggestions: ["PDF tools"], unregistered: [{ why: "it is registered as `PDF tools`" }] },
    })
  })

  test("of two files with one name the host keeps either", async () => {
    await put("config/opencode/skills/pdf/SKILL.md", sound("pdf"))
    await put("config/opencode/skills/other/SKILL.md", sound("pdf"))
    const answer = await call({ action: "inspect", id: "pdf" })
    expect([answer.skill.path, ...answer.skill.duplicates].sort()).toEqual([
      join(sandbox.configDir, "skills/other/SKILL.md"),
      join(sandbox.configDir, "skills/pdf/SKILL.md"),
    ])
    expect(answer.notices).toEqual([{ code: "winner_not_stable" }])
  })

  describe("named by the user", () => {
    let model: ScriptedModel
    let host: Host
    beforeEach(async () => {
      model = await startScriptedModel()
    })
    afterEach(async () => {
      await host?.stop()
      await model.stop()
    })

    test("`/name` gives a denied skill's body and asks nobody; a command of that name comes first", async () => {
      for (const name of ["pdf", "asked", "mine", "review"])
        await put(`config/opencode/skills/${name}/SKILL.md`, sound(name))
      await sandbox.config(
        "opencode.json",
        JSON.stringify({
          plugin: [pluginEntry(inject("tarball"))],
          permission: { skill: { pdf: "deny", asked: "ask" } },
          command: { mine: { template: "Not the skill." } },
        }),
      )
      host = await startHost(sandbox, { model })
      const said: Record<string, boolean> = {}
      for (const name of ["pdf", "asked", "mine", "review"]) said[name] = (await bodyAfter(name)).includes("Body.")
      expect(said).toEqual({ pdf: true, asked: true, mine: false, review: false })
      expect(await host.permissions()).toEqual([])

      const reach: Record<string, unknown> = {}
      for (const id of Object.keys(said)) reach[id] = (await ask({ action: "inspect", id })).reachability.user
      const slash = { mention: true, reasons: ["slash_command"] }
      const taken = { mention: false, reasons: ["command_of_same_name"] }
      expect(reach).toEqual({ pdf: slash, asked: slash, mine: taken, review: taken })
    })

    test("`@name` is text", async () => {
      await put("config/opencode/skills/pdf/SKILL.md", sound("pdf"))
      host = await startHost(sandbox, { model })
      model.reply({ text: "done" })
      const session = await host.createSession()
      await host.prompt(session, { text: "@pdf" })
      const [first] = await host.messages(session)
      expect(first?.parts.map(({ text }) => text)).toEqual(["@pdf"])
    })

    async function bodyAfter(command: string): Promise<string> {
      const session = await host.createSession()
      const response = await fetch(`${host.url}/session/${session}/command`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ command, arguments: "" }),
      })
      expect(response.status).toBe(200)
      const messages = await host.messages(session)
      return messages.flatMap(({ parts }) => parts.map(({ text }) => text ?? "")).join("\n")
    }

    async function ask(args: Record<string, unknown>) {
      model.reply({ tools: [{ name: "skill_management", args }] }, { text: "done" })
      const session = await host.createSession()
      await host.prompt(session, { text: "go on" })
      return JSON.parse((await host.toolParts(session, "skill_management")).at(-1)?.output ?? "")
    }
  })

  async function put(path: string, text: string): Promise<void> {
    const file = join(sandbox.root, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }

  async function call(params: object) {
    const env = { OPENCODE_CONFIG_CONTENT: JSON.stringify({ plugin: [pluginEntry(inject("tarball"))] }) }
    const { json, stderr } = await debugAgent(sandbox, "build", { tool: "skill_management", params, env })
    const output = Object(Object(json).result).output
    if (typeof output !== "string") throw new Error(stderr)
    return JSON.parse(output)
  }
})
