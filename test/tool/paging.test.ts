/** The laws of `list`'s pages, for any registry, limit, fields and filter. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { GENERATIONS, type GivenSkill, openGiven } from "../actions/given-host.ts"
import { naiveMatch } from "../core/reference.ts"
import { type Answer, refused, validated } from "./validated.ts"

/** Few characters, so that ids share their beginnings; some sort, escape or lower-case in their own way. */
const unit = fc.constantFrom(
  "a",
  "B",
  "-",
  "/",
  "é",
  "İ",
  "汉",
  "\u{1F600}",
  "\uffff",
  "\u200b",
  "\ud83d",
  '"',
  "{",
  "1",
)
const word = fc.string({ unit, minLength: 1, maxLength: 4 })
const id = fc.oneof(
  { weight: 5, arbitrary: word },
  // As long as a call may name, and longer; alike but for the end.
  word.map((end) => `long-${"x".repeat(230)}${end}`),
  word.map((end) => `${"\u{1F600}".repeat(245)}${end}`),
  word.map((end) => `${"\ud83d".repeat(300)}${end}`),
)
const skill = fc
  .record({
    id,
    description: fc.option(
      fc.tuple(word, fc.constantFrom(1, 20, 300)).map(([text, times]) => text.repeat(times)),
      { nil: undefined },
    ),
  })
  .map(
    ({ id, description }): GivenSkill => ({
      id,
      name: id,
      path: `/skills/${id}/SKILL.md`,
      ...(description !== undefined && { description }),
    }),
  )
const registry = fc.uniqueArray(skill, { selector: (one) => one.id, maxLength: 12 })
/** Those whose rows are shown whole. */
const small = registry.map((skills) => skills.filter((one) => JSON.stringify(one).length < 600))
/** What no call can name: the host tells neither id nor path. */
const nameless = fc.array(fc.constant<GivenSkill>({ id: null, description: "nameless" }), { maxLength: 4 })

const filter = fc.constantFrom<[Record<string, unknown>, (one: GivenSkill) => boolean]>(
  [{}, () => true],
  [{ match: "a*" }, ({ id }) => id !== null && naiveMatch("a*", id)],
  [{ match: "*?1" }, ({ id }) => id !== null && naiveMatch("*?1", id)],
  [{ query: "B" }, (one) => [one.id, one.description, one.path].some((text) => text?.toLowerCase().includes("b"))],
  [{ where: { state: "ask", scope: "user" } }, ({ id }) => id?.startsWith("a") ?? false],
  [{ where: { path: "/skills/*" } }, ({ path }) => path !== undefined],
  [{ where: { state: "unknown" } }, ({ id }) => id === null],
)
const limit = fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined })
const FIELDS = ["id", "name", "state", "path", "tokens", "description"]

const CONFIG = {
  "opencode-1": '{"permission": {"skill": {"a*": "ask"}}}',
  "opencode-2": '{"permissions": [{"action": "skill", "resource": "a*", "effect": "ask"}]}',
} as const

type Row = Readonly<Record<string, unknown>>
const rowsOf = (answer: Answer) => answer.skills as readonly Row[]
const cursorOf = (answer: Answer): unknown => Object(answer.page).nextCursor
const names = (skills: readonly GivenSkill[]) => skills.map((one) => one.id).sort()

describe.each(GENERATIONS)("on %s", (generation) => {
  const opened = async (skills: readonly GivenSkill[], work: (host: ReturnType<typeof openGiven>) => Promise<void>) => {
    const host = openGiven(generation, { skills, config: CONFIG[generation] })
    await work(host).finally(() => host.stop())
  }
  const checked = (property: fc.IAsyncProperty<unknown>) => fc.assert(property, { numRuns: 40, seed: 66 })

  test(
    "every skill is exactly once on all pages, in one order, and each page's summary counts all",
    { timeout: 60_000 },
    () =>
      checked(
        fc.asyncProperty(registry, nameless, filter, limit, async (known, unknown, [given, keeps], most) => {
          const skills = [...unknown, ...known]
          await opened(skills, async (host) => {
            const call = { action: "list", ...given, ...(most !== undefined && { limit: most }) }
            const seen: Row[] = []
            let cursor: unknown = null
            do {
              const page = validated(await host.call({ ...call, cursor }))
              expect(page.error).toBeUndefined()
              expect(rowsOf(page).length).toBeLessThanOrEqual(most ?? skills.length)
              expect(page.page).toMatchObject({ total: skills.filter(keeps).length, returned: rowsOf(page).length })
              expect(page.summary).toMatchObject({
                total: skills.length,
                ask: skills.filter((one) => one.id?.startsWith("a")).length,
              })
              seen.push(...rowsOf(page))
              cursor = cursorOf(page)
              expect(seen.length, "the pages come to an end").toBeLessThanOrEqual(skills.length)
            } while (cursor !== null)
            expect(seen.map((row) => row.id).sort()).toEqual(names(skills.filter(keeps)))
            const whole = rowsOf(validated(await host.call({ action: "list", ...given, limit: 500 })))
            expect(seen.slice(0, whole.length)).toEqual(whole)
          })
        }),
      ),
  )

  test("`fields` projects the rows and nothing else", () =>
    checked(
      fc.asyncProperty(small, filter, fc.subarray(FIELDS, { minLength: 1 }), async (skills, [given], fields) => {
        await opened(skills, async (host) => {
          const call = { action: "list", ...given, limit: 3 }
          const [whole, some] = [validated(await host.call(call)), validated(await host.call({ ...call, fields }))]
          const projected = rowsOf(whole).map((row) =>
            Object.fromEntries(Object.entries(row).filter(([name]) => fields.includes(name))),
          )
          const { next: _, skills: shown, ...rest } = some
          expect(shown).toEqual(projected)
          expect(whole).toMatchObject(rest)
        })
      }),
    ))

  test("a cursor goes on where its page ended, whatever was installed and removed meanwhile", { timeout: 60_000 }, () =>
    checked(
      fc.asyncProperty(registry, registry, fc.infiniteStream(fc.boolean()), limit, async (old, fresh, stays, most) => {
        await opened(old, async (host) => {
          let registered: readonly GivenSkill[] = old
          let always = old
          const seen: unknown[] = []
          let cursor: unknown = null
          do {
            const page = validated(
              await host.call({ action: "list", fields: ["id"], ...(most !== undefined && { limit: most }), cursor }),
            )
            seen.push(...rowsOf(page).map((row) => row.id))
            cursor = cursorOf(page)
            // The marked one may be among those that go.
            registered = registered.filter(() => stays.next().value)
            always = always.filter((one) => registered.includes(one))
            const others = fresh.filter((one) => registered.every(({ id }) => id !== one.id) && stays.next().value)
            registered = [...registered, ...others.filter((one) => !old.some(({ id }) => id === one.id))]
            host.register(registered)
          } while (cursor !== null)
          expect(new Set(seen).size, "none twice").toBe(seen.length)
          for (const one of always) expect(seen, "none left out").toContain(one.id)
        })
      }),
    ),
  )

  test("a cursor is refused under other filters, and so is any other text", () =>
    checked(
      fc.asyncProperty(filter, filter, fc.string(), async ([one], [other], garbage) => {
        const letters = ["a", "a1", "aB1", "ab1", "aaB1"]
        await opened(
          letters.map((id) => ({ id, path: `/skills/${id}/SKILL.md` })),
          async (host) => {
            const cursor = cursorOf(validated(await host.call({ action: "list", limit: 1, ...one })))
            const isSame = JSON.stringify(one) === JSON.stringify(other)
            const reply = await host.call({ action: "list", limit: 1, ...other, cursor })
            if (cursor === null || isSame) expect(validated(reply).ok).toBe(true)
            else expect(refused(reply, "invalid_input").error?.data).toMatchObject({ field: "cursor" })
            const text = garbage.replace(/\p{Cc}/gu, "")
            for (const wrong of [text, Buffer.from(text).toString("base64url"), `${cursor}`.slice(0, -9)])
              refused(await host.call({ action: "list", ...one, cursor: wrong }), "invalid_input")
          },
        )
      }),
    ))

  test("the order in which `where` names its traits is no other filter", () =>
    opened(
      ["a", "a1"].map((id) => ({ id })),
      async (host) => {
        const [state, scope] = ["ask", "user"]
        const cursor = cursorOf(validated(await host.call({ action: "list", limit: 1, where: { state, scope } })))
        expect(typeof cursor).toBe("string")
        expect(validated(await host.call({ action: "list", cursor, where: { scope, state } })).ok).toBe(true)
      },
    ))

  test("a cursor that is changed in any place is refused", () =>
    opened(
      ["a", "b", "c"].map((id) => ({ id })),
      async (host) => {
        const cursor = String(cursorOf(validated(await host.call({ action: "list", limit: 1 }))))
        // The last character may hold bits that mean nothing.
        for (let at = 0; at < cursor.length - 1; at += 2) {
          const changed = cursor.slice(0, at) + (cursor[at] === "A" ? "B" : "A") + cursor.slice(at + 1)
          refused(await host.call({ action: "list", cursor: changed }), "invalid_input")
        }
      },
    ))

  test("skills of one id stand on one page each", () =>
    opened(
      ["/b", "/a", "/c"].map((path): GivenSkill => ({ id: "twin", path: `${path}/SKILL.md` })),
      async (host) => {
        const paths: unknown[] = []
        let cursor: unknown = null
        do {
          const page = validated(await host.call({ action: "list", limit: 1, cursor }))
          paths.push(...rowsOf(page).map((row) => row.path))
          cursor = cursorOf(page)
        } while (cursor !== null)
        expect(paths.sort()).toEqual(["/a/SKILL.md", "/b/SKILL.md", "/c/SKILL.md"])
      },
    ))
})
