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
})
