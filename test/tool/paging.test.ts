/** The laws of paging, on any registry: whatever the limit, the filter and the fields, and whatever happens in between. */
import fc from "fast-check"
import { afterEach, describe, expect, test } from "vitest"
import { GENERATIONS, type GivenSkill, openGiven } from "../actions/given-host.ts"
import { naiveMatch } from "../core/reference.ts"
import { type Answer, refused, validated } from "./validated.ts"

type Row = Readonly<Record<string, unknown>>
interface Seen {
  readonly rows: Row[]
  readonly summaries: unknown[]
}

const word = fc.constantFrom("pdf", "doc", "a", "z", "é", "汉", "\u{1F600}", "\uffee", "-", "/", " ", "B", "\u200b")
const ids = fc.array(word, { minLength: 1, maxLength: 6 }).map((words) => words.join(""))
/** Some descriptions are so long that few rows make a page. */
const skill = fc.record({ id: ids, length: fc.constantFrom(0, 20, 3_000) })
const registry = fc.uniqueArray(skill, { selector: ({ id }) => id, minLength: 1, maxLength: 40 }).map((skills) =>
  skills.map(
    ({ id, length }, i): GivenSkill => ({
      id,
      description: `${i % 3} ${"x".repeat(length)}`,
      path: `/s/${i}/SKILL.md`,
    }),
  ),
)
const limit = fc.option(fc.integer({ min: 1, max: 500 }), { nil: undefined })
const small = fc.integer({ min: 1, max: 5 })
const filter = fc.oneof(
  fc.constant({}),
  fc.constantFrom("*", "pdf*", "*a*", "?", "*-*").map((match) => ({ match })),
  fc.constantFrom("0 ", "/s/1", "DOC", "é").map((query) => ({ query })),
  fc.constantFrom("*1/SKILL.md", "/s/?/SKILL.md").map((path) => ({ where: { path } })),
)
const fields = fc.option(fc.subarray(["id", "path", "description", "tokens", "unlisted"], { minLength: 1 }), {
  nil: undefined,
})

interface Filter {
  readonly match?: string
  readonly query?: string
  readonly where?: { readonly path: string }
}

function wanted(skills: readonly GivenSkill[], { match, query, where }: Filter): readonly GivenSkill[] {
  const holds = (text: string | null | undefined, part: string) => text?.toLowerCase().includes(part.toLowerCase())
  return skills
    .filter(({ id }) => match === undefined || naiveMatch(match, id ?? ""))
    .filter(({ path }) => where === undefined || naiveMatch(where.path, path ?? ""))
    .filter((one) => query === undefined || [one.id, one.description, one.path].some((text) => holds(text, query)))
}

/** By code points: not as JavaScript compares strings. */
const sorted = (found: readonly GivenSkill[]): string[] =>
  found
    .map(({ id }) => Array.from(id ?? "", (character) => character.codePointAt(0) ?? 0))
    .sort((a, b) => {
      const at = a.findIndex((point, i) => point !== b[i])
      return at < 0 ? a.length - b.length : (a[at] ?? 0) - (b[at] ?? -1)
    })
    .map((points) => String.fromCodePoint(...points))

describe.each(GENERATIONS)("on %s", (generation) => {
  let host: ReturnType<typeof openGiven>
  afterEach(() => host.stop())

  const page = async (input: object): Promise<Answer> => validated(await host.call({ action: "list", ...input }))

  async function allPages(input: object): Promise<Seen> {
    const seen: Seen = { rows: [], summaries: [] }
    let cursor: unknown
    while (cursor !== null) {
      const answer = await page({ ...input, ...(cursor !== undefined && { cursor }) })
      expect(answer.error).toBeUndefined()
      const rows = answer.skills as Row[]
      if (Object(answer.page).nextCursor !== null) expect(rows.length).toBeGreaterThan(0)
      seen.rows.push(...rows)
      seen.summaries.push(answer.summary)
      cursor = Object(answer.page).nextCursor
    }
    return seen
  }

  test("every skill that the filter keeps stands on exactly one page, in order", async () => {
    host = openGiven(generation, { skills: [] })
    await fc.assert(
      fc.asyncProperty(registry, fc.oneof(limit, small), filter, async (skills, most, given) => {
        host.register(skills)
        const { rows } = await allPages({ ...given, ...(most !== undefined && { limit: most }), fields: ["id"] })
        expect(rows.map(({ id }) => id)).toEqual(sorted(wanted(skills, given)))
      }),
      { numRuns: 60, seed: 61 },
    )
  })

  test("the summary counts everything on every page; a page holds no more rows than asked for, and whole ones", async () => {
    host = openGiven(generation, { skills: [] })
    await fc.assert(
      fc.asyncProperty(registry, small, filter, fields, async (skills, most, given, names) => {
        host.register(skills)
        const whole = await page({ limit: 0 })
        const { rows, summaries } = await allPages({ ...given, limit: most, ...(names && { fields: names }) })
        for (const summary of summaries) expect(summary).toEqual(whole.summary)
        expect(Object(whole.summary).total).toBe(skills.length)
        const { rows: full } = await allPages(given)
        const projected = (row: Row) =>
          Object.fromEntries(Object.entries(row).filter(([name]) => names?.includes(name)))
        expect(rows).toEqual(names ? full.map(projected) : full)
        const first = await page({ ...given, limit: most })
        expect((first.skills as Row[]).length).toBeLessThanOrEqual(most)
      }),
      { numRuns: 30, seed: 62 },
    )
  })

  test("a cursor goes on behind its row while others come and go, its own skill too", async () => {
    host = openGiven(generation, { skills: [] })
    await fc.assert(
      fc.asyncProperty(registry, registry, small, fc.boolean(), async (skills, others, most, marked) => {
        host.register(skills)
        const stays = (one: GivenSkill, i: number) => i % 3 > 0 || others.some(({ id }) => id === one.id)
        const later = skills.filter(stays)
        const coming = others.filter(({ id }) => !skills.some((one) => one.id === id))
        const first = await page({ limit: most, fields: ["id"] })
        const shown = (first.skills as Row[]).map(({ id }) => id)
        const { nextCursor } = Object(first.page)
        if (nextCursor === null) return
        const gone = marked ? shown.at(-1) : undefined
        const now = [...later, ...coming].filter(({ id }) => id !== gone)
        host.register(now)
        const { rows } = await allPages({ fields: ["id"], limit: most, cursor: nextCursor })
        const order = sorted([...skills, ...coming])
        const last = order.indexOf(String(shown.at(-1)))
        expect(rows.map(({ id }) => id)).toEqual(sorted(now).filter((id) => order.indexOf(id) > last))
      }),
      { numRuns: 60, seed: 63 },
    )
  })

  test("two skills of one id, or of none, stand on one page each", async () => {
    const twins = ["/b", "/a", "/c"].map((path): GivenSkill => ({ id: "twin", path: `${path}/SKILL.md` }))
    host = openGiven(generation, { skills: [{ id: "z", path: "/z/SKILL.md" }, ...twins] })
    const { rows } = await allPages({ limit: 1, fields: ["id", "path"] })
    expect(rows.map(({ path }) => path)).toEqual(["/a/SKILL.md", "/b/SKILL.md", "/c/SKILL.md", "/z/SKILL.md"])
  })

  test("a cursor that cannot be honoured is refused: another filter's, a changed one, no one's", async () => {
    const skills = ["a", "b", "c"].map((id): GivenSkill => ({ id, path: `/${id}/SKILL.md` }))
    host = openGiven(generation, { skills })
    const first = await page({ match: "*", limit: 1 })
    const { nextCursor } = Object(first.page) as { nextCursor: string }
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string({ maxLength: 80 }), fc.base64String({ maxLength: 80 })), async (cursor) => {
        fc.pre(!/\p{Cc}/u.test(cursor))
        refused(await host.call({ action: "list", match: "*", cursor }), "invalid_input")
      }),
      { numRuns: 60, seed: 64 },
    )
    for (const other of [{}, { match: "a*" }, { match: "*", query: "a" }, { match: "*", agent: "plan" }])
      refused(await host.call({ action: "list", ...other, cursor: nextCursor }), "invalid_input")
    // The last character may hold bits that mean nothing.
    for (let at = 0; at < nextCursor.length - 1; at += 3) {
      const changed = nextCursor.slice(0, at) + (nextCursor[at] === "A" ? "B" : "A") + nextCursor.slice(at + 1)
      refused(await host.call({ action: "list", match: "*", cursor: changed }), "invalid_input")
    }
    expect(((await page({ match: "*", cursor: nextCursor })).skills as Row[]).map(({ id }) => id)).toEqual(["b", "c"])
  })
})
