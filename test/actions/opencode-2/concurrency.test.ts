import { readdirSync, readFileSync } from "node:fs"
import { afterEach, describe, expect, it } from "vitest"
import { arrayOf, eventually, rule, type Session, SIDECAR, start, stop } from "./harness.ts"

afterEach(stop)

/** Every change has its closing line, and no lock is held. */
function settled({ stateFile }: Session): string[] {
  const lines = readFileSync(stateFile("journal.jsonl"), "utf8").trim().split("\n")
  const journal: { kind: string; change: string }[] = lines.map((line) => JSON.parse(line))
  const closed = journal.filter(({ kind }) => kind === "done").map(({ change }) => change)
  expect(journal.filter(({ kind }) => kind === "intent").map(({ change }) => change)).toEqual(closed)
  expect(readdirSync(stateFile("locks"))).toEqual([])
  return closed
}

const rulesIn = (text: string | null): { resource: string; effect: string }[] =>
  JSON.parse((text ?? "").replaceAll("// skill_management", "")).permissions

describe("calls of one turn", () => {
  it.each(["beta", "2.0"] as const)("two disables both end in the file, on %s", async (build) => {
    const session = await start({ build })
    const replies = await Promise.all([session.disable("a"), session.disable("b")])
    for (const reply of replies)
      expect(reply).toMatchObject({ ok: true, changed: true, verification: { method: "host" } })
    expect(rulesIn(session.text("opencode.jsonc"))).toEqual(
      expect.arrayContaining([rule("a", "deny"), rule("b", "deny")]),
    )
    expect(rulesIn(session.text("opencode.jsonc"))).toHaveLength(2)
    expect([await session.effect("a"), await session.effect("b"), await session.effect("c")]).toEqual([
      "deny",
      "deny",
      "allow",
    ])
    expect(settled(session)).toHaveLength(2)
    await Promise.all([session.enable("b"), session.enable("a")])
    expect(session.names()).toEqual([])
  })

  it("the same disable twice writes once", async () => {
    const session = await start()
    const replies = await Promise.all([session.disable("a"), session.disable("a")])
    expect(replies.map(({ reason }) => reason).sort()).toEqual(["already_disabled", "rule_added"])
    expect(rulesIn(session.text("opencode.jsonc"))).toEqual([rule("a", "deny")])
    expect(settled(session)).toHaveLength(1)
  })

  it("six of all kinds each get their due", async () => {
    const before = arrayOf(["d", "deny"], ["keep", "ask"], ["e", "ask"])
    const skills = ["a", "b", "c", "d", "e", "keep"]
    const session = await start({ skills, config: { "opencode.json": before } })
    const replies = await Promise.all([
      session.disable("a"),
      session.enable("d"),
      session.list(),
      session.disable("b", { effect: "ask" }),
      session.enable("e"),
      session.disable("c", { note: "six" }),
    ])
    for (const reply of replies) expect(reply).toMatchObject({ ok: true })
    for (const reply of replies)
      if ("changed" in reply)
        expect(reply).toMatchObject({ changed: true, verification: { method: "host" }, takesEffect: "now" })
    const found = rulesIn(session.text("opencode.json")).map(({ resource, effect }) => `${resource} ${effect}`)
    expect(found.sort()).toEqual(["a deny", "b ask", "c deny", "keep ask"])
    const effects = await Promise.all(skills.map((id) => session.effect(id)))
    expect(effects).toEqual(["deny", "ask", "deny", "allow", "allow", "ask"])
    expect(settled(session)).toHaveLength(5)
    const { records } = JSON.parse(session.text(SIDECAR) ?? "")
    expect(records.map(({ id }: { id: string }) => id)).toEqual(["a", "b", "c"])
  })

  it("disable and enable of one skill end in one of the two, and say so", async () => {
    const session = await start({ config: { "opencode.json": arrayOf(["a", "deny"], ["b", "ask"]) } })
    const [up, down] = await Promise.all([session.enable("a"), session.disable("a")])
    expect([up.ok, down.ok]).toEqual([true, true])
    const inFile = rulesIn(session.text("opencode.json")).some(({ resource }) => resource === "a")
    await eventually(() => session.effect("a")).toBe(inFile ? "deny" : "allow")
    // The later one in the journal has the last word.
    const lines = readFileSync(session.stateFile("journal.jsonl"), "utf8").trim().split("\n")
    const last = lines.map((line) => JSON.parse(line)).findLast(({ kind }) => kind === "intent")
    expect(last.action).toBe(inFile ? "disable" : "enable")
    // Whoever came second saw what the first had done.
    if (!inFile) expect(down).toMatchObject({ changed: false, reason: "already_disabled" })
  })

  it("of two sessions do not cross", async () => {
    const session = await start()
    const call = (id: string, sessionID: string) =>
      session.host.call("skill_management", { action: "disable", id }, { agent: "plan", sessionID })
    await Promise.all([call("a", "ses_a"), call("b", "ses_b")])
    const lines = readFileSync(session.stateFile("journal.jsonl"), "utf8").trim().split("\n")
    const intents = lines.map((line) => JSON.parse(line)).filter(({ kind }) => kind === "intent")
    const told = intents.map(({ targets, session: from, caller }) => `${targets} ${from} ${caller}`)
    expect(told.sort()).toEqual(["a ses_a plan", "b ses_b plan"])
  })
})
