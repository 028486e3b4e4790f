/** No answer is above 32 KiB or 1,500 lines, whatever the host tells and the files hold: `validated` measures each. */
import { afterEach, describe, expect, test } from "vitest"
import { GENERATIONS, type GivenAgent, type GivenSkill, openGiven, SEVEN } from "../actions/given-host.ts"
import { type Answer, validated } from "./validated.ts"

/** Text that grows when it is escaped or encoded, or that a careless cut would tear. */
const FILLERS =
  "x|é|汉|\u{1F600}|e\u0301|\u200b|\u202e|\u{E0041}|\u0085|\u2028|\u0000|\ud83d|\udc00|\"|\\|\n|{|'|`|__proto__".split(
    "|",
  )
/** Those that an id in a call may hold. */
const CALLABLE = FILLERS.filter((filler) => !/\p{Cc}/u.test(filler))

const of = (fillers: readonly string[], i: number): string => fillers[i % fillers.length] ?? "x"
/** So many code points. */
const long = (filler: string, length: number): string => [...filler.repeat(length)].slice(0, length).join("")
const numbered = (i: number, filler: string, length: number): string =>
  `${String(i).padStart(4, "0")}-${long(filler, length - 5)}`
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i)

type Generation = (typeof GENERATIONS)[number]
type RuleOf = readonly [resource: string, effect: "allow" | "ask" | "deny"]

const section = (generation: Generation, rules: readonly RuleOf[]) =>
  generation === "opencode-1"
    ? { permission: { skill: Object.fromEntries(rules) } }
    : { permissions: rules.map(([resource, effect]) => ({ action: "skill", resource, effect })) }

const tokenIn = (answer: Answer): unknown => Object(answer.plan).token
const NO_PLAN = ["documents", "request", "targets", "effects"].map((part) => part.padEnd(16, "0")).join(".")

describe.each(GENERATIONS)("on %s", (generation) => {
  let host: ReturnType<typeof openGiven>
  let codes: Set<string>
  afterEach(() => host.stop())
  const open = (given: Parameters<typeof openGiven>[1]) => {
    codes = new Set()
    host = openGiven(generation, given)
  }
  const call = async (input: object): Promise<Answer> => {
    const answer = validated(await host.call(input))
    codes.add(answer.error?.code ?? "ok")
    return answer
  }

  test("every action, with ids, names, paths, agents and rules as long and as hostile as they come", {
    timeout: 120_000,
  }, async () => {
    const agents: GivenAgent[] = [
      ...SEVEN,
      ...FILLERS.slice(0, 17).flatMap((filler, i) => [
        {
          id: numbered(i, filler, 250),
          mode: "subagent",
          ...(i % 4 === 0 && { rules: [["*", "*", "deny"]] as const }),
        },
        ...(i % 3 === 0 ? [{ id: long(filler, 3_000) }] : [{ id: `agent-${i}` }]),
      ]),
    ]
    const ids = numbers(12).map((i) => numbered(i, of(CALLABLE, i), 256))
    const skills: GivenSkill[] = [
      ...ids.map((id, i) => ({
        id,
        name: i % 3 === 0 ? id : "shared",
        description: long(of(FILLERS, i), 10_000),
        path: `/${long(of(FILLERS, i + 1), 4_000)}/${i}/SKILL.md`,
      })),
      ...FILLERS.map((filler) => ({ id: long(filler, 1_000), name: long(filler, 300), path: `/${filler}` })),
    ]
    const rules = ids.slice(0, 6).flatMap((id, i): RuleOf[] => [
      [`${id}${"*".repeat(i === 3 ? 50 : 1)}`, i % 2 ? "ask" : "deny"],
      [numbered(i, of(CALLABLE, i), 200), "deny"],
    ])
    const record = { generation, file: "opencode.jsonc", effect: "deny", note: long("\u200b", 2_000) }
    const sections = numbers(20).map(() => ({ path: ids.slice(0, 20), was: long('"', 2_000) }))
    open({
      skills,
      agents,
      config: JSON.stringify({ theme: long("x", 100_000), ...section(generation, rules) }),
      files: {
        "skill_management.state.json": JSON.stringify({
          schemaVersion: 1,
          records: ids.map((id, i) => ({ ...record, id: i % 2 ? id : `gone-${id}`, ...(i === 1 && { sections }) })),
        }),
      },
    })
    for (const paged of [{}, { limit: 0 }, { limit: 1 }, { limit: 500 }, { limit: 500, fields: ["path", "name"] }])
      await call({ action: "list", ...paged })
    for (const filter of [
      { query: "s" },
      { match: ids[5] },
      { where: { state: "ask", path: `*${long("?", 254)}*` } },
      { agent: agents[17]?.id },
    ])
      await call({ action: "list", limit: 500, ...filter })
    for (const id of ids.slice(0, 6)) await call({ action: "inspect", id })
    for (const input of [{ id: long("~", 256) }, { name: "shared" }, { id: ids[0], name: "shared" }])
      await call({ action: "inspect", ...input })

    for (const action of ["disable", "enable"]) {
      for (const id of ids.slice(4, 6)) await call({ action, id, dryRun: true })
      await call({ action, ids, agent: agents[7]?.id })
      await call({ action, ids: ids.map((id) => `~${id.slice(1)}`) })
      await call({ action, match: long("\u{E0041}", 256) })
      await call({ action, ids, dryrun: true })
      const note = long("\u{E0041}", 200)
      const rehearsal = await call({ action, ids, note })
      await call({ action, ids, plan: NO_PLAN })
      await call({ action, ids, note, plan: tokenIn(rehearsal) })
      await call({ action: "undo", dryRun: true })
      await call({ action: "undo" })
      await call({ action: "undo", change: long("\u{E0041}", 64) })
    }
    const pattern = await call({ action: "disable", match: "*3*", rule: "pattern" })
    await call(pattern.next[0]?.input ?? {})
    host.write(host.text().replaceAll('"deny"', '"ask"'))
    await call({ action: "undo" })
    await call({ action: "reconcile", plan: tokenIn(await call({ action: "reconcile" })) })
    const met = ["ok", "invalid_input", "skill_not_found", "scope_unsupported", "no_match", "nothing_to_undo"]
    expect([...codes]).toEqual(expect.arrayContaining([...met, "plan_required", "plan_stale", "undo_conflict"]))
  })

  test("5,000 skills with descriptions of 10 KiB", { timeout: 120_000 }, async () => {
    const ids = numbers(5_000).map((i) => numbered(i, of(CALLABLE, i), i % 10 === 0 ? 256 : 20))
    const described = FILLERS.map((filler) => filler.repeat(Math.ceil(10_240 / Buffer.byteLength(filler))))
    open({
      skills: ids.map((id, i) => ({
        id,
        name: i % 2 ? "shared" : id,
        description: `Skill ${i}. ${of(described, i)}`,
        path: `/home/maria/.config/opencode/skills/${i}/SKILL.md`,
      })),
      agents: [...SEVEN, ...numbers(33).map((i) => ({ id: numbered(i, of(FILLERS, i), 100) }))],
      config: JSON.stringify(section(generation, [["00*", "deny"]]), null, 2),
    })
    expect(await call({ action: "list" })).toMatchObject({ summary: { total: 5_000, disabled: 100 } })
    await call({ action: "list", limit: 500, query: "skill" })
    await call({ action: "inspect", id: ids[10] })
    await call({ action: "inspect", name: "shared" })
    const some = ids.slice(1_000, 1_060)
    const rehearsal = await call({ action: "disable", ids: some })
    expect(rehearsal).toMatchObject({ error: { code: "plan_required" }, plan: { count: 60 } })
    expect(await call({ action: "disable", ids: some, plan: tokenIn(rehearsal) })).toMatchObject({ changed: true })
    await call({ action: "enable", where: { path: "*/10?/*" } })
    await call({ action: "disable", ids: ids.slice(0, 500).map((id) => `~${id.slice(1)}`) })
    expect([...codes].sort()).toEqual([
      // OpenCode 1 has no two of one name.
      ...(generation === "opencode-2" ? ["name_ambiguous"] : []),
      ...["ok", "plan_required", "skill_not_found"],
    ])
  })
})
