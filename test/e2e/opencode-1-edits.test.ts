/** Configs in which a rule is easily put in the wrong place: what the real OpenCode 1 makes of the packed plugin's edit. */
import { lstat, mkdir, readdir, symlink } from "node:fs/promises"
import { dirname, join } from "node:path"
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest"
import { compileRuleset, decide } from "../../src/core/evaluate.ts"
import type { Effect } from "../../src/core/rule.ts"
import { debugAgent, hostAvailable } from "../hosts/opencode-1/host.ts"
import { createSandbox, type Sandbox } from "../hosts/opencode-1/sandbox.ts"
import { pluginEntry } from "./packed.ts"

/**
 * The plugin comes from the environment, so that the files are the test's own; all tests share one cache, so that it
 * is installed once.
 */
const env = {
  OPENCODE_CONFIG_CONTENT: JSON.stringify({ plugin: [pluginEntry(inject("tarball"))] }),
  XDG_CACHE_HOME: "",
}
const SCHEMA = '"$schema": "https://opencode.ai/config.json"'
const SKILLS = ["notes", "pdf"]

type Files = Record<string, string>
type Effects = Record<string, Effect>

async function call(sandbox: Sandbox, params: object, agent = "build") {
  const { exitCode, json, stderr } = await debugAgent(sandbox, agent, { tool: "skill_management", params, env })
  if (exitCode !== 0) throw new Error(`the host ended with ${exitCode}:\n${stderr}`)
  return JSON.parse((json as { result: { output: string } }).result.output)
}

/** Whether a host that starts now lets the agent load the skill; an `ask` counts as allowed here. */
async function loads(sandbox: Sandbox, name: string): Promise<boolean> {
  const { exitCode, stdout, stderr } = await debugAgent(sandbox, "build", { tool: "skill", params: { name }, env })
  if (exitCode === 0) expect(stdout).toContain(`Body of ${name}.`)
  else
    expect(stdout + stderr).toMatch(/The user has specified a rule which prevents you|Tool skill is disabled for agent/)
  return exitCode === 0
}

/** The effects that a host that starts now has for the agent, by its own rules. */
async function effects(sandbox: Sandbox, agent = "build"): Promise<Effects> {
  const { json } = await debugAgent(sandbox, agent, { env })
  const { permission } = json as { permission: { permission: string; pattern: string; action: Effect }[] }
  const rules = compileRuleset(
    permission.map(({ permission: action, pattern: resource, action: effect }) => ({ action, resource, effect })),
  )
  return Object.fromEntries([...SKILLS, "unregistered"].map((id) => [id, decide(rules, id).effect]))
}

async function begin(files: Files, links: Files = {}) {
  const sandbox = await createSandbox()
  for (const name of SKILLS) await sandbox.skill(name)
  for (const [name, text] of Object.entries(files)) await sandbox.config(name, text)
  for (const [name, target] of Object.entries(links)) {
    await mkdir(dirname(join(sandbox.configDir, target)), { recursive: true })
    await symlink(target, join(sandbox.configDir, name))
  }
  return sandbox
}

async function expectFiles(sandbox: Sandbox, files: Files): Promise<void> {
  const found = await Promise.all(Object.keys(files).map(async (name) => [name, await sandbox.readConfig(name)]))
  expect(Object.fromEntries(found)).toEqual(files)
}

/** Neither a record nor a temporary file, and no config file that was not there. */
async function expectNothingLeft(sandbox: Sandbox, files: Files): Promise<void> {
  const names = (await readdir(sandbox.configDir)).filter((name) => /\.(jsonc?|tmp)$/.test(name))
  expect(names.sort()).toEqual(
    [...Object.keys(files).filter((name) => !name.includes("/")), "package-lock.json"].sort(),
  )
}

interface Case {
  name: string
  files: Files
  links?: Files
  before: Effect
  /** The files that differ while the skill is disabled. */
  edited: Files
  after: Effects
}

const all = (effect: Effect): Effects => ({ notes: effect, pdf: effect, unregistered: effect })
const DENIED = { ...all("allow"), pdf: "deny" } as const

describe.skipIf(!hostAvailable)("edits on OpenCode 1", () => {
  let first: Sandbox
  beforeAll(async () => {
    first = await createSandbox()
    env.XDG_CACHE_HOME = join(first.root, "cache")
    expect(await call(first, { action: "list" })).toMatchObject({ ok: true })
  })
  afterAll(() => first?.remove())

  test.concurrent.each<Case>([
    {
      name: "no permission yet",
      files: { "opencode.jsonc": `{\n  ${SCHEMA},\n  // mine\n  "username": "me"\n}\n` },
      before: "allow",
      edited: {
        "opencode.jsonc": `{\n  ${SCHEMA},\n  // mine\n  "username": "me",\n  "permission": {\n    "skill": {\n      "pdf": "deny" // skill_management\n    }\n  }\n}\n`,
      },
      after: DENIED,
    },
    {
      name: "a string for all skills in opencode.json, opencode.jsonc beside it",
      files: {
        "opencode.json": `{\n  ${SCHEMA},\n  "permission": { "skill": "ask" }\n}\n`,
        "opencode.jsonc": `{\n  ${SCHEMA},\n  "permission": { "bash": "ask" }\n}\n`,
      },
      before: "ask",
      edited: {
        "opencode.json": `{\n  ${SCHEMA},\n  "permission": { "skill": { "*": "ask", "pdf": "deny" } }\n}\n`,
      },
      after: { ...all("ask"), pdf: "deny" },
    },
    {
      name: "a string in opencode.json that a map in opencode.jsonc replaces",
      files: {
        "opencode.json": `{\n  ${SCHEMA},\n  "permission": { "skill": "ask" }\n}\n`,
        "opencode.jsonc": `{\n  ${SCHEMA},\n  "permission": {\n    "skill": {\n      "*": "allow"\n    }\n  }\n}\n`,
      },
      before: "allow",
      edited: {
        "opencode.jsonc": `{\n  ${SCHEMA},\n  "permission": {\n    "skill": {\n      "*": "allow",\n      "pdf": "deny" // skill_management\n    }\n  }\n}\n`,
      },
      after: DENIED,
    },
    {
      name: "a map in opencode.json that a string in opencode.jsonc replaces",
      files: {
        "opencode.json": `{\n  ${SCHEMA},\n  "permission": {\n    "skill": {\n      "*": "allow"\n    }\n  }\n}\n`,
        "opencode.jsonc": `{\n  ${SCHEMA},\n  "permission": { "skill": "ask" }\n}\n`,
      },
      before: "ask",
      edited: {
        "opencode.jsonc": `{\n  ${SCHEMA},\n  "permission": { "skill": { "*": "ask", "pdf": "deny" } }\n}\n`,
      },
      after: { ...all("ask"), pdf: "deny" },
    },
    {
      name: "a string for everything",
      files: { "opencode.jsonc": `{\n  ${SCHEMA},\n  "permission": "allow", // trusting\n}\n` },
      before: "allow",
      edited: {
        "opencode.jsonc": `{\n  ${SCHEMA},\n  "permission": {\n    "*": "allow",\n    "skill": {\n      "pdf": "deny", // skill_management\n    },\n  }, // trusting\n}\n`,
      },
      after: DENIED,
    },
    {
      name: "a linked config",
      files: {
        "dotfiles/my.jsonc": `{\n  ${SCHEMA},\n  "permission": {\n    "skill": {\n      "notes": "ask"\n    }\n  }\n}\n`,
      },
      links: { "opencode.jsonc": "dotfiles/my.jsonc" },
      before: "allow",
      edited: {
        "dotfiles/my.jsonc": `{\n  ${SCHEMA},\n  "permission": {\n    "skill": {\n      "notes": "ask",\n      "pdf": "deny" // skill_management\n    }\n  }\n}\n`,
      },
      after: { ...DENIED, notes: "ask" },
    },
    {
      name: "CRLF and tabs",
      files: { "opencode.jsonc": `{\r\n\t${SCHEMA},\r\n\t"permission": {\r\n\t\t"bash": "ask",\r\n\t}\r\n}` },
      before: "allow",
      edited: {
        "opencode.jsonc": `{\r\n\t${SCHEMA},\r\n\t"permission": {\r\n\t\t"bash": "ask",\r\n\t\t"skill": {\r\n\t\t\t"pdf": "deny", // skill_management\r\n\t\t},\r\n\t}\r\n}`,
      },
      after: DENIED,
    },
    {
      name: "opencode.json alone: no comment",
      files: {
        "opencode.json": `{\n    ${SCHEMA},\n    "permission": {\n        "skill": {\n            "x-*": "ask"\n        }\n    }\n}`,
      },
      before: "allow",
      edited: {
        "opencode.json": `{\n    ${SCHEMA},\n    "permission": {\n        "skill": {\n            "x-*": "ask",\n            "pdf": "deny"\n        }\n    }\n}`,
      },
      after: DENIED,
    },
  ])("$name", async ({ files, links = {}, before, edited, after }) => {
    await using sandbox = await begin(files, links)
    const disabled = await call(sandbox, { action: "disable", id: "pdf" })
    expect(disabled).toMatchObject({ ok: true, changed: true, reason: "rule_added", before, after: "deny" })
    await expectFiles(sandbox, { ...files, ...edited })
    expect(await Promise.all([effects(sandbox), loads(sandbox, "pdf")])).toEqual([after, false])

    const enabled = await call(sandbox, { action: "enable", id: "pdf" })
    expect(enabled).toMatchObject({ ok: true, changed: true, before: "deny", after: before })
    await expectFiles(sandbox, files)
    await expectNothingLeft(sandbox, { ...files, ...links })
    for (const name of Object.keys(links))
      expect((await lstat(join(sandbox.configDir, name))).isSymbolicLink()).toBe(true)
  })

  test.concurrent("tools: {skill: false} denies already, and one skill cannot be opened alone", async () => {
    const files = { "opencode.jsonc": `{\n  ${SCHEMA},\n  "tools": { "skill": false } // none\n}\n` }
    await using sandbox = await begin(files)
    const disabled = await call(sandbox, { action: "disable", id: "pdf" })
    expect(disabled).toMatchObject({
      ok: true,
      changed: false,
      reason: "already_disabled",
      before: "deny",
      after: "deny",
    })
    const enabled = await call(sandbox, { action: "enable", id: "pdf" })
    expect(enabled).toMatchObject({ ok: false, error: { code: "not_effective" } })
    expect(enabled.error.data.sideEffects).toContainEqual({
      agent: "build",
      id: "notes",
      before: "deny",
      after: "allow",
    })
    await expectFiles(sandbox, files)
    await expectNothingLeft(sandbox, files)
    expect(await Promise.all([effects(sandbox), loads(sandbox, "pdf")])).toEqual([all("deny"), false])
  })

  test.concurrent("a rule that would stand before the one that decides: refused, nothing written", async () => {
    const files = {
      "opencode.jsonc": `{\n  ${SCHEMA},\n  "permission": {\n    "skill": { "notes": "deny" },\n    "*": "ask"\n  }\n}\n`,
    }
    await using sandbox = await begin(files)
    const disabled = await call(sandbox, { action: "disable", id: "pdf" })
    expect(disabled).toMatchObject({ ok: false, error: { code: "not_effective" } })
    expect(disabled.error.data.blocked).toContainEqual({
      agent: "build",
      effect: "ask",
      rule: {
        action: "*",
        resource: "*",
        effect: "ask",
        origin: { layer: "global", file: join(sandbox.configDir, "opencode.jsonc"), line: 5, column: 5 },
      },
    })
    await expectFiles(sandbox, files)
    await expectNothingLeft(sandbox, files)
    expect(await effects(sandbox)).toEqual(all("ask"))
  })

  test.concurrent("an agent whose description holds a colon, which is no YAML, may call it", async () => {
    await using sandbox = await begin({
      "opencode.jsonc": `{\n  ${SCHEMA}\n}\n`,
      "agents/writer.md": "---\ndescription: Use it: always\npermission:\n  skill:\n    notes: ask\n---\nYou write.\n",
    })
    const disabled = await call(sandbox, { action: "disable", id: "pdf" }, "writer")
    expect(disabled).toMatchObject({ ok: true, changed: true, notices: [], before: "allow", after: "deny" })
    expect(await effects(sandbox, "writer")).toEqual({ ...DENIED, notes: "ask" })
  })

  test.concurrent("no config at all: the file that was made goes again", async () => {
    await using sandbox = await begin({})
    const disabled = await call(sandbox, { action: "disable", id: "pdf" })
    expect(disabled).toMatchObject({ ok: true, changed: true, before: "allow", after: "deny" })
    expect(await Promise.all([effects(sandbox), loads(sandbox, "pdf")])).toEqual([DENIED, false])
    const enabled = await call(sandbox, { action: "enable", id: "pdf" })
    expect(enabled).toMatchObject({ ok: true, changed: true, before: "deny", after: "allow" })
    await expectNothingLeft(sandbox, {})
    expect(await loads(sandbox, "pdf")).toBe(true)
  })
})
