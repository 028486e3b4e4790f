import { rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import { arrayOf, codes, dataOf, eventually, NEVER, put, rule, SIDECAR, start, stop } from "./harness.ts"

afterEach(stop)

const ids = (reply: { skills: { id?: string | null }[] }) => reply.skills.map((row) => row.id)
const CONFIG = { "opencode.jsonc": arrayOf(["b", "ask"], ["c", "deny"]) }

async function furnished() {
  const session = await start({
    config: CONFIG,
    files: {
      "config/opencode/skills/quiet/SKILL.md": "---\ndescription: q\nautoinvoke: false\n---\n",
      "config/opencode/skills/silent/SKILL.md": "---\nname: Silent One\n---\n",
      "config/opencode/skills/teams/release/SKILL.md": "---\ndescription: |\n  first line\n  second line\n---\n",
      "project/.opencode/skills/local/SKILL.md": "---\ndescription: of the project\n---\n",
    },
  })
  return session
}

describe("rows", () => {
  it("hold every skill with its state for the caller, sorted by id", async () => {
    const { list, host } = await furnished()
    const reply = await list()
    expect(reply).toMatchObject({ schemaVersion: 1, action: "list", ok: true, warnings: [], notices: [] })
    expect(reply.host).toEqual({ generation: "opencode-2", version: null })
    expect(reply.callerAgent).toEqual({ id: "build", verified: true })
    const shown = reply.skills.map((row) => [row.id, row.source, row.scope, row.state, row.unlisted ?? null])
    expect(shown).toEqual([
      ["a", "config", "user", "available", null],
      ["b", "config", "user", "ask", null],
      ["c", "config", "user", "disabled", "denied"],
      ["local", "project", "project", "available", null],
      ["opencode", "embedded", "user", "available", null],
      ["quiet", "config", "user", "available", "autoinvoke_off"],
      ["release", "config", "user", "available", null],
      ["report", "embedded", "user", "available", null],
      ["silent", "config", "user", "available", "no_description"],
    ])
    expect(reply.skills[0]).toEqual({
      id: "a",
      name: "a",
      autoinvoke: null,
      source: "config",
      scope: "user",
      state: "available",
      path: join(host.configDir, "skills/a/SKILL.md"),
      description: "desc of a",
      tokens: expect.any(Number),
    })
    expect(reply.skills[4]).toMatchObject({ path: null })
    expect(reply.skills[5]).toMatchObject({ autoinvoke: false, tokens: 0 })
    expect(reply.skills[6]).toMatchObject({ description: "first line" })
    expect(reply.skills[8]).toMatchObject({ name: "Silent One", description: null })
    expect(reply.page).toEqual({ total: 9, returned: 9, nextCursor: null })
  })

  it("never hold a body", async () => {
    const { list } = await furnished()
    expect(JSON.stringify(await list())).not.toContain("BODY-OF")
  })

  it.each<[string, object, string[]]>([
    ["match", { match: "?" }, ["a", "b", "c"]],
    ["match of a run", { match: "re*" }, ["release", "report"]],
    ["match is case-sensitive", { match: "RE*" }, []],
    ["where.state", { where: { state: "disabled" } }, ["c"]],
    ["where.state by effect", { where: { state: "deny" } }, ["c"]],
    ["where.state ask", { where: { state: "ask" } }, ["b"]],
    ["where.source", { where: { source: "embedded" } }, ["opencode", "report"]],
    ["where.scope", { where: { scope: "project" } }, ["local"]],
    ["where.path", { where: { path: "*/teams/*" } }, ["release"]],
    ["where twice", { where: { scope: "user", state: "available", path: "*/skills/?/*" } }, ["a"]],
    ["match and where", { match: "*e*", where: { source: "config" } }, ["quiet", "release", "silent"]],
    ["query in id", { query: "RELEASE" }, ["release"]],
    ["query in name", { query: "silent one" }, ["silent"]],
    ["query in description", { query: "of the PROJECT" }, ["local"]],
    ["query beyond the first line", { query: "second line" }, ["release"]],
    ["query in path", { query: "teams/" }, ["release"]],
    ["null is absent", { query: null, match: null, where: null, limit: null, fields: null }, []],
  ])("narrow by %s", async (name, input, expected) => {
    const reply = await (await furnished()).list(input)
    expect(reply).toMatchObject({ ok: true, summary: { total: 9 } })
    if (name === "null is absent") expect(reply.page.total).toBe(9)
    else expect(ids(reply)).toEqual(expected)
  })

  it("take null inside `where` as absent", async () => {
    const reply = await (await furnished()).list({ where: { state: "disabled", source: null } })
    expect(ids(reply)).toEqual(["c"])
  })

  it("answer an unknown trait themselves, instead of leaving it to the host", async () => {
    const reply = await (await furnished()).list({ where: { sorce: "config" } })
    expect(reply).toMatchObject({ ok: false, error: { code: "invalid_input", data: { field: "where.sorce" } } })
  })

  it("hold the wanted fields only", async () => {
    const { skills } = await (await furnished()).list({ fields: ["state", "id", "unlisted"], match: "?" })
    expect(skills).toEqual([
      { id: "a", state: "available" },
      { id: "b", state: "ask" },
      { id: "c", state: "disabled", unlisted: "denied" },
    ])
  })
})

describe("summary", () => {
  it("counts before filters, and for every agent", async () => {
    const { summary } = await (await furnished()).list({ match: "none" })
    expect(summary).toMatchObject({ total: 9, available: 7, disabled: 1, ask: 1, derivedIds: 0 })
    // `explore` is denied all that the host denies it, and `b` by a rule that asks.
    expect(summary.diverged).toBe(7)
    const agents = summary.agents.map(({ id, hidden, skillTool, available, ask, disabled }) =>
      [id, hidden, skillTool, available, ask, disabled].join(" "),
    )
    expect(agents).toEqual([
      "build false true 7 1 1",
      "plan false true 7 1 1",
      "general false true 7 1 1",
      "explore false true 0 1 8",
      "compaction true true 7 1 1",
      "title true true 0 1 8",
      "summary true true 0 1 8",
    ])
  })

  it("says that explore has no skill tool where no rule comes after its own", async () => {
    const { summary } = await (await start()).list()
    const [explore] = summary.agents.filter(({ id }) => id === "explore")
    expect(explore).toMatchObject({ skillTool: false, available: 0, ask: 0, disabled: 5, tokens: 0 })
  })

  it("stands alone with limit 0", async () => {
    const reply = await (await furnished()).list({ limit: 0 })
    expect(reply).toMatchObject({ ok: true, skills: [], summary: { total: 9 }, page: { total: 9, returned: 0 } })
    expect(["config", "sidecar", "consistency"].filter((key) => key in reply)).toEqual([])
  })

  it("looks through the eyes of the agent that is asked for", async () => {
    const { list } = await furnished()
    const reply = await list({ agent: "explore", fields: ["id", "state"], match: "?" })
    expect(reply.callerAgent).toEqual({ id: "explore", verified: true })
    expect(reply.skills).toEqual([
      { id: "a", state: "disabled" },
      { id: "b", state: "ask" },
      { id: "c", state: "disabled" },
    ])
    const unknown = await list({ agent: "explorer" })
    expect(unknown).toMatchObject({ ok: false, error: { code: "agent_not_found" } })
    expect(unknown.error?.data?.suggestions).toContain("explore")
  })

  it("takes the first visible agent where the host names none that it knows", async () => {
    const reply = await (await furnished()).list({}, "ghost")
    expect(reply.callerAgent).toEqual({ id: "build", verified: false })
    expect(codes(reply)).toEqual(["caller_unverified"])
    expect(reply.warnings).toHaveLength(1)
  })
})

describe("pages", () => {
  const many = Array.from({ length: 400 }, (_, i) => `skill-${String(i).padStart(3, "0")}`)

  it("hold whole rows under 16 KiB, and lead to each other", async () => {
    const { list, host } = await start({ skills: many, reloadDelayMs: NEVER })
    const { text } = await host.call("skill_management", { action: "list" }, { agent: "build" })
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(16 * 1024)
    const first = await list()
    expect(first.page.total).toBe(402)
    expect(first.page.returned).toBeGreaterThan(30)
    expect(codes(first)[0]).toBe("rows_missing")
    expect(first.warnings[0]).toContain("cursor")
    const seen = ids(first)
    let { nextCursor } = first.page
    while (nextCursor !== null) {
      const page = await list({ cursor: nextCursor })
      expect(page.page.returned).toBeGreaterThan(0)
      expect(["config", "sidecar", "consistency"].filter((key) => key in page)).toEqual([])
      seen.push(...ids(page))
      nextCursor = page.page.nextCursor
    }
    expect(seen).toEqual(["opencode", "report", ...many])
  })

  it("are as long as `limit` says, and a cursor fits its own filters only", async () => {
    const { list } = await start({ skills: many, reloadDelayMs: NEVER })
    const page = await list({ match: "skill-*", limit: 5 })
    expect(ids(page)).toEqual(many.slice(0, 5))
    const cursor = page.page.nextCursor
    expect(ids(await list({ match: "skill-*", limit: 5, cursor }))).toEqual(many.slice(5, 10))
    const [next] = page.next
    expect(next?.input).toEqual({ action: "list", match: "skill-*", limit: 5, cursor })
    expect(await list({ match: "skill-0*", cursor })).toMatchObject({ ok: false, error: { code: "invalid_input" } })
  })
})

describe("config, sidecar and consistency", () => {
  it("name the file that a write would target, and why", async () => {
    const { list, path, host } = await furnished()
    const { config, sidecar, consistency } = await list()
    expect(config).toEqual({
      file: path("opencode.jsonc"),
      configDir: host.configDir,
      configDirs: [host.configDir],
      hadPermissions: true,
      dialect: "permissions",
      notes: [expect.stringContaining("opencode.jsonc"), expect.stringContaining("permissions")],
    })
    expect(sidecar).toEqual({ file: path(SIDECAR), ok: true, error: null })
    expect(consistency).toEqual({
      staleSidecarIds: [],
      unrecordedRules: [
        { resource: "b", effect: "ask" },
        { resource: "c", effect: "deny" },
      ],
      missingFromRegistry: [],
    })
  })

  it("name a file that is not there yet", async () => {
    const { list, path, names } = await start()
    expect((await list()).config).toMatchObject({ file: path("opencode.jsonc"), hadPermissions: false })
    expect(names()).toEqual([])
  })

  it("compare records, rules and registry", async () => {
    const { list, disable, host, path, effect } = await start()
    await disable("a")
    await disable("b")
    rmSync(dirname(join(host.configDir, "skills/b/SKILL.md")), { recursive: true })
    host.config("opencode.jsonc", JSON.stringify({ permissions: [rule("b", "deny"), rule("x", "ask")] }))
    await eventually(() => effect("x")).toBe("ask")
    await eventually(async () => (await list()).summary.total).toBe(4)
    expect((await list()).consistency).toEqual({
      staleSidecarIds: ["a"],
      unrecordedRules: [{ resource: "x", effect: "ask" }],
      missingFromRegistry: ["b"],
    })
    put(path(SIDECAR), "{")
    expect(await list()).toMatchObject({ ok: true, sidecar: { ok: false, error: "not_json" } })
  })

  it("stay whole beside a config that does not parse", async () => {
    const { list, path } = await start({ config: { "opencode.jsonc": '{\n  "permissions": [}\n' } })
    const reply = await list()
    expect(reply).toMatchObject({
      ok: false,
      error: { code: "config_unparsable", data: { file: path("opencode.jsonc"), line: 2 } },
      summary: { total: 5, available: 5 },
      config: { file: path("opencode.jsonc") },
      sidecar: { ok: true },
    })
    expect(reply.skills).toHaveLength(5)
  })

  it("say that both global files hold skill rules", async () => {
    const { list } = await start({ config: { ...CONFIG, "opencode.json": arrayOf(["a", "deny"]) } })
    expect(dataOf(await list(), "both_files")).toEqual({ files: ["opencode.json", "opencode.jsonc"] })
  })
})

it("passes over fields that it does not use, and says so", async () => {
  const reply = await (await start()).list({ id: "a", dryRun: true, effect: "ask", querry: "x" })
  expect(reply.ok).toBe(true)
  expect(reply.notices).toEqual([
    { code: "field_ignored", data: { field: "id" } },
    { code: "field_ignored", data: { field: "dryRun" } },
    { code: "field_ignored", data: { field: "effect" } },
    { code: "field_unknown", data: { field: "querry", nearest: "query" } },
  ])
})
