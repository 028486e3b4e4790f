/** The hosts cut an output at 2,000 lines or 51,200 bytes; `validated` checks that none of ours has 32 KiB or 1,500 lines. */
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, describe, expect, it, test } from "vitest"
import { HOSTS, type OpenHost, openOpenCode1, openOpenCode2, put } from "../actions/both-hosts.ts"
import { type Answer, refused, validated } from "./validated.ts"

const KIB = 1_024
const COUNT = 2_000
const TEN_KIB = 10 * KIB

/** Text that grows when it is escaped or encoded, or that a careless cut would tear. */
const FILLERS = ["x", "é", "汉", "\u{1F600}", "\u200b", "\u202e", "\u{E0041}", "\u0085", "\u2028", '"', "\\", "\t"]

const filled = (filler: string, bytes: number) => filler.repeat(Math.ceil(bytes / Buffer.byteLength(filler)))

/** Every tenth has only a short first line; the others are 10 KiB on one line, of one filler each. */
function descriptionOf(i: number): string {
  const filler = FILLERS[i % FILLERS.length] ?? "x"
  return i % 10 === 9 ? `Skill ${i}: short.\n${filled(filler, TEN_KIB)}` : `Skill ${i}: ${filled(filler, TEN_KIB)}`
}

const idOf = (i: number) => `skill-${String(i).padStart(4, "0")}${i % 50 === 0 ? "-\u{1F600}é" : ""}`
const IDS = Array.from({ length: COUNT }, (_, i) => idOf(i))
const manySkills = () => Object.fromEntries(IDS.map((id, i) => [id, { description: descriptionOf(i) }]))

interface Listed {
  readonly answer: Answer
  readonly bytes: number
  readonly rows: readonly { readonly id?: string }[]
  readonly page: { readonly total: number; readonly returned: number; readonly nextCursor: string | null }
}

async function listed(host: OpenHost, input: object): Promise<Listed> {
  const reply = await host.call({ action: "list", ...input })
  const answer = validated(reply)
  expect(answer.error).toBeUndefined()
  return {
    answer,
    bytes: Buffer.byteLength(reply.text),
    rows: answer.skills as Listed["rows"],
    page: answer.page as Listed["page"],
  }
}

/** All pages, by the cursors; each but the last tells that rows are missing. */
async function allPages(host: OpenHost, input: object): Promise<Listed[]> {
  const pages: Listed[] = []
  let cursor: string | null = null
  do {
    const page: Listed = await listed(host, { ...input, ...(cursor !== null && { cursor }) })
    expect(page.page.returned).toBe(page.rows.length)
    expect(page.rows.length).toBeGreaterThan(0)
    pages.push(page)
    cursor = page.page.nextCursor
    if (cursor !== null) expect(page.answer.notices[0]?.code).toBe("rows_missing")
    expect(pages.length).toBeLessThanOrEqual(COUNT)
  } while (cursor !== null)
  return pages
}

const sorted = (ids: readonly string[]) => [...ids].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
const idsOn = (pages: readonly Listed[]) => pages.flatMap(({ rows }) => rows.map(({ id }) => id))

describe.each(HOSTS)("2,000 skills with descriptions of 10 KiB on $name", ({ open, generation }) => {
  let host: OpenHost
  const builtIn = generation === "opencode-1" ? ["customize-opencode"] : ["opencode", "report"]
  const everyId = sorted([...IDS, ...builtIn])
  beforeAll(async () => {
    host = await open({
      skills: manySkills(),
      files: { "opencode.json": '{"permission": {"skill": {"skill-1*": "deny"}}}\n' },
      loaded: { rules: [["skill", "skill-1*", "deny"]] },
      standin: { reloadDelayMs: 60_000 },
    })
  }, 120_000)
  afterAll(() => host.stop())

  it("the default page stays under 16 KiB and says what is missing", async () => {
    const { bytes, page, answer, rows } = await listed(host, {})
    expect(bytes).toBeLessThan(16 * KIB)
    expect(bytes, "a page that is filled").toBeGreaterThan(12 * KIB)
    expect(page.total).toBe(everyId.length)
    expect(rows.length).toBeLessThan(page.total)
    expect(answer.warnings[0]).toContain("cursor")
    expect(answer).toMatchObject({ summary: { total: everyId.length, disabled: 1_000 } })
    expect(answer.next[0]?.input).toEqual({ action: "list", cursor: page.nextCursor })
  })

  it("every page of the default size stays under 16 KiB, and every skill is on exactly one", {
    timeout: 180_000,
  }, async () => {
    const pages = await allPages(host, {})
    for (const { bytes } of pages) expect(bytes).toBeLessThan(16 * KIB)
    expect(idsOn(pages)).toEqual(everyId)
    for (const [i, { answer, page }] of pages.entries()) {
      expect(page.total).toBe(everyId.length)
      for (const field of ["config", "sidecar", "consistency"])
        if (i === 0) expect(answer).toHaveProperty(field)
        else expect(answer).not.toHaveProperty(field)
    }
  })

  it.each([
    [{ limit: 7, match: "skill-00*" }, (id: string) => id.startsWith("skill-00")],
    [{ limit: 1, match: "skill-000?" }, (id: string) => /^skill-000.$/.test(id)],
    [{ limit: 100, where: { state: "deny" } }, (id: string) => id.startsWith("skill-1")],
    [{ limit: 500 }, () => true],
    [{ limit: 500, fields: ["id"] }, () => true],
    [{ fields: ["id", "state"], where: { state: "available", source: "config" } }, (id: string) => /^skill-0/.test(id)],
    [{ limit: 50, query: "SKILL 19" }, (id: string) => /^skill-(0019|019\d|19\d\d)/.test(id)],
    [{ match: "no-such-*" }, () => false],
  ])("%j: every skill that is meant is on exactly one page", { timeout: 180_000 }, async (input, meant) => {
    const wanted = everyId.filter((id) => (builtIn.includes(id) ? "limit" in input && input.limit === 500 : meant(id)))
    if (wanted.length === 0) {
      const { rows, page } = await listed(host, input)
      expect([rows, page]).toEqual([[], { total: 0, returned: 0, nextCursor: null }])
      return
    }
    const pages = await allPages(host, input)
    expect(idsOn(pages)).toEqual(wanted)
    const most = "limit" in input ? input.limit : Number.POSITIVE_INFINITY
    for (const { rows } of pages) expect(rows.length).toBeLessThanOrEqual(most)
  })

  it("a row that is too large alone loses its description, and says so; the others keep theirs whole", async () => {
    const { rows } = await listed(host, { limit: 500, match: "skill-00??", fields: ["id", "description"] })
    const first = rows[0] as { description: unknown; truncated: unknown }
    expect(first).toMatchObject({ description: null, truncated: ["description"] })
    expect(rows.find(({ id }) => id === "skill-0009")).toEqual({ id: "skill-0009", description: "Skill 9: short." })
  })

  it("`limit: 0` is the summary alone", async () => {
    const { answer, rows, bytes } = await listed(host, { limit: 0 })
    expect(rows).toEqual([])
    for (const field of ["config", "sidecar", "consistency"]) expect(answer).not.toHaveProperty(field)
    expect(bytes).toBeLessThan(4 * KIB)
  })

  it("inspect, disable and enable stay within their limits too", async () => {
    for (const i of FILLERS.keys()) {
      const id = idOf(i)
      const answer = validated(await host.call({ action: "inspect", id }))
      expect(answer.ok).toBe(true)
    }
    validated(await host.call({ action: "disable", id: idOf(1), dryRun: true }))
    validated(await host.call({ action: "enable", id: idOf(1_001), dryRun: true }))
  })
})

describe("what else may grow", () => {
  let host: OpenHost
  afterEach(() => host.stop())

  test.each(FILLERS)("inspect of a skill with a description of 8,000 times %j", async (filler) => {
    host = await openOpenCode1({ skills: { pdf: { description: filler.repeat(8_000 / filler.length) } } })
    expect(validated(await host.call({ action: "inspect", id: "pdf" })).ok).toBe(true)
  })

  test.each(["x", "\u200b", "汉"])("a name of 40,000 times %j", async (filler) => {
    host = await openOpenCode1()
    host.answerWith("/skill", [
      { name: filler.repeat(40_000), description: "d", location: "/s/SKILL.md", content: "" },
      { name: "pdf", description: "d", location: "/p/SKILL.md", content: "" },
    ])
    const pages = await allPages(host, {})
    expect(idsOn(pages)).toContain("pdf")
  })

  test.each(["x", "\u200b"])("a hundred ids of 250 times %j in rules, records and registry", async (filler) => {
    const ids = Array.from({ length: 100 }, (_, i) => `${filler.repeat(250)}${String(i).padStart(3, "0")}`)
    const rules = Object.fromEntries(ids.map((id) => [id, "deny"]))
    const records = ids.map((id) => ({ generation: "opencode-1", file: "opencode.json", id: `-${id}`, effect: "deny" }))
    host = await openOpenCode1({
      files: {
        "opencode.json": JSON.stringify({ permission: { skill: rules } }, null, 2),
        "skill_management.state.json": JSON.stringify({ schemaVersion: 1, records }),
      },
      skills: {},
      loaded: { rules: ids.map((id) => ["skill", id, "deny"] as const) },
    })
    // Only registered: a folder's name cannot be that long.
    const row = (name: string) => ({ name, description: "d", location: "/skills/x/SKILL.md", content: "" })
    host.answerWith("/skill", ids.slice(0, 3).map(row))
    const { answer, bytes } = await listed(host, {})
    expect(answer.consistency).toMatchObject({
      unrecordedRulesTruncated: { total: 100 },
      staleSidecarIdsTruncated: { total: 100 },
    })
    expect(bytes).toBeLessThan(16 * KIB)
    validated(await host.call({ action: "inspect", id: ids[0] }))
  })

  test("two hundred agents with long names", async () => {
    const name = (i: number) => `agent-${i}-${"é".repeat(100)}`
    const agents = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [name(i), {}]))
    host = await openOpenCode1({ loaded: { agents } })
    const { answer, bytes } = await listed(host, {})
    expect(answer.summary).toMatchObject({ agentsTruncated: { total: 207 } })
    expect(bytes).toBeLessThan(16 * KIB)
    for (const input of [{ action: "inspect" }, { action: "disable", dryRun: true }, { action: "disable" }])
      expect(validated(await host.call({ ...input, id: "pdf" })).ok).toBe(true)
    refused(await host.call({ action: "list", agent: "agent" }), "agent_not_found")
  })

  test("an edit in a section of 500 rules on one line, and on 500 lines", async () => {
    const rules = Object.fromEntries(
      Array.from({ length: 500 }, (_, i) => [`other-skill-${String(i).padStart(4, "0")}`, "deny"]),
    )
    const loaded = { rules: Object.keys(rules).map((id) => ["skill", id, "deny"] as const) }
    for (const indent of [0, 2]) {
      host = await openOpenCode1({
        files: { "opencode.json": JSON.stringify({ permission: { skill: rules } }, null, indent) },
        loaded,
      })
      for (const more of [{ dryRun: true }, {}])
        expect(validated(await host.call({ action: "disable", id: "pdf", ...more })).ok).toBe(true)
      host.stop()
    }
    host = await openOpenCode1()
  })

  test("a thousand changes that a crash left unfinished", async () => {
    const line = (i: number) =>
      JSON.stringify({
        kind: "intent",
        change: `20260101T000000000Z-${String(i).padStart(8, "0")}`,
        targets: ["pdf"],
        files: [],
        inverse: [],
        rules: [],
        backup: [],
        former: [],
        records: [],
      })
    host = await openOpenCode1({
      arrange: ({ stateDir }) =>
        void put(join(stateDir, "journal.jsonl"), `${Array.from({ length: 1_000 }, (_, i) => line(i)).join("\n")}\n`),
    })
    const { bytes, answer } = await listed(host, {})
    expect(bytes).toBeLessThan(16 * KIB)
    expect(answer.notices).toContainEqual({
      code: "unfinished_change",
      data: {
        changes: Array.from({ length: 10 }, (_, i) => `20260101T000000000Z-${String(999 - i).padStart(8, "0")}`),
        changesTruncated: { shown: 10, total: 1_000 },
      },
    })
  })

  test("a name that five hundred skills share", async () => {
    host = await openOpenCode2({
      skills: Object.fromEntries(
        Array.from({ length: 500 }, (_, i) => [`${"long-".repeat(30)}${i}`, { name: "Papers" }]),
      ),
      standin: { reloadDelayMs: 60_000 },
    })
    refused(await host.call({ action: "inspect", name: "Papers" }), "name_ambiguous")
  })

  const LONG = "f".repeat(250)
  test("a refusal that names many agents and long rules", async () => {
    const pattern = `*${"f*".repeat(200)}`
    const agents = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`agent-${i}`, {}]))
    const own = Object.fromEntries(Object.keys(agents).map((id) => [id, [["skill", pattern, "allow"] as const]]))
    const section = { permission: { skill: { [pattern]: "allow" } } }
    host = await openOpenCode1({
      files: {
        "opencode.json": JSON.stringify({ agent: Object.fromEntries(Object.keys(agents).map((id) => [id, section])) }),
      },
      skills: { [LONG]: { description: "d" } },
      loaded: { agents, agentRules: own },
    })
    validated(await host.call({ action: "disable", id: LONG, dryRun: true }))
  })

  test("a refused call with a hundred thousand characters, and with ten thousand fields", async () => {
    host = await openOpenCode1()
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`field-${i}`, "x".repeat(50)]))
    for (const input of [
      { action: "disable", force: true, id: "x".repeat(100_000) },
      { action: "x".repeat(100_000) },
      { action: "disable", id: "pdf", ["x".repeat(100_000)]: true },
      { action: "list", where: { ["x".repeat(100_000)]: 1 } },
      { action: "list", agent: "x".repeat(100_000) },
      { action: "disable", id: "pdf", ...many },
      { action: "list", where: many },
      { action: "list", fields: Array.from({ length: 10_000 }, () => "id") },
    ])
      validated(await host.call(input))
  })
})
