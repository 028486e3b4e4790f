// Several skills at once, in two steps, and the way back, on both hosts.
import { afterEach, describe, expect, it } from "vitest"
import { validated } from "../tool/validated.ts"
import { HOSTS, type OpenHost, snapshot, type World } from "./both-hosts.ts"

const CONFIG = '{\n  // mine\n  "permission": {\n    "skill": {\n      "x-*": "ask" // some\n    }\n  }\n}\n'
const DISABLED =
  '{\n  // mine\n  "permission": {\n    "skill": {\n      "x-*": "ask", // some\n' +
  '      "pdf": "deny", // skill_management\n      "pdf-forms": "deny" // skill_management\n    }\n  }\n}\n'

const WORLD: World = { files: { "opencode.jsonc": CONFIG }, loaded: { rules: [["skill", "x-*", "ask"]] } }

const tokenIn = (answer: Readonly<Record<string, unknown>>): unknown => Object(answer.plan).token

describe.each(HOSTS)("bulk on $name", ({ open }) => {
  let host: OpenHost
  afterEach(() => host.stop())

  const call = async (input: object) => {
    const answer = validated(await host.call(input))
    await host.settle()
    return answer
  }

  it("plans, applies exactly that, takes it back and makes it again", async () => {
    host = await open(WORLD)
    const first = snapshot(host.configDir)
    const rehearsal = await call({ action: "disable", match: "pdf*" })
    expect(rehearsal.error).toMatchObject({ code: "plan_required" })
    expect(rehearsal).toMatchObject({
      changed: false,
      reason: "rule_added",
      targets: [
        { id: "pdf", before: "allow", after: "deny", changed: false, reason: "rule_added" },
        { id: "pdf-forms", before: "allow", after: "deny", changed: false, reason: "rule_added" },
      ],
      plan: { count: 2 },
    })
    expect(snapshot(host.configDir)).toEqual(first)

    const applied = await call(rehearsal.next[0]?.input ?? {})
    expect(applied).toMatchObject({
      ok: true,
      changed: true,
      counts: { targets: 2, changed: 2, unchanged: 0 },
      targets: [],
    })
    expect(host.readConfig("opencode.jsonc")).toBe(DISABLED)

    expect(applied.next[0]?.input).toEqual({ action: "undo", change: applied.change })
    const undone = await call({ action: "undo" })
    expect(undone).toMatchObject({ ok: true, changed: true, reason: "undone", undoes: applied.change })
    expect(snapshot(host.configDir)).toEqual(first)

    expect(await call(undone.next[0]?.input ?? {})).toMatchObject({ ok: true, changed: true, undoes: undone.change })
    expect(host.readConfig("opencode.jsonc")).toBe(DISABLED)
  })

  it("refuses a plan when the file has changed since, and shows the new one", async () => {
    host = await open(WORLD)
    const first = await call({ action: "disable", ids: ["pdf", "docx"] })
    host.config("opencode.jsonc", `${CONFIG}// later\n`)
    await host.settle()
    const stale = await call({ action: "disable", ids: ["pdf", "docx"], plan: tokenIn(first) })
    expect(stale.error).toMatchObject({ code: "plan_stale", data: { differs: ["documents", "effects"] } })
    expect(host.readConfig("opencode.jsonc")).toBe(`${CONFIG}// later\n`)
    expect(await call({ action: "disable", ids: ["pdf", "docx"], plan: tokenIn(stale) })).toMatchObject({ ok: true })
  })

  it.each<[string, (host: OpenHost) => unknown, string[]]>([
    ["another request", () => {}, ["request", "targets", "effects"]],
    ["another file", (at) => void at.config("opencode.json", "{}"), ["documents"]],
    [
      "another rule for a target",
      (at) => void at.config("opencode.jsonc", CONFIG.replace('"ask" //', '"ask", "pdf": "ask" //')),
      ["documents", "targets", "effects"],
    ],
  ])("a token covers %s", async (name, meanwhile, differs) => {
    host = await open(WORLD)
    const token = tokenIn(await call({ action: "disable", ids: ["pdf", "docx"] }))
    await meanwhile(host)
    await host.settle()
    const ids = name === "another request" ? ["pdf", "pdf-forms"] : ["pdf", "docx"]
    for (const more of [{}, { dryRun: true }]) {
      const answer = validated(await host.call({ action: "disable", ids, plan: token, ...more }))
      expect(answer.error).toMatchObject({ code: "plan_stale", data: { differs } })
    }
  })

  it("is applied with `plan` and `dryRun` only in thought", async () => {
    host = await open(WORLD)
    const first = snapshot(host.configDir)
    const token = tokenIn(await call({ action: "disable", match: "pdf*", dryRun: true }))
    const answer = await call({ action: "disable", match: "pdf*", plan: token, dryRun: true })
    expect(answer).toMatchObject({ ok: true, changed: false, counts: { targets: 2, changed: 2 } })
    expect(snapshot(host.configDir)).toEqual(first)
  })

  it("is the same request in another order of keys", async () => {
    host = await open(WORLD)
    const plan = tokenIn(await call({ action: "disable", match: "pdf*", where: { scope: "user", source: "config" } }))
    const again = { where: { source: "config", scope: "user" }, match: "pdf*", action: "disable", dryRun: true, plan }
    expect(await call(again)).toMatchObject({ ok: true, changed: false })
  })

  it("writes one pattern as one rule, which undo takes back", async () => {
    host = await open(WORLD)
    const rehearsal = await call({ action: "disable", match: "pdf*", rule: "pattern" })
    expect(rehearsal).toMatchObject({ plan: { count: 2 }, targets: [{ id: "pdf" }, { id: "pdf-forms" }] })
    expect(rehearsal.notices).toContainEqual({ code: "rule_is_a_pattern", data: { id: "pdf*" } })
    expect(await call(rehearsal.next[0]?.input ?? {})).toMatchObject({ ok: true, counts: { changed: 2 } })
    expect(host.readConfig("opencode.jsonc")).toBe(
      CONFIG.replace('"ask" // some\n', '"ask", // some\n      "pdf*": "deny" // skill_management\n'),
    )
    const { consistency } = await call({ action: "list" })
    expect(consistency).toMatchObject({ missingFromRegistry: [] })
    await call({ action: "undo" })
    expect(host.readConfig("opencode.jsonc")).toBe(CONFIG)
  })

  it("finds skills by the folder that they lie in, and leaves alone what is hidden already", async () => {
    host = await open({
      files: { "opencode.jsonc": CONFIG.replace('"ask" // some', '"ask", "pdf": "deny" // some') },
      loaded: {
        rules: [
          ["skill", "x-*", "ask"],
          ["skill", "pdf", "deny"],
        ],
      },
    })
    const rehearsal = await call({ action: "disable", where: { path: "*/skills/pdf*" } })
    expect(rehearsal.targets).toMatchObject([
      { id: "pdf", reason: "already_disabled" },
      { id: "pdf-forms", reason: "rule_added" },
    ])
    const applied = await call(rehearsal.next[0]?.input ?? {})
    expect(applied).toMatchObject({
      counts: { targets: 2, changed: 1, unchanged: 1 },
      targets: [{ id: "pdf", changed: false, reason: "already_disabled" }],
    })
  })

  it("names all unknown ids at once, and writes nothing", async () => {
    host = await open(WORLD)
    const answer = await call({ action: "disable", ids: ["pdf", "dpf", "nothing-like-it"] })
    expect(answer.error).toMatchObject({
      code: "skill_not_found",
      data: { ids: ["dpf", "nothing-like-it"], suggestions: { dpf: ["pdf"], "nothing-like-it": [] } },
    })
  })

  it("is all or nothing: one skill that cannot be changed stops the others", async () => {
    host = await open({
      ...WORLD,
      projectFiles: { "opencode.json": '{ "permission": { "skill": { "pdf": "allow" } } }' },
      loaded: {
        rules: [
          ["skill", "x-*", "ask"],
          ["skill", "pdf", "allow"],
        ],
      },
    })
    const first = snapshot(host.configDir)
    const answer = await call({ action: "disable", ids: ["docx", "pdf"] })
    expect(answer.error?.code).toBe("not_effective")
    expect(answer.error?.message).toContain("`pdf`")
    expect(snapshot(host.configDir)).toEqual(first)
  })
})
