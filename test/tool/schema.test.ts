import { createHash } from "node:crypto"
import { chmodSync, mkdirSync, realpathSync, renameSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Ajv2020 } from "ajv/dist/2020.js"
import fc from "fast-check"
import lockfile from "proper-lockfile"
import { afterEach, describe, expect, it, test } from "vitest"
import { answerSchema } from "../../src/tool/answer-schema.ts"
import { decodeInput } from "../../src/tool/input.ts"
import { hostInputSchema, inputSchema } from "../../src/tool/input-schema.ts"
import { asUser, HOSTS, type OpenHost, openOpenCode1, openOpenCode2, put, type World } from "../actions/both-hosts.ts"
import type { Plugin } from "../hosts/opencode-2/standin.ts"
import { isPublishedInput, refused, seenCodes, validated } from "./validated.ts"

const skillMap = (rules: Record<string, unknown>, more: object = {}) =>
  `${JSON.stringify({ ...more, permission: { skill: rules } }, null, 2)}\n`

/** The later builds of OpenCode 2: they check the input against our schema before we see it. */
const LATER = { build: "2.0" } as const

describe("published schemas", () => {
  const strict = () => new Ajv2020({ strict: true, strictRequired: false, allErrors: true })

  it("compile in strict mode, types included", () => {
    expect(() => strict().compile(answerSchema)).not.toThrow()
    expect(() => strict().compile(inputSchema)).not.toThrow()
    expect(() =>
      new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true }).compile(hostInputSchema),
    ).not.toThrow()
  })

  it.each<[string, object]>([
    ["no field", {}],
    ["a wrong schemaVersion", { schemaVersion: 2 }],
    ["an unknown error code", { error: { code: "oops", message: "m" } }],
    ["an unknown notice", { notices: [{ code: "oops" }] }],
    ["an unknown field", { extra: 1 }],
    ["ok with an error", { ok: true }],
    ["a warning that is no text", { warnings: [5] }],
  ])("the answer schema refuses %s", (what, change) => {
    const answer = {
      schemaVersion: 1,
      action: "inspect",
      ok: false,
      warnings: [],
      notices: [],
      error: { code: "internal", message: "m" },
      host: { generation: "opencode-1", version: null },
      next: [],
    }
    const isAnswer = strict().compile(answerSchema)
    expect(isAnswer(answer)).toBe(true)
    expect(isAnswer(what === "no field" ? {} : { ...answer, ...change })).toBe(false)
  })
})

describe("input schemas", () => {
  const isHostInput = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true }).compile(
    hostInputSchema,
  )

  it.each([
    { action: "list" },
    { action: "list", limit: 0 },
    { action: "list", limit: 500, cursor: "x", query: "pdf", match: "*", agent: "plan", fields: ["id"] },
    { action: "list", where: { source: "config", scope: "user", state: "deny", path: "*" } },
    { action: "inspect", id: "pdf", agent: "build" },
    { action: "inspect", name: "pdf" },
    { action: "disable", id: "pdf", effect: "ask", dryRun: true, note: "why" },
    { action: "enable", name: "pdf", dryRun: false },
  ])("both take %j", (input) => {
    expect(isPublishedInput(input)).toBe(true)
    expect(isHostInput(input)).toBe(true)
  })

  it.each([
    {},
    { action: "undone" },
    { action: null },
    { action: "list", id: "pdf" },
    { action: "list", limit: null },
    { action: "list", foo: 1 },
    { action: "list", where: {} },
    { action: "inspect" },
    { action: "disable", id: "pdf", dryrun: true },
    { action: "disable", id: "pdf", agent: "plan" },
    { action: "disable", id: "a\u0000b" },
    { action: "disable", id: "" },
    { action: "enable", id: "pdf", effect: "ask" },
    { action: "enable", name: "" },
    { action: "disable", id: "x".repeat(257) },
  ])("the published one refuses %j", (input) => expect(isPublishedInput(input)).toBe(false))

  it.each([
    Object.fromEntries([
      ["action", "list"],
      ..."id name match query effect agent dryRun note limit fields cursor where foo"
        .split(" ")
        .map((name) => [name, null]),
    ]),
    { action: "disable", id: "pdf", dryrun: true },
    { action: "list", foo: { bar: [1] }, ids: ["a"], plan: "x" },
    { action: "disable", id: "pdf", agent: "plan" },
    { action: "inspect" },
    { action: "disable", id: "a\u0000b" },
    { action: "list", where: { source: "config", path: null } },
    { action: "list", where: { sorce: "config" } },
  ])("the one for a host lets through, so that the answer is ours: %j", (input) =>
    expect(isHostInput(input)).toBe(true),
  )

  const text = fc.oneof(
    fc.string({ maxLength: 8 }),
    fc.constantFrom("pdf", "", "a\u0000b", "x".repeat(121), "\u{1F600}".repeat(130), "x".repeat(257)),
  )
  const field = {
    id: text,
    name: text,
    match: text,
    query: text,
    agent: text,
    note: text,
    cursor: text,
    effect: fc.constantFrom("deny", "ask", "allow", 5),
    ids: fc.constantFrom<unknown>(["pdf"], ["pdf", "docx"], [], ["a\u0000b"], [""], "pdf", Array(501).fill("x")),
    rule: fc.constantFrom("exact", "pattern", "other"),
    plan: fc.constantFrom(
      ["documents0123456", "request012345678"].join("."),
      Array(4).fill("a-_0123456789abc").join("."),
    ),
    change: text,
    dryRun: fc.constantFrom<unknown>(true, false, "true", 1),
    limit: fc.constantFrom<unknown>(0, 1, 500, 501, -1, 1.5, "1"),
    fields: fc.constantFrom<unknown>(["id"], [], ["nope"], "id", ["id", "id"]),
    where: fc.constantFrom<unknown>(
      { source: "config" },
      { state: "deny" },
      { state: "ask", path: "*" },
      {},
      { nope: 1 },
      { path: 5 },
      { finding: "unrecordedRules" },
      { finding: "unrecordedRules", path: "*" },
      "x",
    ),
    foo: fc.constant(1),
  }
  const one = fc.oneof(...Object.entries(field).map(([name, values]) => fc.tuple(fc.constant(name), values)))
  const target = fc.constantFrom(
    [],
    [["id", "pdf"]],
    [["name", "pdf"]],
    [["ids", ["pdf"]]],
    [["match", "p*"]],
    [["where", { scope: "user" }]],
  )
  const call = fc
    .tuple(
      fc.constantFrom("list", "inspect", "disable", "enable", "undo", "reconcile"),
      target,
      fc.array(one, { maxLength: 2 }),
    )
    .map(([action, named, fields]): object => ({ action, ...Object.fromEntries([...named, ...fields]) }))

  it("what the tool takes without a remark is what the published schema allows", () => {
    fc.assert(
      fc.property(call, (input) => {
        const decoded = decodeInput(input)
        // `agent` on a write is decoded for the sake of its own refusal.
        const taken =
          !("code" in decoded) &&
          decoded.notices.length === 0 &&
          !("agent" in input && /able/.test(String(Object(input).action)))
        expect(taken, JSON.stringify(input)).toBe(isPublishedInput(input))
      }),
      { numRuns: 3_000 },
    )
  })

  it("a call that names one skill by id and by name is either taken by both or by none", () => {
    const input = { action: "inspect", id: "pdf", name: "pdf" }
    expect("code" in decodeInput(input)).toBe(!isPublishedInput(input))
  })
})

describe.each(HOSTS)("every answer of $name", ({ open, generation }) => {
  let host: OpenHost
  const first = generation === "opencode-1"
  const start = async (world: World = {}) => {
    host = await open({ ...world, standin: { ...LATER, ...world.standin } })
    return host
  }
  afterEach(() => host.stop())
  const ok = async (input: object, caller = {}) => {
    const answer = validated(await host.call(input, caller))
    expect(answer.error).toBeUndefined()
    return answer
  }
  const codes = (answer: { notices: readonly { code: string }[] }) => answer.notices.map(({ code }) => code)

  describe("that succeeds", () => {
    it("list", async () => {
      await start({
        files: { "opencode.json": skillMap({ pdf: "deny", docx: "ask" }) },
        loaded: {
          rules: [
            ["skill", "pdf", "deny"],
            ["skill", "docx", "ask"],
          ],
        },
      })
      const answer = await ok({ action: "list" })
      expect(answer).toMatchObject({
        host: { generation },
        summary: { disabled: 1, ask: 1 },
        callerAgent: { id: "build", verified: true },
      })
      for (const field of [
        "id",
        "name",
        "autoinvoke",
        "source",
        "scope",
        "state",
        "path",
        "description",
        "tokens",
        "unlisted",
      ])
        await ok({ action: "list", fields: [field] })
      expect(await ok({ action: "list", limit: 0 })).not.toHaveProperty("config")
      expect(codes(await ok({ action: "list", limit: 1 }))).toEqual(["rows_missing"])
    })

    it("inspect, of every skill and through every agent's eyes", async () => {
      await start({
        files: { "opencode.json": skillMap({ pdf: "deny", "*": "ask" }) },
        loaded: {
          rules: [
            ["skill", "pdf", "deny"],
            ["skill", "*", "ask"],
          ],
        },
      })
      for (const id of ["pdf", "docx", first ? "customize-opencode" : "report"])
        for (const agent of ["build", "plan", "general", "explore", "compaction", "title", "summary"])
          await ok({ action: "inspect", id, agent })
      await ok({ action: "inspect", name: "pdf" })
    })

    it("disable and enable: rehearsed, done, done again, taken back", async () => {
      const text = '{\n  "model": "m/x",\n  "theme": "dark"\n}\n'
      await start({ files: { "opencode.json": text } })
      expect(codes(await ok({ action: "disable", id: "pdf", dryRun: true }))).toContain("diff_excerpt")
      expect(await ok({ action: "disable", id: "pdf", note: "too long" })).toMatchObject({
        changed: true,
        after: "deny",
        takesEffect: first ? "restart" : "now",
      })
      await host.settle()
      expect(await ok({ action: "disable", id: "pdf" })).toMatchObject({ changed: false, reason: "already_disabled" })
      await ok({ action: "inspect", id: "pdf" })
      if (first) expect(codes(await ok({ action: "list" }))).toContain("restart_pending")
      await ok({ action: "enable", id: "pdf", dryRun: true })
      expect(await ok({ action: "enable", id: "pdf" })).toMatchObject({
        changed: true,
        after: "allow",
        reason: "rule_removed",
      })
      await host.settle()
      expect(host.readConfig("opencode.json")).toBe(text)
      expect(await ok({ action: "enable", id: "pdf" })).toMatchObject({ changed: false, reason: "already_enabled" })
    })

    it("enable of a skill that is gone", async () => {
      await start({
        files: { "opencode.json": skillMap({ gone: "deny", pdf: "deny" }) },
        loaded: {
          rules: [
            ["skill", "gone", "deny"],
            ["skill", "pdf", "deny"],
          ],
        },
      })
      expect(await ok({ action: "enable", id: "gone" })).toMatchObject({ changed: true, reason: "rule_removed" })
    })

    it("`ask`, and an exact allow that opens more than was asked", async () => {
      await start({
        files: { "opencode.json": skillMap({ "*": "deny" }) },
        loaded: { rules: [["skill", "*", "deny"]] },
      })
      expect(codes(await ok({ action: "enable", id: "pdf" }))).toContain("opens_for")
      await host.settle()
      host.stop()
      await start()
      expect(codes(await ok({ action: "disable", id: "pdf", effect: "ask" }))).toContain("ask_may_hang")
    })
  })

  describe("that carries a notice", () => {
    it("field_ignored, field_unknown", async () => {
      await start()
      expect(codes(await ok({ action: "list", id: "pdf", foo: 1 }))).toEqual(["field_ignored", "field_unknown"])
    })

    it("caller_unverified", async () => {
      await start()
      const answer = await ok({ action: "list" }, { agent: "ghost" })
      expect(answer).toMatchObject({ callerAgent: { id: "build", verified: false } })
      expect(codes(answer)).toEqual(["caller_unverified"])
      expect(codes(await ok({ action: "inspect", id: "pdf" }, { agent: "ghost" }))).toEqual(["caller_unverified"])
      expect(codes(await ok({ action: "disable", id: "pdf", dryRun: true }, { agent: "ghost" }))).toContain(
        "caller_unverified",
      )
    })

    it("partly_effective", async () => {
      const agent = { plan: { permission: { skill: { pdf: "allow" } } } }
      await start({
        files: { "opencode.json": skillMap({}, { agent }) },
        loaded: { agentRules: { plan: [["skill", "pdf", "allow"]] } },
      })
      const answer = await ok({ action: "disable", id: "pdf" })
      const said = { code: "partly_effective", data: expect.objectContaining({ agents: ["plan"] }) }
      expect(answer.notices).toContainEqual(said)
    })

    it("still_unlisted", async () => {
      const bare = (configDir: string) => put(join(configDir, "skills/bare/SKILL.md"), "---\nname: bare\n---\n")
      await start({ skills: {}, arrange: ({ configDir }) => void bare(configDir) })
      if (first) host.answerWith("/skill", [{ name: "bare", location: bare(host.configDir) }])
      expect(codes(await ok({ action: "enable", id: "bare" }))).toEqual(["still_unlisted"])
    })

    it("winner_not_stable, where the name is the id", async () => {
      await start()
      put(join(host.configDir, "skills/twin/SKILL.md"), "---\nname: pdf\n---\n")
      expect(codes(await ok({ action: "inspect", id: "pdf" }))).toEqual(first ? ["winner_not_stable"] : [])
    })

    it("rule_is_a_pattern", async () => {
      await start({ skills: { "pdf?": { description: "d" }, docx: { description: "d" } } })
      expect(codes(await ok({ action: "disable", id: "pdf?" }))).toContain("rule_is_a_pattern")
    })

    it("model_differs", async () => {
      await start(UNEXPLAINED)
      expect(codes(await ok({ action: "list" }))).toContain("model_differs")
      expect(codes(await ok({ action: "inspect", id: "pdf" }))).toContain("model_differs")
    })

    it("both_files", async () => {
      await start({
        files: { "opencode.json": skillMap({ docx: "ask" }), "opencode.jsonc": skillMap({ pdf: "deny" }) },
        loaded: {
          rules: [
            ["skill", "docx", "ask"],
            ["skill", "pdf", "deny"],
          ],
        },
      })
      expect(codes(await ok({ action: "list" }))).toContain("both_files")
    })

    it("unfinished_change", async () => {
      await start({
        arrange: ({ stateDir }) => void put(join(stateDir, "journal.jsonl"), `${JSON.stringify(intent("c1"))}\n`),
      })
      expect((await ok({ action: "list" })).notices).toContainEqual({
        code: "unfinished_change",
        data: { changes: ["c1"] },
      })
    })

    it("sidecar_not_written", async () => {
      await start({
        arrange: ({ root, configDir }) => {
          put(join(root, "elsewhere/opencode.json"), "{}\n")
          symlinkSync("../../elsewhere/opencode.json", join(configDir, "opencode.json"))
        },
      })
      chmodSync(host.configDir, 0o555)
      const answer = await asUser(() => ok({ action: "disable", id: "pdf" }), host.root)
      expect(codes(answer)).toContain("sidecar_not_written")
    })

    if (!first)
      it("other_host_differs", async () => {
        await start({ files: { "opencode.json": skillMap({ docx: "allow" }) }, skills: { pdf: { name: "Papers" } } })
        expect(codes(await ok({ action: "disable", id: "pdf" }))).toContain("other_host_differs")
      })

    if (!first)
      it("host_not_reloaded", async () => {
        await start({ standin: { reloadDelayMs: 60_000 } })
        expect(await ok({ action: "disable", id: "pdf" })).toMatchObject({
          takesEffect: "restart",
          verification: { method: "simulated", ok: true },
          notices: [{ code: "host_not_reloaded" }],
        })
      })
  })

  describe("that fails", () => {
    const fails = async (code: string, input: object, caller = {}) => refused(await host.call(input, caller), code)

    it("invalid_input", async () => {
      await start()
      await fails("invalid_input", { action: "disable", id: "pdf", force: true })
      await fails("invalid_input", { action: "list", cursor: "x" })
      await fails("invalid_input", { action: "enable" })
    })

    it("skill_not_found, agent_not_found, scope_unsupported", async () => {
      await start()
      for (const action of ["inspect", "disable", "enable"]) await fails("skill_not_found", { action, id: "pfd" })
      for (const action of ["list", "inspect"])
        await fails("agent_not_found", { action, agent: "biuld", ...(action === "inspect" && { id: "pdf" }) })
      for (const action of ["disable", "enable"]) await fails("scope_unsupported", { action, id: "pdf", agent: "plan" })
    })

    if (!first)
      it("name_ambiguous", async () => {
        await start({ skills: { pdf: { name: "Papers" }, docx: { name: "Papers" } } })
        for (const action of ["inspect", "disable", "enable"]) await fails("name_ambiguous", { action, name: "Papers" })
      })

    it("id_not_expressible", async () => {
      await start({ skills: { "pdf?": { description: "d" }, pdfx: { description: "d" } } })
      await fails("id_not_expressible", { action: "disable", id: "pdf?" })
    })

    it("config_unparsable", async () => {
      await start({ files: { "opencode.json": "{" } })
      for (const input of [
        { action: "list" },
        { action: "list", limit: 0 },
        { action: "list", limit: 1 },
        { action: "disable", id: "pdf" },
      ])
        await fails("config_unparsable", input)
    })

    it("config_unsupported", async () => {
      await start({ arrange: ({ configDir }) => void mkdirSync(join(configDir, "opencode.jsonc")) })
      await fails("config_unsupported", { action: "disable", id: "pdf" })
    })

    it("config_readonly", async () => {
      await start({ files: { "opencode.jsonc": "{}" } })
      chmodSync(join(host.configDir, "opencode.jsonc"), 0o444)
      await fails("config_readonly", { action: "disable", id: "pdf" })
    })

    it("config_unreadable", async () => {
      await asUser(async () => {
        await start({
          files: { "opencode.jsonc": "{}" },
          arrange: ({ configDir }) => chmodSync(join(configDir, "opencode.jsonc"), 0),
        })
        await fails("config_unreadable", { action: "disable", id: "pdf" })
      })
    })

    it("config_changed", async () => {
      await start({ files: { "opencode.jsonc": "{} // 0\n" } })
      const file = join(host.configDir, "opencode.jsonc")
      let count = 0
      const busy = setInterval(() => {
        writeFileSync(`${host.root}/next`, `{} // ${++count}\n`)
        renameSync(`${host.root}/next`, file)
      }, 0)
      await fails("config_changed", { action: "disable", id: "pdf" }).finally(() => clearInterval(busy))
      expect(host.readConfig("opencode.jsonc")).toBe(`{} // ${count}\n`)
    })

    it("write_failed", async () => {
      await start({ arrange: ({ stateDir }) => void put(dirname(stateDir), "a file") })
      await fails("write_failed", { action: "disable", id: "pdf" })
    })

    it("not_effective", async () => {
      await start({
        projectFiles: { "opencode.json": skillMap({ pdf: "allow" }) },
        loaded: { rules: [["skill", "pdf", "allow"]] },
      })
      await fails("not_effective", { action: "disable", id: "pdf" })
    })

    it("blocked_elsewhere", async () => {
      await start({
        projectFiles: { "opencode.json": skillMap({ pdf: "deny" }) },
        loaded: { rules: [["skill", "pdf", "deny"]] },
      })
      const answer = await fails("blocked_elsewhere", { action: "enable", id: "pdf" })
      expect(answer.error?.message).toContain(join(host.project, "opencode.json"))
    })

    it("prediction_failed", async () => {
      await start(UNEXPLAINED)
      await fails("prediction_failed", { action: "disable", id: "pdf" })
    })

    it("sidecar_unsupported", async () => {
      await start({ files: { "skill_management.state.json": "{" } })
      for (const action of ["disable", "enable"]) await fails("sidecar_unsupported", { action, id: "pdf" })
      expect(await ok({ action: "list" })).toMatchObject({ sidecar: { ok: false } })
    })

    it("registry_unavailable", async () => {
      await start({
        standin: {
          wrap: withContext((context) => ({
            ...context,
            skill: { list: async () => Promise.reject(new Error("no")) },
          })),
        },
      })
      if (first) host.answerWith("/skill", "<!doctype html>")
      for (const action of ["list", "inspect", "disable", "enable"])
        await fails("registry_unavailable", action === "list" ? { action } : { action, id: "pdf" })
    })

    it("unsupported_host", async () => {
      const mute = { list: () => Promise.reject(new Error("no")) }
      await start({ standin: { wrap: withContext((context) => ({ ...context, skill: mute, agent: mute })) } })
      if (first) for (const route of ["/skill", "/agent"]) host.answerWith(route, new Error("no"))
      for (const action of ["list", "inspect", "disable", "enable"])
        await fails("unsupported_host", action === "list" ? { action } : { action, id: "pdf" })
    })

    it("a host without agents still lists its skills", async () => {
      await start({
        standin: {
          wrap: withContext((context) => ({ ...context, agent: { list: () => Promise.reject(new Error("no")) } })),
        },
      })
      if (first) host.answerWith("/agent", "<!doctype html>")
      const answer = validated(await host.call({ action: "list", fields: ["id", "state"], match: "pdf" }))
      expect(answer.skills).toEqual([{ id: "pdf", state: "unknown" }])
      expect(answer.callerAgent).toEqual({ id: null, verified: false })
      expect(answer.warnings.join()).not.toContain("null")
      for (const action of ["inspect", "disable", "enable"])
        expect(validated(await host.call({ action, id: "pdf" })).ok).toBe(false)
    })

    it("plan_required, plan_stale, no_match, nothing_to_undo", async () => {
      await start({})
      const { plan } = refused(await host.call({ action: "disable", ids: ["pdf", "docx"] }), "plan_required")
      refused(await host.call({ action: "disable", ids: ["pdf"], plan: Object(plan).token }), "plan_stale")
      for (const action of ["disable", "enable"])
        refused(await host.call({ action, match: "nothing-like-it*" }), "no_match")
      refused(await host.call({ action: "undo" }), "nothing_to_undo")
      refused(await host.call({ action: "undo", change: "20260101T000000000Z-00c0ffee" }), "nothing_to_undo")
    })

    it("cancelled", async () => {
      const aborted = AbortSignal.abort()
      await start({ standin: { wrap: withCall((call) => ({ ...call, signal: aborted })) } })
      for (const action of ["disable", "enable"]) {
        const answer = await host.call({ action, id: "pdf" }, { abort: aborted })
        refused(answer, "cancelled")
      }
    })
  })

  it("holds odd Unicode escaped, and reads back equal", async () => {
    const odd = 'a\u00ad\u0085\u009f\u200b\u202e\u2028\u2029\ufeff\u{e0041}\ud800\u{1f600}"\\b'
    // A folder's name cannot hold a lone surrogate, and a call cannot name what holds a control character.
    const id = odd.replace("\ud800", "").replaceAll(/[\u0080-\u009f]/g, "")
    await start({
      skills: { [id]: { description: odd } },
      files: { "opencode.json": skillMap({ [id]: "ask" }) },
      loaded: { rules: [["skill", id, "ask"]] },
    })
    const raw = /[\p{Cf}\u0080-\u009f\u2028\u2029]/u
    for (const input of [{ action: "list" }, { action: "inspect", id }, { action: "disable", id }]) {
      const reply = await host.call(input)
      expect(reply.text).not.toMatch(raw)
      const answer = validated(reply)
      expect(JSON.stringify(answer)).toContain(JSON.stringify(id).slice(1, -1))
    }
    const { skills } = validated(
      await host.call({ action: "list", fields: ["id", "description"], where: { state: "disabled" } }),
    )
    if (!first) expect(skills).toEqual([{ id, description: odd }])
    const [code] = /\\u\{?[0-9a-f]{4}/i.exec((await host.call({ action: "list" })).text) ?? []
    expect(code).toMatch(/^\\u[0-9a-f]{4}$/)
  })

  it("never suggests a call that would be refused", async () => {
    await start({ skills: {} })
    const { next } = validated(await host.call({ action: "list" }))
    expect(next).toHaveLength(1)
    if (!first) return
    // OpenCode 1 takes any text for a name, so that it can be one that no call can say.
    for (const name of ["x".repeat(300), "a\u0000b", "a\nb"]) {
      host.answerWith("/skill", [{ name, description: "d", location: "/skills/x/SKILL.md", content: "" }])
      validated(await host.call({ action: "list" }))
    }
  })

  describe("to anything", () => {
    const value = fc.jsonValue({ maxDepth: 3 })
    const key = fc.oneof(
      fc.constantFrom(
        ..."id name match query effect agent dryRun note limit fields cursor where dryrun __proto__ constructor".split(
          " ",
        ),
      ),
      fc.string({ maxLength: 6, unit: "binary" }),
    )
    const near = fc.oneof(
      value,
      fc.constantFrom<unknown>("pdf", "docx", "plan", true, "ask", 1, ["id"], { source: "config" }, null),
    )
    const call = fc
      .tuple(
        fc.constantFrom<unknown>("list", "inspect", "disable", "enable", "undo", 5),
        fc.array(fc.tuple(key, near), { maxLength: 5 }),
      )
      .map(([action, fields]): unknown =>
        JSON.parse(
          `{"action":${JSON.stringify(action)}${fields.map(([name, item]) => `,${JSON.stringify(name)}:${JSON.stringify(item)}`).join("")}}`,
        ),
      )

    it("is an answer: the tool never throws, and nothing is unforeseen", async () => {
      await start({ standin: { build: "beta" } })
      await fc.assert(
        fc.asyncProperty(fc.oneof({ weight: 1, arbitrary: value }, { weight: 4, arbitrary: call }), async (input) => {
          const answer = validated(await host.call(input))
          expect(answer.error?.code).not.toBe("internal")
        }),
        { numRuns: first ? 600 : 250 },
      )
    }, 120_000)
  })
})

test("lock_timeout, on both hosts", async () => {
  const waitFor = async (open: typeof openOpenCode1) => {
    const host = await open()
    // "Lock in the state directory, named by the hash of the real path."
    const key = createHash("sha256").update(realpathSync(host.configDir)).digest("hex").slice(0, 32)
    const locks = join(host.stateDir, "locks")
    mkdirSync(locks, { recursive: true })
    const release = await lockfile.lock(join(locks, key), { realpath: false, update: 1_000, stale: 10_000 })
    const reply = host.call({ action: "disable", id: "pdf" })
    await sleep(500)
    return { host, reply, release }
  }
  const waiting = [await waitFor(openOpenCode1), await waitFor(openOpenCode2)]
  for (const { reply, release } of waiting) {
    refused(await reply, "lock_timeout")
    await release()
  }
  for (const { host } of waiting.toReversed()) host.stop()
}, 90_000)

/** A plugin that is handed another context than the host's. */
function withContext(change: (context: Record<string, object>) => object): (plugin: Plugin) => Plugin {
  return ({ id, setup }) => ({ id, setup: (context: never) => setup(change(context) as never) })
}

/** A plugin whose tool is called with another call context. */
function withCall(change: (call: object) => object): (plugin: Plugin) => Plugin {
  type Tool = { execute(input: unknown, call: object): unknown }
  type Transform = (change: (editor: { add(tool: Tool): void }) => void) => unknown
  return withContext((context) => {
    const transform = Reflect.get(context.tool ?? {}, "transform") as Transform
    const add = (outer: { add(tool: Tool): void }) => (tool: Tool) =>
      outer.add({ ...tool, execute: (input, call) => tool.execute(input, change(call)) })
    return {
      ...context,
      tool: { transform: (edit: (editor: object) => void) => transform((editor) => edit({ add: add(editor) })) },
    }
  })
}

/** The host has a rule that no readable layer accounts for. */
const UNEXPLAINED: World = {
  loaded: { rules: [["skill", "docx", "deny"]] },
  standin: { env: { OPENCODE_CONFIG_CONTENT: skillMap({ docx: "deny" }) } },
}

const intent = (change: string) => ({
  kind: "intent",
  change,
  time: "2026-01-01T00:00:00.000Z",
  session: null,
  caller: null,
  generation: "opencode-1",
  action: "disable",
  targets: ["pdf"],
  files: [],
  inverse: [],
  rules: [],
  former: [],
  records: [],
  configDirectory: "/somewhere",
  backup: [],
})

test("the codes that a call on these hosts can bring about were all seen", () => {
  expect(seenCodes()).toEqual({
    errors: [
      "agent_not_found",
      "blocked_elsewhere",
      "cancelled",
      "config_changed",
      "config_readonly",
      "config_unparsable",
      "config_unreadable",
      "config_unsupported",
      "id_not_expressible",
      "invalid_input",
      "lock_timeout",
      "name_ambiguous",
      "no_match",
      "not_effective",
      "nothing_to_undo",
      "plan_required",
      "plan_stale",
      "prediction_failed",
      "registry_unavailable",
      "scope_unsupported",
      "sidecar_unsupported",
      "skill_not_found",
      "unsupported_host",
      "write_failed",
    ],
    notices: [
      "approval_not_configured",
      "ask_may_hang",
      "both_files",
      "caller_unverified",
      "diff_excerpt",
      "field_ignored",
      "field_unknown",
      "host_not_reloaded",
      "model_differs",
      "opens_for",
      "other_host_differs",
      "partly_effective",
      "restart_pending",
      "rows_missing",
      "rule_is_a_pattern",
      "sidecar_not_written",
      "still_unlisted",
      "unfinished_change",
      "winner_not_stable",
    ],
  })
})
