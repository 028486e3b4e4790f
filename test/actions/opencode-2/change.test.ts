import { readFileSync } from "node:fs"
import { afterEach, describe, expect, it } from "vitest"
import { arrayOf, codes, dataOf, placeOf, rule, SIDECAR, start, stop } from "./harness.ts"

afterEach(stop)

const NEW_FILE = `{
  "$schema": "https://opencode.ai/config.json",
  "permissions": [
    { "action": "skill", "resource": "a", "effect": "deny" } // skill_management
  ]
}
`
const ONE_RULE = `{
  // by hand
  "permissions": [
    { "action": "skill", "resource": "b", "effect": "deny" }, // noisy
  ],
  "model": "x/y"
}
`

describe("disable", () => {
  it("makes the file, and the running host shows it", async () => {
    const { disable, effect, text, path, names, stateFile } = await start()
    const reply = await disable("a")
    expect(reply).toMatchObject({
      schemaVersion: 1,
      action: "disable",
      ok: true,
      warnings: [],
      notices: [],
      host: { generation: "opencode-2", version: null },
      changed: true,
      reason: "rule_added",
      targets: [{ id: "a", before: "allow", after: "deny", changed: true, reason: "rule_added" }],
      before: "allow",
      after: "deny",
      unaffected: ["explore", "title", "summary"],
      unpredicted: [],
      verification: { method: "host", ok: true },
      takesEffect: "now",
      backup: null,
      sidecar: { file: path(SIDECAR), written: true },
      next: [{ input: { action: "undo", change: reply.change } }],
    })
    expect(
      reply.impact.map(({ agents, direction, before, after, ids }) => ({ agents, direction, before, after, ids })),
    ).toEqual([
      { agents: ["build", "plan", "general"], direction: "narrower", before: "allow", after: "deny", ids: ["a"] },
      { agents: ["compaction"], direction: "narrower", before: "allow", after: "deny", ids: ["a"] },
    ])
    expect(reply.impact[0]?.tokens.build).toBeLessThan(0)
    expect(text("opencode.jsonc")).toBe(NEW_FILE)
    expect(names()).toEqual(["opencode.jsonc", SIDECAR])
    expect(await effect("a")).toBe("deny")
    expect(await effect("b")).toBe("allow")
    const journal = readFileSync(stateFile("journal.jsonl"), "utf8").trim().split("\n")
    const lines = journal.map((line) => JSON.parse(line))
    expect(lines).toMatchObject([
      { kind: "intent", change: reply.change, session: "ses_1", caller: "build", action: "disable", targets: ["a"] },
      { kind: "done", change: reply.change },
    ])
  })

  it("adds one rule behind its neighbours, in their style, and touches nothing else", async () => {
    const { disable, text, path } = await start({ config: { "opencode.jsonc": ONE_RULE } })
    const reply = await disable("a")
    const added = `    { "action": "skill", "resource": "a", "effect": "deny" }, // skill_management\n`
    const expected = ONE_RULE.replace("// noisy\n", `// noisy\n${added}`)
    expect(text("opencode.jsonc")).toBe(expected)
    expect(reply).toMatchObject({ reason: "rule_added", verification: { method: "host" } })
    expect(reply.diff.split("\n").filter((line) => /^[+-] /.test(line))).toEqual([`+${added.trimEnd()}`])
    expect(reply.diff).not.toContain("x/y")
    expect(codes(reply)).toEqual(["diff_excerpt"])
    expect(readFileSync(reply.backup ?? "", "utf8")).toBe(ONE_RULE)
    expect(reply.sidecar.file).toBe(path(SIDECAR))
  })

  it("carries no comment into a .json file", async () => {
    const { disable, text } = await start({ config: { "opencode.json": arrayOf(["b", "deny"]) } })
    await disable("a")
    expect(text("opencode.json")).toBe(arrayOf(["b", "deny"], ["a", "deny"]))
    expect(text("opencode.jsonc")).toBeNull()
  })

  it.each<[string, Record<string, string>, string, Record<string, string>]>([
    [
      "changes an exact rule in place where it wins",
      { "opencode.json": arrayOf(["*", "ask"], ["a", "allow"], ["c", "ask"]) },
      "rule_changed",
      { "opencode.json": arrayOf(["*", "ask"], ["a", "deny"], ["c", "ask"]) },
    ],
    [
      "moves an exact rule that loses in its own array",
      { "opencode.json": arrayOf(["a", "deny"], ["*", "allow"]) },
      "rule_added",
      { "opencode.json": arrayOf(["*", "allow"], ["a", "deny"]) },
    ],
    [
      "moves an exact rule that loses against the later file",
      {
        "opencode.json": arrayOf(["a", "deny"], ["b", "ask"]),
        "opencode.jsonc": `{"permissions": [${JSON.stringify(rule("*", "allow"))}]}`,
      },
      "rule_added",
      {
        "opencode.json": arrayOf(["b", "ask"]),
        "opencode.jsonc": `{"permissions": [${JSON.stringify(rule("*", "allow"))},${JSON.stringify(rule("a", "deny"))}]}`,
      },
    ],
    [
      "changes the later of two exact rules",
      { "opencode.json": arrayOf(["a", "ask"]), "opencode.jsonc": arrayOf(["a", "allow"]) },
      "rule_changed",
      { "opencode.json": arrayOf(["a", "ask"]), "opencode.jsonc": arrayOf(["a", "deny"]) },
    ],
  ])("%s", async (_, config, reason, expected) => {
    const { disable, text, effect } = await start({ config })
    const reply = await disable("a")
    expect(reply).toMatchObject({ ok: true, reason, changed: true, verification: { method: "host" } })
    for (const [name, wanted] of Object.entries(expected)) expect(text(name)).toBe(wanted)
    expect(await effect("a")).toBe("deny")
  })

  it.each<[string, string, string]>([
    ["by the same rule", arrayOf(["a", "deny"]), "already_disabled"],
    ["by a broader rule", arrayOf(["?", "deny"]), "already_disabled"],
  ])("writes nothing where the skill is disabled %s", async (_, before, reason) => {
    const { disable, text, names } = await start({ config: { "opencode.json": before } })
    const reply = await disable("a")
    expect(reply).toMatchObject({
      ok: true,
      changed: false,
      reason,
      diff: "",
      impact: [],
      verification: { method: "none", ok: true },
      takesEffect: "now",
      change: null,
      backup: null,
      sidecar: { written: false },
    })
    expect(text("opencode.json")).toBe(before)
    expect(names()).toEqual(["opencode.json"])
  })

  it("says that the host denies the skill to the caller anyway", async () => {
    const may = { action: "skill_management", resource: "*", effect: "allow" }
    const before = JSON.stringify({ permissions: [rule("b", "deny")], agents: { explore: { permissions: [may] } } })
    const { disable, effect, text } = await start({ config: { "opencode.json": before } })
    const idle = await disable("b", {}, "explore")
    expect(idle).toMatchObject({ ok: true, changed: false, reason: "already_denied_by_agent", before: "deny" })
    expect(text("opencode.json")).toBe(before)
    // For others there is something to do.
    const reply = await disable("a", {}, "explore")
    expect(reply).toMatchObject({ ok: true, changed: true, before: "deny", after: "deny", reason: "rule_added" })
    expect(await effect("a")).toBe("deny")
  })

  it("writes `ask` where that is wished", async () => {
    const { disable, enable, effect, text } = await start({ config: { "opencode.json": arrayOf(["b", "deny"]) } })
    const reply = await disable("a", { effect: "ask" })
    expect(reply).toMatchObject({ ok: true, before: "allow", after: "ask", verification: { method: "host" } })
    expect(codes(reply)).toContain("ask_may_hang")
    expect(await effect("a")).toBe("ask")
    expect(text("opencode.json")).toBe(arrayOf(["b", "deny"], ["a", "ask"]))
    expect(await disable("a", { effect: "ask" })).toMatchObject({ changed: false, reason: "already_disabled" })
    expect(await disable("a")).toMatchObject({ reason: "rule_changed", before: "ask", after: "deny" })
    expect(await enable("a")).toMatchObject({ reason: "rule_removed", after: "allow" })
    expect(text("opencode.json")).toBe(arrayOf(["b", "deny"]))
  })

  it("keeps a note in the record", async () => {
    const { disable, text, enable } = await start()
    await disable("a", { note: "too noisy" })
    const sidecar = text(SIDECAR) ?? ""
    expect(JSON.parse(sidecar)).toEqual({
      schemaVersion: 1,
      records: [
        {
          generation: "opencode-2",
          file: "opencode.jsonc",
          id: "a",
          effect: "deny",
          note: "too noisy",
          sections: [{ path: [], was: null }],
        },
      ],
    })
    await enable("a")
    expect(text(SIDECAR)).toBeNull()
  })

  it("finds the skill by its name", async () => {
    const { call, effect, host } = await start({
      files: { "config/opencode/skills/z/SKILL.md": "---\nname: Long Name\ndescription: d\n---\n" },
    })
    const reply = await call("disable", { name: "Long Name" })
    expect(reply.targets).toMatchObject([{ id: "z", after: "deny" }])
    expect(await effect("z")).toBe("deny")
    expect(readFileSync(`${host.configDir}/opencode.jsonc`, "utf8")).toContain('"z"')
  })
})

describe("enable", () => {
  it("takes the rule out, whoever wrote it, and says where it stood", async () => {
    const before = ONE_RULE.replace("// noisy", "")
    const { enable, effect, text, path } = await start({ config: { "opencode.jsonc": before } })
    const reply = await enable("b")
    expect(reply).toMatchObject({
      ok: true,
      changed: true,
      reason: "rule_removed",
      before: "deny",
      after: "allow",
      verification: { method: "host" },
      takesEffect: "now",
      location: path("opencode.jsonc"),
      rule: {
        effect: "deny",
        origin: { layer: "global", file: path("opencode.jsonc"), ...placeOf(before, '{ "action"') },
      },
      next: [{ input: { action: "undo", change: reply.change } }],
    })
    expect(await effect("b")).toBe("allow")
    expect(text("opencode.jsonc")).toContain("// by hand")
    expect(text("opencode.jsonc")).not.toContain('"b"')
  })

  it("takes it out of both global files in one change", async () => {
    const { enable, effect, text } = await start({
      config: {
        "opencode.json": arrayOf(["a", "deny"], ["b", "ask"]),
        "opencode.jsonc": arrayOf(["c", "ask"], ["a", "ask"]),
      },
    })
    expect(await enable("a")).toMatchObject({ ok: true, reason: "rule_removed", before: "ask", after: "allow" })
    expect(text("opencode.json")).toBe(arrayOf(["b", "ask"]))
    expect(text("opencode.jsonc")).toBe(arrayOf(["c", "ask"]))
    expect(await effect("a")).toBe("allow")
  })

  it("leaves a broad rule, and adds an exact allow behind it", async () => {
    const broad = `{"permissions": [${JSON.stringify(rule("a*", "deny"))}]}`
    const { enable, effect, text } = await start({ config: { "opencode.json": broad }, skills: ["a", "abc"] })
    const reply = await enable("a")
    expect(reply).toMatchObject({
      ok: true,
      reason: "allow_added",
      before: "deny",
      after: "allow",
      rule: { effect: "allow" },
    })
    expect(text("opencode.json")).toBe(
      `{"permissions": [${JSON.stringify(rule("a*", "deny"))},${JSON.stringify(rule("a", "allow"))}]}`,
    )
    expect([await effect("a"), await effect("abc")]).toEqual(["allow", "deny"])
    expect(await enable("a")).toMatchObject({ changed: false, reason: "already_enabled" })
  })

  it("puts back an allow that was there before", async () => {
    const before = arrayOf(["?", "ask"], ["a", "allow"])
    const { enable, disable, text } = await start({ config: { "opencode.json": before } })
    expect(await disable("a")).toMatchObject({ reason: "rule_changed" })
    expect(await enable("a")).toMatchObject({ reason: "previous_restored", after: "allow" })
    expect(text("opencode.json")).toBe(before)
    expect(text(SIDECAR)).toBeNull()
  })

  it("works for a skill that is gone", async () => {
    const { enable, disable, text } = await start({
      config: { "opencode.json": arrayOf(["gone", "deny"], ["b", "ask"]) },
    })
    expect(await enable("gone")).toMatchObject({ ok: true, reason: "rule_removed" })
    expect(text("opencode.json")).toBe(arrayOf(["b", "ask"]))
    expect(await enable("gone")).toMatchObject({ ok: false, error: { code: "skill_not_found" } })
    expect(await disable("gone")).toMatchObject({ ok: false, error: { code: "skill_not_found" } })
  })

  it("writes nothing where the skill is available", async () => {
    const { enable, names } = await start()
    expect(await enable("a")).toMatchObject({
      ok: true,
      changed: false,
      reason: "already_enabled",
      location: null,
      rule: null,
      verification: { method: "none" },
    })
    expect(names()).toEqual([])
  })
})

describe("dryRun", () => {
  it("shows the change and writes nothing", async () => {
    const before = arrayOf(["b", "deny"])
    const { disable, enable, text, names, effect } = await start({ config: { "opencode.json": before } })
    const down = await disable("a", { dryRun: true, note: "n" })
    expect(down).toMatchObject({
      ok: true,
      changed: false,
      reason: "rule_added",
      before: "allow",
      after: "deny",
      verification: { method: "simulated", ok: true },
      takesEffect: "now",
      change: null,
      backup: null,
      sidecar: { written: false },
      next: [{ input: { action: "disable", id: "a", note: "n" } }],
    })
    expect(down.diff).toContain('"resource":"a"')
    expect(down.impact).toHaveLength(2)
    expect(down.next[0]?.input).not.toHaveProperty("dryRun")
    expect(await enable("b", { dryRun: true })).toMatchObject({ changed: false, before: "deny", after: "allow" })
    expect(text("opencode.json")).toBe(before)
    expect(names()).toEqual(["opencode.json"])
    expect(await effect("a")).toBe("allow")
  })
})

describe("refusals leave every byte", () => {
  it.each<[string, object, string, object]>([
    ["an unknown field", { dryrun: true }, "invalid_input", { field: "dryrun", nearest: "dryRun" }],
    ["a field of another action", { query: "x" }, "invalid_input", { field: "query" }],
    ["a wrong effect", { effect: "allow" }, "invalid_input", { field: "effect" }],
    ["an agent", { agent: "plan" }, "scope_unsupported", {}],
  ])("%s", async (_, input, code, data) => {
    const { disable, names } = await start()
    // The host checks `effect` itself: the beta lets any input through.
    const reply = await disable("a", input).catch((error: Error) => error.message)
    if (typeof reply === "string") expect(reply).toContain("input refused by the host")
    else expect(reply).toMatchObject({ ok: false, error: { code, data } })
    expect(names()).toEqual([])
  })

  it("an agent, with the rule to paste", async () => {
    const { disable, path } = await start()
    expect((await disable("a", { agent: "plan" })).error?.data?.manual).toEqual({
      file: path("opencode.jsonc"),
      text: `"agents": { "plan": { "permissions": [{ "action": "skill", "resource": "a", "effect": "deny" }] } }`,
    })
  })

  it.each<[string, string, string, object]>([
    ["a syntax error", '{"permissions": [}\n', "config_unparsable", { line: 1 }],
    ["a duplicate key", '{"permissions": [],\n "permissions": []}', "config_unsupported", { line: 2, column: 2 }],
    ["an array of another type", '{"permissions": {}}', "config_unsupported", { reason: "unexpected_type" }],
    [
      "a reference for the effect in a map",
      '{"permission": {"skill": {"a": "{env:ASK}"}}}',
      "config_unsupported",
      { reason: "reference" },
    ],
    [
      "a reference for the section",
      '{"permission": {"skill": "{env:ASK}"}}',
      "config_unsupported",
      { reason: "reference" },
    ],
    [
      "a reference for the effect in an array",
      '{"permissions": [{"action": "skill", "resource": "a", "effect": "{env:ASK}"}]}',
      "config_unsupported",
      { reason: "reference" },
    ],
  ])("%s", async (_, text, code, data) => {
    process.env.ASK = "ask"
    try {
      const session = await start({ config: { "opencode.json": text }, env: () => ({ ASK: "ask" }) })
      expect(await session.disable("a")).toMatchObject({ ok: false, error: { code, data } })
      expect(session.text("opencode.json")).toBe(text)
      expect(session.names()).toEqual(["opencode.json"])
    } finally {
      delete process.env.ASK
    }
  })

  it("a sidecar that cannot be read", async () => {
    const newer = '{"schemaVersion": 99, "records": []}'
    const { disable, text, names } = await start({ config: { [SIDECAR]: newer } })
    expect(await disable("a")).toMatchObject({ ok: false, error: { code: "sidecar_unsupported" } })
    expect([names(), text(SIDECAR)]).toEqual([[SIDECAR], newer])
  })
})

describe("odd ids", () => {
  it.each(["__proto__", "constructor", "~", "$HOME", "10", "ünï", "a b", 'quo"te', "{env:HOME}", "{file:x}"])(
    "%s goes and comes back",
    async (id) => {
      const { disable, enable, effect, names } = await start({ skills: [id, "other"] })
      expect(await disable(id)).toMatchObject({ ok: true, after: "deny", verification: { method: "host" } })
      expect([await effect(id), await effect("other")]).toEqual(["deny", "allow"])
      expect(await enable(id)).toMatchObject({ ok: true, reason: "rule_removed" })
      expect([await effect(id), names()]).toEqual(["allow", []])
    },
  )

  it("an id that is a pattern is written only where it hits no other", async () => {
    const { disable, effect } = await start({ skills: ["pdf-*", "pdf-1", "doc?"] })
    const refused = await disable("pdf-*")
    expect(refused).toMatchObject({ ok: false, error: { code: "id_not_expressible", data: { hits: ["pdf-1"] } } })
    const written = await disable("doc?")
    expect(written).toMatchObject({ ok: true, verification: { method: "host" } })
    expect(dataOf(written, "rule_is_a_pattern")).toEqual({ id: "doc?" })
    expect(await effect("doc?")).toBe("deny")
  })
})
