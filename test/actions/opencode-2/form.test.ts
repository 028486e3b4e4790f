import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import { arrayOf, codes, type Options, placeOf, rule, start, stop } from "./harness.ts"

afterEach(stop)

const element = (id: string, effect: string) => JSON.stringify(rule(id, effect))
const mapOf = (rules: Record<string, string>) => `{"permission": {"skill": ${JSON.stringify(rules)}}}`

interface Case {
  name: string
  config: Record<string, string>
  options?: Options["options"]
  dialect: "permission" | "permissions"
  /** The file that is written, and its text. */
  file: string
  after: string
}

const FRESH = (section: string) => `{\n  "$schema": "https://opencode.ai/config.json",\n${section}\n}\n`
const FRESH_ARRAY = FRESH(
  `  "permissions": [\n    { "action": "skill", "resource": "a", "effect": "deny" } // skill_management\n  ]`,
)
const FRESH_MAP = FRESH(`  "permission": {\n    "skill": {\n      "a": "deny" // skill_management\n    }\n  }`)
const INLINE_ARRAY = `"permissions": [{ "action": "skill", "resource": "a", "effect": "deny" }]`
const INLINE_MAP = `"permission": { "skill": { "a": "deny" } }`

const CASES: Case[] = [
  { name: "no file: an array", config: {}, dialect: "permissions", file: "opencode.jsonc", after: FRESH_ARRAY },
  {
    name: "a plain document: an array",
    config: { "opencode.json": '{ "model": "x/y" }' },
    dialect: "permissions",
    file: "opencode.json",
    after: `{ "model": "x/y", ${INLINE_ARRAY} }`,
  },
  {
    name: "an array that is there",
    config: { "opencode.json": `{ "permissions": [${element("b", "ask")}] }` },
    dialect: "permissions",
    file: "opencode.json",
    after: `{ "permissions": [${element("b", "ask")},${element("a", "deny")}] }`,
  },
  {
    name: "array and map: the array",
    config: { "opencode.json": `{ "permission": {}, "permissions": [${element("b", "ask")}] }` },
    dialect: "permissions",
    file: "opencode.json",
    after: `{ "permission": {}, "permissions": [${element("b", "ask")},${element("a", "deny")}] }`,
  },
  {
    name: "a map",
    config: { "opencode.json": '{ "permission": { "skill": { "b": "ask" } } }' },
    dialect: "permission",
    file: "opencode.json",
    after: '{ "permission": { "skill": { "b": "ask", "a": "deny" } } }',
  },
  {
    name: "a map without skills",
    config: { "opencode.json": '{ "permission": { "edit": "ask" } }' },
    dialect: "permission",
    file: "opencode.json",
    after: '{ "permission": { "edit": "ask", "skill": { "a": "deny" } } }',
  },
  {
    name: "a string for all skills",
    config: { "opencode.json": '{ "permission": { "skill": "allow" } }' },
    dialect: "permission",
    file: "opencode.json",
    after: '{ "permission": { "skill": { "*": "allow", "a": "deny" } } }',
  },
  {
    name: "a string for everything",
    config: { "opencode.json": '{ "permission": "allow" }' },
    dialect: "permission",
    file: "opencode.json",
    after: '{ "permission": { "*": "allow", "skill": { "a": "deny" } } }',
  },
  {
    name: "config.json beside a plain document: a map",
    config: { "opencode.json": '{ "model": "x/y" }', "config.json": "{}" },
    dialect: "permission",
    file: "opencode.json",
    after: `{ "model": "x/y", ${INLINE_MAP} }`,
  },
  {
    name: "config.json alone: a map in a new file",
    config: { "config.json": "{}" },
    dialect: "permission",
    file: "opencode.jsonc",
    after: FRESH_MAP,
  },
  {
    name: "option permission over a plain document",
    config: { "opencode.json": '{ "model": "x/y" }' },
    options: { dialect: "permission" },
    dialect: "permission",
    file: "opencode.json",
    after: `{ "model": "x/y", ${INLINE_MAP} }`,
  },
  {
    name: "option permission without a file",
    config: {},
    options: { dialect: "permission" },
    dialect: "permission",
    file: "opencode.jsonc",
    after: FRESH_MAP,
  },
  {
    // The first key of OpenCode 1 would make the betas lose the array.
    name: "option permission over an array: the array",
    config: { "opencode.json": `{ "permissions": [${element("b", "ask")}] }` },
    options: { dialect: "permission" },
    dialect: "permissions",
    file: "opencode.json",
    after: `{ "permissions": [${element("b", "ask")},${element("a", "deny")}] }`,
  },
  {
    name: "option permission over an array beside a key of OpenCode 1",
    config: { "opencode.json": `{ "server": {}, "permissions": [${element("b", "ask")}] }` },
    options: { dialect: "permission" },
    dialect: "permission",
    file: "opencode.json",
    after: `{ "server": {}, "permissions": [${element("b", "ask")}], ${INLINE_MAP} }`,
  },
  {
    name: "option permissions over a map",
    config: { "opencode.json": '{ "permission": { "skill": { "b": "ask" } } }' },
    options: { dialect: "permissions" },
    dialect: "permissions",
    file: "opencode.json",
    after: `{ "permission": { "skill": { "b": "ask" } }, ${INLINE_ARRAY} }`,
  },
  {
    name: "option auto",
    config: { "opencode.json": '{ "model": "x/y" }' },
    options: { dialect: "auto" },
    dialect: "permissions",
    file: "opencode.json",
    after: `{ "model": "x/y", ${INLINE_ARRAY} }`,
  },
  {
    name: "an option that is none",
    config: { "opencode.json": '{ "model": "x/y" }' },
    options: { dialect: "map" },
    dialect: "permissions",
    file: "opencode.json",
    after: `{ "model": "x/y", ${INLINE_ARRAY} }`,
  },
]

describe("form", () => {
  it.each(CASES)("$name", async ({ config, options, dialect, file, after }) => {
    const session = await start({ config, ...(options && { options }) })
    expect((await session.list()).config).toMatchObject({ dialect, file: session.path(file) })
    expect(await session.disable("a")).toMatchObject({ ok: true, verification: { method: "host" } })
    expect(session.text(file)).toBe(after)
    for (const [name, before] of Object.entries(config)) if (name !== file) expect(session.text(name)).toBe(before)
    expect(await session.effect("a")).toBe("deny")
    expect(await session.enable("a")).toMatchObject({ ok: true, reason: "rule_removed" })
    expect(session.text(file)).toBe(config[file] ?? null)
  })

  const KEYS =
    "logLevel server command reference snapshot plugin autoshare disabled_providers enabled_providers small_model mode agent provider tools attachment layout"
  it.each(KEYS.split(" "))("%s, a key of OpenCode 1: a map", async (key) => {
    const { list, disable, enable, text } = await start({ config: { "opencode.json": `{ "${key}": {} }` } })
    expect((await list()).config).toMatchObject({
      dialect: "permission",
      notes: [expect.anything(), expect.stringContaining("OpenCode 1")],
    })
    expect(await disable("a")).toMatchObject({ ok: true, verification: { method: "host" } })
    expect(text("opencode.json")).toBe(`{ "${key}": {}, ${INLINE_MAP} }`)
    await enable("a")
    expect(text("opencode.json")).toBe(`{ "${key}": {} }`)
  })

  it.each(["agents", "plugins", "model", "mcp", "theme", "share", "$schema"])(
    "%s, no key of OpenCode 1: an array",
    async (key) => {
      const { list } = await start({ config: { "opencode.json": `{ "${key}": {} }` } })
      expect((await list()).config).toMatchObject({ dialect: "permissions" })
    },
  )
})

describe("target file", () => {
  it.each<[string, Record<string, string>, string]>([
    ["opencode.jsonc before opencode.json", { "opencode.json": "{}", "opencode.jsonc": "{}" }, "opencode.jsonc"],
    ["the only one", { "opencode.json": "{}" }, "opencode.json"],
    ["the one with skill rules", { "opencode.json": arrayOf(["b", "ask"]), "opencode.jsonc": "{}" }, "opencode.json"],
    ["the one with a skill map", { "opencode.json": mapOf({}), "opencode.jsonc": "{}" }, "opencode.json"],
    [
      "the later of two",
      { "opencode.json": arrayOf(["b", "ask"]), "opencode.jsonc": arrayOf(["c", "ask"]) },
      "opencode.jsonc",
    ],
    [
      "the one with the deciding rule",
      { "opencode.json": arrayOf(["a", "ask"]), "opencode.jsonc": arrayOf(["c", "ask"]) },
      "opencode.json",
    ],
    [
      "the one where the edit wins",
      {
        "opencode.json": arrayOf(["b", "ask"]),
        "opencode.jsonc": '{"permissions": [{"action": "*", "resource": "*", "effect": "allow"}]}',
      },
      "opencode.jsonc",
    ],
  ])("%s", async (_, config, file) => {
    const { disable, text, effect } = await start({ config })
    expect(await disable("a")).toMatchObject({ ok: true, verification: { method: "host" } })
    const changed = ["opencode.json", "opencode.jsonc"].filter((name) => text(name) !== (config[name] ?? null))
    expect(changed).toEqual([file])
    expect(await effect("a")).toBe("deny")
  })
})

it("writes into the directory that $OPENCODE_CONFIG_DIR puts in place of the usual one", async () => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "opencode-2-dir-")))
  try {
    const { list, disable, effect, host } = await start({ env: { OPENCODE_CONFIG_DIR: directory } })
    expect((await list()).config).toMatchObject({ configDir: directory, file: join(directory, "opencode.jsonc") })
    expect(await disable("a")).toMatchObject({ ok: true, verification: { method: "host" } })
    expect(readFileSync(join(directory, "opencode.jsonc"), "utf8")).toBe(FRESH_ARRAY)
    expect(await effect("a")).toBe("deny")
    expect(readdirSync(join(host.root, "config"))).toEqual([])
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
})

describe("both dialects in one document", () => {
  const both = (map: Record<string, string>, ...rules: [string, string][]) =>
    `{\n  "permission": { "skill": ${JSON.stringify(map)} },\n  "permissions": [${rules.map(([id, effect]) => element(id, effect)).join(",")}]\n}\n`

  it("are read map first, array last", async () => {
    const text = both({ a: "deny", b: "deny" }, ["a", "ask"])
    const { list, inspect, path } = await start({ config: { "opencode.json": text } })
    const { skills } = await list({ match: "?", fields: ["id", "state"] })
    expect(skills.map(({ state }) => state)).toEqual(["ask", "disabled", "available"])
    const { rules, caller } = await inspect("a")
    expect(rules[caller.rule ?? -1]?.origin).toEqual({
      layer: "global",
      file: path("opencode.json"),
      ...placeOf(text, '{"action"'),
    })
  })

  it("are cleared together", async () => {
    const { enable, text, effect } = await start({
      config: { "opencode.json": both({ a: "deny", b: "ask" }, ["c", "ask"], ["a", "deny"]) },
    })
    expect(await enable("a")).toMatchObject({ ok: true, reason: "rule_removed", verification: { method: "host" } })
    expect(text("opencode.json")).toBe(both({ b: "ask" }, ["c", "ask"]))
    expect([await effect("a"), await effect("b"), await effect("c")]).toEqual(["allow", "ask", "ask"])
  })

  it("are edited where the rule stands, as long as it wins", async () => {
    const { disable, text } = await start({ config: { "opencode.json": both({ a: "ask" }, ["c", "ask"]) } })
    expect(await disable("a")).toMatchObject({ ok: true, reason: "rule_changed" })
    expect(text("opencode.json")).toBe(both({ a: "deny" }, ["c", "ask"]))
  })

  it("are edited in the array where the map loses", async () => {
    const { disable, text, effect } = await start({
      config: { "opencode.json": both({ a: "deny", b: "ask" }, ["?", "allow"]) },
    })
    expect(await disable("a")).toMatchObject({ ok: true, reason: "rule_added" })
    expect(text("opencode.json")).toBe(both({ b: "ask" }, ["?", "allow"], ["a", "deny"]))
    expect([await effect("a"), await effect("b")]).toEqual(["deny", "allow"])
  })
})

describe("the shared map", () => {
  const named = { "config/opencode/skills/z/SKILL.md": "---\nname: Other\ndescription: d\n---\n" }
  it("means the name on OpenCode 1, which is said", async () => {
    const { disable } = await start({ files: named, config: { "opencode.json": mapOf({}) } })
    expect(codes(await disable("z"))).toContain("other_host_differs")
    expect(codes(await disable("a"))).not.toContain("other_host_differs")
  })

  it("is told from an array beside it", async () => {
    const text = `{"permission": {"skill": {"z": "ask"}}, "permissions": []}`
    const { disable } = await start({ files: named, config: { "opencode.json": text } })
    expect(codes(await disable("z", { dryRun: true }))).toContain("other_host_differs")
  })

  it("cannot say an integer-like name behind another", async () => {
    const text = mapOf({ "*": "deny" })
    const { enable, effect, list } = await start({
      config: { "opencode.json": text },
      skills: ["10", "b"],
      options: { dialect: "permission" },
    })
    const reply = await enable("10")
    // Either another file can say it, or nothing is written and the answer says so.
    if (reply.ok) expect(await effect("10")).toBe("allow")
    else expect(reply.error?.code).toBe("not_effective")
    expect((await list({ match: "b" })).skills[0]?.state).toBe("disabled")
  })
})
