import { describe, expect, test } from "vitest"
import type { PlanResult } from "../../src/core/plan.ts"
import type { Effect } from "../../src/core/rule.ts"
import type { SidecarRecord } from "../../src/core/sidecar.ts"
import { act, applied, effectsOf, plan, type Setup, SKILLS, UNKNOWN } from "./plan-world.ts"

type Files = Record<string, string | null>

const one = (files: Files, more: Partial<Setup> = {}): Setup => ({
  generation: "opencode-1",
  files: { "config.json": null, "opencode.json": null, "opencode.jsonc": null, ...files },
  ...more,
})
const two = (files: Files, more: Partial<Setup> = {}): Setup => ({
  generation: "opencode-2",
  files: { "opencode.json": null, "opencode.jsonc": null, ...files },
  ...more,
})

const change = (result: PlanResult) => {
  if (result.kind !== "change") throw new Error(`no change but ${JSON.stringify(result)}`)
  return result.plan
}
const textsOf = (result: PlanResult) =>
  Object.fromEntries(change(result).changes.map(({ file, after }) => [file.name, after]))
const unreachedOf = (result: PlanResult) =>
  ("plan" in result ? result.plan.unreached : "unreached" in result ? result.unreached : []).map(({ agent }) => agent)
/** Who keeps the wish away, and by which rule, written in short. */
const blockedBy = (result: PlanResult) =>
  ("blocked" in result ? result.blocked : []).map(
    ({ agent, effect, rule }) =>
      `${agent} ${effect}: ${rule?.action} ${rule?.resource} at ${rule?.origin.file}:${rule?.origin.line}`,
  )

/** The one file that changes, and how. */
type Row = [name: string, setup: Setup, id: string, effect: Effect, reason: string, file: string, after: string | null]

function check([, setup, id, effect, reason, file, after]: Row) {
  const { result, next } = act(setup, id, effect)
  expect(change(result).reason).toBe(reason)
  expect(textsOf(result)).toEqual({ [file]: after })
  expect(unreachedOf(result)).toEqual([])
  const now = effectsOf(next, id)
  expect([now.build, now.plan]).toEqual([effect, effect])
  for (const other of [...(setup.skills ?? SKILLS), UNKNOWN])
    if (other !== id) expect([other, effectsOf(next, other)]).toEqual([other, effectsOf(setup, other)])
  expect(plan(next, id, effect).kind).toBe("unchanged")
}

const JSON_ = "opencode.json"
const JSONC = "opencode.jsonc"
const C = "// skill_management"

const SKILL = (...lines: string[]) =>
  `{\n  "permission": {\n    "skill": {\n      ${lines.join("\n      ")}\n    }\n  }\n}\n`
const rule = (resource: string, effect: string, action = "skill") =>
  `{ "action": "${action}", "resource": "${resource}", "effect": "${effect}" }`
const ARRAY = (...lines: string[]) => `{\n  "permissions": [\n    ${lines.join("\n    ")}\n  ]\n}\n`

describe("OpenCode 1: disable", () => {
  test.each<Row>([
    [
      "one rule more, behind the others",
      one({ [JSONC]: SKILL('"a": "deny"') }),
      "pdf",
      "deny",
      "rule_added",
      JSONC,
      SKILL('"a": "deny",', `"pdf": "deny" ${C}`),
    ],
    [
      "no comment in a .json file",
      one({ [JSON_]: SKILL('"a": "deny"') }),
      "pdf",
      "deny",
      "rule_added",
      JSON_,
      SKILL('"a": "deny",', '"pdf": "deny"'),
    ],
    [
      "ask",
      one({ [JSONC]: SKILL('"a": "deny"') }),
      "pdf",
      "ask",
      "rule_added",
      JSONC,
      SKILL('"a": "deny",', `"pdf": "ask" ${C}`),
    ],
    [
      "an exact rule that wins is changed in its place",
      one({ [JSONC]: SKILL('"*": "ask",', '"pdf": "allow", // mine', '"a": "deny"') }),
      "pdf",
      "deny",
      "rule_changed",
      JSONC,
      SKILL('"*": "ask",', '"pdf": "deny", // mine', '"a": "deny"'),
    ],
    [
      "deny to ask in its place",
      one({ [JSONC]: SKILL('"pdf": "deny",', '"a": "deny"') }),
      "pdf",
      "ask",
      "rule_changed",
      JSONC,
      SKILL('"pdf": "ask",', '"a": "deny"'),
    ],
    [
      "an exact rule that loses moves to where it wins",
      one({ [JSONC]: SKILL('"pdf": "allow",', '"*": "ask"') }),
      "pdf",
      "deny",
      "rule_added",
      JSONC,
      SKILL('"*": "ask",', `"pdf": "deny" ${C}`),
    ],
    [
      "… also when it says the same already",
      one({ [JSON_]: SKILL('"pdf": "deny",', '"*": "allow"') }),
      "pdf",
      "deny",
      "rule_added",
      JSON_,
      SKILL('"*": "allow",', '"pdf": "deny"'),
    ],
    [
      "an exact rule in the lowest file",
      one({ "config.json": SKILL('"pdf": "allow"') }),
      "pdf",
      "deny",
      "rule_changed",
      "config.json",
      SKILL('"pdf": "deny"'),
    ],
    [
      "of two exact rules the one that counts",
      one({ [JSON_]: SKILL('"pdf": "allow"'), [JSONC]: SKILL('"pdf": "ask"') }),
      "pdf",
      "deny",
      "rule_changed",
      JSONC,
      SKILL('"pdf": "deny"'),
    ],
    [
      "a string with a second file beside it: the string's own place",
      one({ [JSON_]: '{"permission":{"skill":"ask"}}', [JSONC]: '{"model":"x"}' }),
      "pdf",
      "deny",
      "rule_added",
      JSON_,
      '{"permission":{"skill":{"*":"ask","pdf":"deny"}}}',
    ],
    [
      "a string for all permissions",
      one({ [JSON_]: '{"permission":"ask"}', [JSONC]: '{"permission":{"bash":"deny"}}' }),
      "pdf",
      "deny",
      "rule_added",
      JSONC,
      '{"permission":{"bash":"deny","skill":{"pdf":"deny"}}}',
    ],
    [
      "a map below, a string above",
      one({ [JSON_]: '{"permission":{"skill":{"*":"allow"}}}', [JSONC]: '{"permission":{"skill":"ask"}}' }),
      "pdf",
      "deny",
      "rule_added",
      JSONC,
      '{"permission":{"skill":{"*":"ask","pdf":"deny"}}}',
    ],
    [
      "a string below, a map above",
      one({ [JSON_]: '{"permission":{"skill":"deny"}}', [JSONC]: '{"permission":{"skill":{"*":"allow"}}}' }),
      "pdf",
      "deny",
      "rule_added",
      JSONC,
      '{"permission":{"skill":{"*":"allow","pdf":"deny"}}}',
    ],
    [
      "an integer-like name without a later key over it",
      one({ [JSONC]: SKILL('"a": "deny"') }),
      "7",
      "deny",
      "rule_added",
      JSONC,
      SKILL('"a": "deny",', `"7": "deny" ${C}`),
    ],
    [
      "CRLF",
      one({ [JSONC]: SKILL('"a": "deny"').replaceAll("\n", "\r\n") }),
      "pdf",
      "deny",
      "rule_added",
      JSONC,
      SKILL('"a": "deny",', `"pdf": "deny" ${C}`).replaceAll("\n", "\r\n"),
    ],
    [
      "a missing file is made, with its schema",
      one({}),
      "pdf",
      "deny",
      "rule_added",
      JSONC,
      `{\n  "$schema": "https://opencode.ai/config.json",\n  "permission": {\n    "skill": {\n      "pdf": "deny" ${C}\n    }\n  }\n}\n`,
    ],
    [
      "an empty file is filled",
      one({ [JSON_]: "" }),
      "pdf",
      "deny",
      "rule_added",
      JSON_,
      '{\n  "permission": {\n    "skill": {\n      "pdf": "deny"\n    }\n  }\n}\n',
    ],
    [
      "a byte order mark alone is an empty file",
      one({ [JSON_]: "\ufeff" }),
      "pdf",
      "deny",
      "rule_added",
      JSON_,
      '\ufeff{\n  "permission": {\n    "skill": {\n      "pdf": "deny"\n    }\n  }\n}\n',
    ],
    [
      "tools for skills that are on stay as they are",
      one({ [JSON_]: '{"tools":{"bash":false}}' }),
      "pdf",
      "deny",
      "rule_added",
      JSON_,
      '{"tools":{"bash":false},"permission":{"skill":{"pdf":"deny"}}}',
    ],
    [
      "a reference elsewhere stays untouched text",
      one({ [JSONC]: '{"key":"{env:SECRET}","permission":{"skill":{"a":"deny"}}}' }, { env: { SECRET: "s3cret" } }),
      "pdf",
      "deny",
      "rule_added",
      JSONC,
      '{"key":"{env:SECRET}","permission":{"skill":{"a":"deny","pdf":"deny"}}}',
    ],
    [
      "an id that looks like a reference",
      one({ [JSON_]: '{"permission":{"skill":{"a":"deny"}}}' }, { skills: ["a", "{env:X}"] }),
      "{env:X}",
      "deny",
      "rule_added",
      JSON_,
      '{"permission":{"skill":{"a":"deny","\\u007benv:X}":"deny"}}}',
    ],
    [
      "an id in quotes",
      one({ [JSON_]: '{"permission":{"skill":{"a":"deny"}}}' }, { skills: ["a", 'say "hi"'] }),
      'say "hi"',
      "deny",
      "rule_added",
      JSON_,
      '{"permission":{"skill":{"a":"deny","say \\"hi\\"":"deny"}}}',
    ],
    [
      "duplicate keys in another section",
      one({ [JSONC]: '{"x":1,"x":2,"permission":{"skill":{"a":"deny"}}}' }),
      "pdf",
      "deny",
      "rule_added",
      JSONC,
      '{"x":1,"x":2,"permission":{"skill":{"a":"deny","pdf":"deny"}}}',
    ],
  ])("%s", (...row) => check(row))

  test("a losing exact rule in a lower file goes, and one is added where it wins: never a second copy", () => {
    const setup = one({
      "config.json": '{"permission":{"skill":{"pdf":"allow"}}}',
      [JSONC]: '{"permission":{"skill":{"*":"ask"}}}',
    })
    const { result, next } = act(setup, "pdf", "deny")
    expect(change(result).reason).toBe("rule_added")
    expect(textsOf(result)).toEqual({
      "config.json": '{"permission":{"skill":{}}}',
      [JSONC]: '{"permission":{"skill":{"*":"ask","pdf":"deny"}}}',
    })
    expect(effectsOf(next, "pdf")).toMatchObject({ build: "deny", plan: "deny" })
    expect(effectsOf(next, UNKNOWN)).toEqual(effectsOf(setup, UNKNOWN))
  })

  test("a file whose text would stay the same is not part of the change", () => {
    const setup = one({
      "config.json": '{"permission":{"skill":{"pdf":"allow"}}}',
      [JSON_]: '{"permission":{"skill":{"*":"allow","pdf":"deny"}}}',
    })
    const { result, next } = act(setup, "pdf", "deny")
    expect(textsOf(result)).toEqual({ "config.json": '{"permission":{"skill":{}}}' })
    expect(effectsOf(next, "pdf").build).toBe("deny")
  })

  test.each<[name: string, setup: Setup, id: string, effect: Effect]>([
    ["an exact rule says so", one({ [JSONC]: SKILL('"pdf": "deny"') }), "pdf", "deny"],
    ["a pattern says so", one({ [JSONC]: SKILL('"pd*": "deny"') }), "pdf", "deny"],
    ["a string says so", one({ [JSONC]: '{"permission":{"skill":"deny"}}' }), "pdf", "deny"],
    ["everything asks", one({ [JSONC]: '{"permission":"ask"}' }), "pdf", "ask"],
    ["skills are switched off as a tool", one({ [JSONC]: '{"tools":{"skill":false}}' }), "pdf", "deny"],
    [
      "… with another file beside it",
      one({ [JSON_]: '{"tools":{"skill":false}}', [JSONC]: '{"model":"x"}' }),
      "pdf",
      "deny",
    ],
    [
      "a map below a denying string",
      one({ [JSON_]: '{"permission":{"skill":{"*":"allow"}}}', [JSONC]: '{"permission":{"skill":"deny"}}' }),
      "pdf",
      "deny",
    ],
    ["the project says so", one({}, { project: '{"permission":{"skill":"deny"}}' }), "pdf", "deny"],
    [
      "every agent says so itself",
      one({
        [JSONC]: '{"agent":{"build":{"permission":{"skill":"deny"}},"plan":{"permission":{"skill":{"pdf":"deny"}}}}}',
      }),
      "pdf",
      "deny",
    ],
    [
      "a duplicate key elsewhere does not matter then",
      one({ [JSONC]: '{"permission":{"skill":"deny"},"x":1,"x":2}' }),
      "pdf",
      "deny",
    ],
  ])("already so: %s", (_, setup, id, effect) => {
    const result = plan(setup, id, effect)
    expect(result.kind).toBe("unchanged")
    expect(unreachedOf(result)).toEqual([])
    if (result.kind === "unchanged")
      expect(result.outcomes.map(({ agent }) => agent.id)).toEqual(["build", "plan", "explore", "title"])
  })

  test("every agent that the config can reach changes, those that the host denies stay denied", () => {
    const { result, next } = act(one({ [JSONC]: SKILL('"a": "deny"') }), "pdf", "deny")
    expect(effectsOf(next, "pdf")).toEqual({ build: "deny", plan: "deny", explore: "deny", title: "deny" })
    expect(change(result).outcomes.map(({ agent }) => agent.id)).toEqual(["build", "plan", "explore", "title"])
  })

  test("an exact `ask` opens the skill for agents that the host denies, and the outcomes show it", () => {
    const setup = one({ [JSONC]: SKILL('"a": "deny"') })
    const { next } = act(setup, "pdf", "ask")
    expect(effectsOf(setup, "pdf")).toMatchObject({ explore: "deny", title: "deny" })
    expect(effectsOf(next, "pdf")).toEqual({ build: "ask", plan: "ask", explore: "ask", title: "ask" })
  })

  test("where the rule stands", () => {
    const place = (setup: Setup, effect: Effect) => change(plan(setup, "pdf", effect)).rule()
    const path = (name: string) => `/home/u/.config/opencode/${name}`
    expect(place(one({ [JSONC]: SKILL('"a": "deny"') }), "deny")).toEqual({
      effect: "deny",
      file: path(JSONC),
      line: 5,
      column: 7,
    })
    expect(place(one({ [JSON_]: SKILL('"a": "deny",', '"pdf": "ask"') }), "deny")).toEqual({
      effect: "deny",
      file: path(JSON_),
      line: 5,
      column: 7,
    })
    expect(place(one({ [JSON_]: SKILL('"pdf": "deny"') }), "allow")).toEqual({
      effect: "deny",
      file: path(JSON_),
      line: 4,
      column: 7,
    })
  })
})

describe("OpenCode 1: what cannot be done is refused, and why is said", () => {
  test("skills switched off as a tool: an exact rule would open every other skill", () => {
    const setup = one({ [JSON_]: '{"tools":{"skill":false}}' })
    for (const effect of ["allow", "ask"] as const) {
      const result = plan(setup, "pdf", effect)
      expect(result.kind).toBe("not_effective")
      if (result.kind !== "not_effective") return
      expect(result.sideEffects).toContainEqual({ agent: "build", id: "docs", before: "deny", after: "allow" })
      expect(result.sideEffects.some(({ id }) => id === "pdf")).toBe(false)
      expect(result.sideEffects.some(({ id }) => !(SKILLS as readonly string[]).includes(id))).toBe(true)
    }
  })

  test.each<[name: string, setup: Setup, effect: Effect]>([
    [
      "a lower file's pattern that a string hides would come back",
      one({
        [JSON_]: '{"permission":{"skill":{"*":"allow","later-*":"deny"}}}',
        [JSONC]: '{"permission":{"skill":"allow"}}',
      }),
      "deny",
    ],
    [
      "a project's `skill` would move in front of its pattern for everything",
      one(
        { [JSONC]: '{"model":"x"}' },
        { project: '{"permission":{"*":{"pd*":"ask","later-*":"allow"},"skill":"deny"}}' },
      ),
      "ask",
    ],
  ])("skills that only a pattern names, for when they are installed: %s", (_, setup, effect) => {
    const { next } = act(setup, "pdf", effect)
    expect(effectsOf(next, "later-x")).toEqual(effectsOf(setup, "later-x"))
  })

  test("a pattern over permission names behind `skill`", () => {
    const result = plan(one({ [JSONC]: '{"permission":{"skill":{"a":"deny"},"s*":"ask"}}' }), "pdf", "deny")
    expect(result.kind).toBe("not_effective")
    expect(blockedBy(result)).toEqual([
      "build ask: s* * at /home/u/.config/opencode/opencode.jsonc:1",
      "plan ask: s* * at /home/u/.config/opencode/opencode.jsonc:1",
    ])
  })

  test("… that merging moves behind it", () => {
    const setup = one({ [JSON_]: '{"permission":{"skill":{"a":"deny"}}}', [JSONC]: '{"permission":"ask"}' })
    expect(plan(setup, "pdf", "deny").kind).toBe("not_effective")
  })

  test("an integer-like name below a later key", () => {
    const result = plan(one({ [JSONC]: '{"permission":{"skill":{"*":"ask"}}}' }), "7", "deny")
    expect(result.kind).toBe("not_effective")
    expect(plan(one({ [JSONC]: '{"permission":{"skill":{"7":"allow","*":"ask"}}}' }), "7", "deny").kind).toBe(
      "not_effective",
    )
  })

  test("a project that asks for everything: nothing is written, its place is named", () => {
    const setup = one({ [JSONC]: SKILL('"a": "deny"') }, { project: '{\n"permission":{"skill":{"*":"ask"}}}' })
    const result = plan(setup, "pdf", "deny")
    // The project's star stands behind the global map's own keys.
    expect(result.kind).toBe("not_effective")
    expect(blockedBy(result)).toEqual([
      "build ask: skill * at /project/opencode.json:2",
      "plan ask: skill * at /project/opencode.json:2",
    ])
  })

  test("an agent's own rule: partly effective, the others are reached", () => {
    const setup = one({ [JSONC]: '{"agent":{"plan":{"permission":{"skill":{"pdf":"allow"}}}}}' })
    const { result, next } = act(setup, "pdf", "deny")
    expect(change(result).reason).toBe("rule_added")
    expect(change(result).unreached).toMatchObject([
      { agent: "plan", effect: "allow", rule: { resource: "pdf", origin: { agent: "plan", layer: "global" } } },
    ])
    expect(effectsOf(next, "pdf")).toMatchObject({ build: "deny", plan: "allow" })
    const again = plan(next, "pdf", "deny")
    expect([again.kind, unreachedOf(again)]).toEqual(["unchanged", ["plan"]])
  })

  test("… every agent's own rule: not effective", () => {
    const own = '{"permission":{"skill":{"pdf":"allow"}}}'
    const result = plan(one({ [JSONC]: `{"agent":{"plan":${own},"build":${own}}}` }), "pdf", "deny")
    expect(result.kind).toBe("not_effective")
    if (result.kind === "not_effective")
      expect([result.blocked.map(({ agent }) => agent), result.sideEffects]).toEqual([["build", "plan"], []])
  })

  test.each<[name: string, files: Files, file: string, line: number, column: number]>([
    ["the file to edit", { [JSONC]: '{\n  "a" 1\n}' }, JSONC, 2, 7],
    ["another global file", { [JSON_]: '{"a": }', [JSONC]: SKILL('"a": "deny"') }, JSON_, 1, 7],
    ["an array", { "config.json": "[]" }, "config.json", 1, 1],
    ["only blanks", { [JSONC]: "  \n" }, JSONC, 2, 1],
    ["only a comment", { [JSONC]: "// mine" }, JSONC, 1, 8],
  ])("unparsable: %s", (_, files, file, line, column) => {
    for (const effect of ["deny", "allow"] as const) {
      const result = plan(one(files), "pdf", effect)
      expect(result.kind).toBe("config_unparsable")
      if (result.kind === "config_unparsable")
        expect([result.file, result.line, result.column]).toEqual([file, line, column])
    }
  })

  test("a `__proto__` key, which the hosts lose, shifts no other key", () => {
    const text = '{"__proto__":{"x":1},"permission":{"__proto__":{},"skill":{"a":"deny"}}}'
    expect(act(one({ [JSONC]: text }), "pdf", "deny").next.files[JSONC]).toBe(
      '{"__proto__":{"x":1},"permission":{"__proto__":{},"skill":{"a":"deny","pdf":"deny"}}}',
    )
  })

  test.each<[name: string, text: string, reason: string, line: number, column: number]>([
    ["`permission` twice", '{"permission":{},\n"permission":{}}', "duplicate_key", 2, 1],
    ["`skill` twice", '{"permission":{"skill":{},\n "skill":{}}}', "duplicate_key", 2, 2],
    ["the id twice", '{"permission":{"skill":{"pdf":"ask","a":"deny","pdf":"allow"}}}', "duplicate_key", 1, 48],
    ["the same key, spelled otherwise", '{"permission":{"skill":{},\n "sk\\u0069ll":{}}}', "duplicate_key", 2, 2],
    ["a section that is no map", '{"permission":{"skill":{"a":"deny"}},"permission":7}', "duplicate_key", 1, 38],
    ["the id's effect is no effect", '{"permission":{"skill":{"pdf":"hide"}}}', "unknown_effect", 1, 31],
    ["the id's effect is a reference", '{"permission":{"skill":{"pdf":"{env:EFFECT}"}}}', "reference", 1, 31],
    ["the string section is a reference", '{"permission":{"skill":"{env:EFFECT}"}}', "reference", 1, 24],
    ["all permissions are a reference", '{"permission":"{env:EFFECT}"}', "reference", 1, 15],
    ["text that only parses once references are replaced", '{"permission":{"skill":{env:MAP}}}', "reference", 1, 1],
  ])("unsupported, with its place: %s", (_, text, reason, line, column) => {
    const result = plan(one({ [JSONC]: text }, { env: { EFFECT: "ask", MAP: '{"b":"ask"}' } }), "pdf", "deny")
    expect(result).toEqual({ kind: "config_unsupported", file: JSONC, reason, line, column })
  })

  test.each<[name: string, text: string, column: number, key: string]>([
    ["`permission` itself", '{"{env:K}":{"bash":"deny"}}', 2, "permission"],
    ["`skill`", '{"permission":{"{env:K}":{"secret-*":"deny"}}}', 16, "skill"],
    ["the id", '{"permission":{"skill":{"{env:K}":"ask"}}}', 25, "pdf"],
    ["`permissions`", '{"permission":{},"{env:K}":[]}', 18, "permissions"],
  ])("a reference in a key on the path would make a second key of that name: %s", (_, text, column, key) => {
    const result = plan(one({ [JSONC]: text }, { env: { K: key } }), "pdf", "deny")
    expect(result).toEqual({ kind: "config_unsupported", file: JSONC, reason: "reference", line: 1, column })
  })

  test.each<[name: string, text: string, column: number]>([
    ["a number", '{"permission":7}', 15],
    ["a list of skills", '{"permission":{"skill":["pdf"]}}', 24],
    ["null", '{"permission":null}', 15],
    ["no effect", '{"permission":{"skill":"hide"}}', 24],
  ])("a section of an unexpected type: %s", (_, text, column) => {
    const result = plan(one({ [JSONC]: text }), "pdf", "deny")
    expect(result).toEqual({ kind: "config_unsupported", file: JSONC, reason: "unexpected_type", line: 1, column })
  })

  test("a file on which the host would not start: nothing is planned, its place is named", () => {
    const faults = { [JSON_]: { line: 3, column: 5, reason: "unexpected_type" } }
    const setup = one({ [JSON_]: "{}", [JSONC]: SKILL('"a": "deny"') }, { faults })
    for (const effect of ["deny", "allow"] as const)
      expect(plan(setup, "pdf", effect)).toEqual({ kind: "config_unsupported", file: JSON_, ...faults[JSON_] })
  })

  test.each(["skill", "permission", "permissions"])("a skill may be called %j, like a section", (id) => {
    const setup = one({ [JSON_]: '{"permission":{"skill":{"a":"deny"}}}' }, { skills: ["a", id] })
    const { result, next } = act(setup, id, "deny")
    expect(textsOf(result)).toEqual({ [JSON_]: `{"permission":{"skill":{"a":"deny","${id}":"deny"}}}` })
    expect(act(next, id, "allow").next.files).toEqual(setup.files)
  })

  test("a file that cannot be edited is passed over where another one serves", () => {
    const setup = one({
      [JSON_]: '{"permission":{"skill":{"a":"deny"}}}',
      [JSONC]: '{"permission":{"*":"allow"},"permission":{}}',
    })
    expect(textsOf(plan(setup, "pdf", "deny"))).toEqual({
      [JSON_]: '{"permission":{"skill":{"a":"deny","pdf":"deny"}}}',
    })
  })

  describe("ids that the pattern language cannot say", () => {
    const at = (...skills: string[]) => one({ [JSON_]: '{"permission":{"skill":{}}}' }, { skills })
    test.each<[id: string, others: string[], hits: string[]]>([
      ["star*", ["starfish", "sun", "star*"], ["starfish"]],
      ["q?", ["qa", "q?", "qqq"], ["qa"]],
      ["a\\b", ["a/b", "a\\b"], ["a/b"]],
      ["a/b", ["a/b", "a\\b"], ["a\\b"]],
      ["my *", ["my", "my skill", "mine"], ["my", "my skill"]],
      ["*", ["a", "b"], ["a", "b"]],
    ])("%j hits others: refused, with their names", (id, skills, hits) => {
      for (const effect of ["deny", "allow"] as const)
        expect(plan(at(...skills), id, effect)).toEqual({ kind: "id_not_expressible", hits })
    })
    test.each(["star*", "q?", "a\\b", "my *"])("%j hits no other one: written", (id) => {
      const { result, next } = act(at(id, "other"), id, "deny")
      expect(change(result).reason).toBe("rule_added")
      expect(effectsOf(next, id).build).toBe("deny")
      expect(effectsOf(next, "other").build).toBe("allow")
      expect(act(next, id, "allow").next.files).toEqual(at().files)
    })
    test.each(["__proto__", "~", "~/x", "$HOME", "$HOME/x", "$HOMEx"])("%j can never be said in a map", (id) => {
      expect(plan(at(id, "other"), id, "deny")).toEqual({ kind: "id_not_expressible", hits: [] })
    })
    test("a tilde elsewhere in an id is nothing special", () => {
      expect(plan(at("~x", "a~/b"), "~x", "deny").kind).toBe("change")
      expect(plan(at("~x", "a~/b"), "a~/b", "deny").kind).toBe("change")
    })
  })

  describe("agents that the model cannot reproduce", () => {
    const files = { [JSONC]: SKILL('"a": "deny"') }
    test("the caller is one", () => {
      expect(plan(one(files, { unpredicted: ["build"] }), "pdf", "deny")).toEqual({
        kind: "prediction_failed",
        agents: ["build"],
      })
    })
    test("all are", () => {
      const all = ["build", "plan", "explore", "title"]
      expect(plan(one(files, { unpredicted: all, caller: "x" }), "pdf", "deny")).toEqual({
        kind: "prediction_failed",
        agents: all,
      })
    })
    test("others are left out of the outcomes", () => {
      const result = plan(one(files, { unpredicted: ["plan", "title"] }), "pdf", "deny")
      expect(change(result).outcomes.map(({ agent }) => agent.id)).toEqual(["build", "explore"])
    })
  })
})

describe("OpenCode 1: enable", () => {
  test.each<Row>([
    [
      "an exact deny goes, whoever wrote it",
      one({ [JSONC]: SKILL('"pdf": "deny", // because', '"a": "deny"') }),
      "pdf",
      "allow",
      "rule_removed",
      JSONC,
      SKILL("// because", '"a": "deny"'),
    ],
    [
      "an exact ask goes",
      one({ [JSON_]: SKILL('"a": "deny",', '"pdf": "ask"') }),
      "pdf",
      "allow",
      "rule_removed",
      JSON_,
      SKILL('"a": "deny"'),
    ],
    [
      "one that decides nothing goes too",
      one({ [JSON_]: SKILL('"pdf": "ask",', '"*": "allow"') }),
      "pdf",
      "allow",
      "rule_removed",
      JSON_,
      SKILL('"*": "allow"'),
    ],
    [
      "below a broad deny: one allow behind it, the deny stays",
      one({ [JSONC]: SKILL('"*": "deny",', '"a": "allow"') }),
      "pdf",
      "allow",
      "allow_added",
      JSONC,
      SKILL('"*": "deny",', '"a": "allow",', `"pdf": "allow" ${C}`),
    ],
    [
      "below a string: it becomes a map that says the same",
      one({ [JSON_]: '{"permission":{"skill":"deny"}}' }),
      "pdf",
      "allow",
      "allow_added",
      JSON_,
      '{"permission":{"skill":{"*":"deny","pdf":"allow"}}}',
    ],
    [
      "below a string for everything",
      one({ [JSON_]: '{"permission":"ask"}' }),
      "pdf",
      "allow",
      "allow_added",
      JSON_,
      '{"permission":{"*":"ask","skill":{"pdf":"allow"}}}',
    ],
    [
      "a string above a map",
      one({ [JSON_]: '{"permission":{"skill":{"*":"allow"}}}', [JSONC]: '{"permission":{"skill":"deny"}}' }),
      "pdf",
      "allow",
      "allow_added",
      JSONC,
      '{"permission":{"skill":{"*":"deny","pdf":"allow"}}}',
    ],
    [
      "below a broad deny an exact deny becomes the allow",
      one({ [JSON_]: SKILL('"*": "deny",', '"pdf": "deny"') }),
      "pdf",
      "allow",
      "allow_added",
      JSON_,
      SKILL('"*": "deny",', '"pdf": "allow"'),
    ],
    [
      "… one in front of the broad deny moves behind it",
      one({ [JSON_]: SKILL('"pdf": "deny",', '"*": "deny"') }),
      "pdf",
      "allow",
      "allow_added",
      JSON_,
      SKILL('"*": "deny",', '"pdf": "allow"'),
    ],
    [
      "a skill that is gone",
      one({ [JSON_]: SKILL('"gone": "deny",', '"a": "deny"') }),
      "gone",
      "allow",
      "rule_removed",
      JSON_,
      SKILL('"a": "deny"'),
    ],
  ])("%s", (...row) => check(row))

  test("exact rules go from all files at once", () => {
    const files = {
      "config.json": SKILL('"pdf": "deny",', '"a": "deny"'),
      [JSON_]: SKILL('"b": "deny",', '"pdf": "ask"'),
      [JSONC]: '{"permission":{"skill":{"a":"deny","pdf":"deny"}}}',
    }
    const { result, next } = act(one(files), "pdf", "allow")
    expect(textsOf(result)).toEqual({
      "config.json": SKILL('"a": "deny"'),
      [JSON_]: SKILL('"b": "deny"'),
      [JSONC]: '{"permission":{"skill":{"a":"deny"}}}',
    })
    expect(change(result).records).toEqual([])
    expect(effectsOf(next, "pdf").build).toBe("allow")
  })

  test("only `deny` and `ask` go: an `allow` of the user's own stays, in this file or another", () => {
    const files = {
      [JSON_]: '{"permission":{"skill":{"pdf":"allow"}}}',
      [JSONC]: '{"permission":{"skill":{"pdf":"deny","a":"deny"}}}',
    }
    const { result, next } = act(one(files), "pdf", "allow")
    expect(change(result).reason).toBe("rule_removed")
    expect(next.files).toMatchObject({ [JSON_]: files[JSON_], [JSONC]: '{"permission":{"skill":{"a":"deny"}}}' })
  })

  test.each<[name: string, setup: Setup]>([
    ["no rule at all", one({})],
    ["no rule that matches", one({ [JSONC]: SKILL('"a": "deny"') })],
    ["an exact allow", one({ [JSONC]: SKILL('"*": "deny",', '"pdf": "allow"') })],
    ["agents that the host denies are no obstacle", one({ [JSONC]: '{"model":"x"}' })],
  ])("already so: %s", (_, setup) => {
    expect(plan(setup, "pdf", "allow").kind).toBe("unchanged")
  })

  test("hidden agents and those that the host denies keep what the host gives them", () => {
    const { next } = act(one({ [JSONC]: SKILL('"pdf": "deny",', '"a": "deny"') }), "pdf", "allow")
    expect(effectsOf(next, "pdf")).toEqual({ build: "allow", plan: "allow", explore: "deny", title: "deny" })
  })

  test("blocked by the project: its place, and nothing is written", () => {
    const setup = one(
      { [JSONC]: SKILL('"a": "deny"') },
      { project: '{\n  "permission": {\n    "skill": { "p*": "deny" }\n  }\n}' },
    )
    const result = plan(setup, "pdf", "allow")
    expect(result.kind).toBe("blocked_elsewhere")
    expect(blockedBy(result)).toEqual([
      "build deny: skill p* at /project/opencode.json:3",
      "plan deny: skill p* at /project/opencode.json:3",
    ])
  })

  test("… also where a global rule could go: it would not help", () => {
    const setup = one({ [JSONC]: SKILL('"pdf": "deny"') }, { project: '{"permission":{"*":"deny"}}' })
    expect(plan(setup, "pdf", "allow").kind).toBe("blocked_elsewhere")
  })

  test("blocked by agents' own rules", () => {
    const own = '{"permission":{"skill":"deny"}}'
    const result = plan(one({ [JSONC]: `{"agent":{"build":${own},"plan":${own}}}` }), "pdf", "allow")
    expect(result.kind).toBe("blocked_elsewhere")
    if (result.kind === "blocked_elsewhere")
      expect(result.blocked.map(({ agent, rule }) => [agent, rule?.origin.agent])).toEqual([
        ["build", "build"],
        ["plan", "plan"],
      ])
  })

  test("… of some agents: written for the others", () => {
    const setup = one({
      [JSONC]: '{"permission":{"skill":{"pdf":"deny","a":"deny"}},"agent":{"plan":{"permission":{"skill":"deny"}}}}',
    })
    const { result, next } = act(setup, "pdf", "allow")
    expect([change(result).reason, unreachedOf(result)]).toEqual(["rule_removed", ["plan"]])
    expect(effectsOf(next, "pdf")).toMatchObject({ build: "allow", plan: "deny" })
  })
})

describe("OpenCode 2", () => {
  test.each<Row>([
    [
      "disable: one element more",
      two({ [JSONC]: ARRAY(rule("a", "deny")) }),
      "pdf",
      "deny",
      "rule_added",
      JSONC,
      ARRAY(`${rule("a", "deny")},`, `${rule("pdf", "deny")} ${C}`),
    ],
    [
      "disable: no comment in a .json file",
      two({ [JSON_]: ARRAY(rule("*", "ask", "bash")) }),
      "pdf",
      "deny",
      "rule_added",
      JSON_,
      ARRAY(`${rule("*", "ask", "bash")},`, rule("pdf", "deny")),
    ],
    [
      "disable: an exact rule that wins is changed in its place",
      two({ [JSONC]: ARRAY(`${rule("pdf", "allow")}, // mine`, rule("a", "deny")) }),
      "pdf",
      "deny",
      "rule_changed",
      JSONC,
      ARRAY(`${rule("pdf", "deny")}, // mine`, rule("a", "deny")),
    ],
    [
      "disable: one that loses moves behind",
      two({ [JSON_]: ARRAY(`${rule("pdf", "deny")},`, rule("p*", "allow")) }),
      "pdf",
      "deny",
      "rule_added",
      JSON_,
      ARRAY(`${rule("p*", "allow")},`, rule("pdf", "deny")),
    ],
    [
      "disable: of two copies one is left",
      two({ [JSON_]: ARRAY(`${rule("pdf", "deny")},`, `${rule("pdf", "ask")},`, rule("*", "allow")) }),
      "pdf",
      "deny",
      "rule_added",
      JSON_,
      ARRAY(`${rule("*", "allow")},`, rule("pdf", "deny")),
    ],
    [
      "disable: a map, where the document has one",
      two({ [JSONC]: SKILL('"a": "deny"') }),
      "pdf",
      "deny",
      "rule_added",
      JSONC,
      SKILL('"a": "deny",', `"pdf": "deny" ${C}`),
    ],
    [
      "disable: integer-like ids are plain elements",
      two({ [JSON_]: ARRAY(rule("*", "ask")) }),
      "7",
      "deny",
      "rule_added",
      JSON_,
      ARRAY(`${rule("*", "ask")},`, rule("7", "deny")),
    ],
    [
      "disable: a broad rule of another action behind it is written over",
      two({ [JSON_]: ARRAY(`${rule("a", "deny")},`, rule("*", "ask", "s*")) }),
      "pdf",
      "deny",
      "rule_added",
      JSON_,
      ARRAY(`${rule("a", "deny")},`, `${rule("*", "ask", "s*")},`, rule("pdf", "deny")),
    ],
    [
      "disable: a tilde is a plain character",
      two({ [JSON_]: ARRAY(rule("a", "deny")) }, { skills: ["a", "~/x"] }),
      "~/x",
      "deny",
      "rule_added",
      JSON_,
      ARRAY(`${rule("a", "deny")},`, rule("~/x", "deny")),
    ],
    [
      "disable: `__proto__` is a plain id in an array",
      two({ [JSON_]: ARRAY(rule("a", "deny")) }, { skills: ["a", "__proto__"] }),
      "__proto__",
      "deny",
      "rule_added",
      JSON_,
      ARRAY(`${rule("a", "deny")},`, rule("__proto__", "deny")),
    ],
    [
      "disable: a reference in another rule stays untouched text",
      two({ [JSON_]: ARRAY('{ "action": "skill", "resource": "a", "effect": "deny", "why": "{env:WHY}" }') }),
      "pdf",
      "deny",
      "rule_added",
      JSON_,
      ARRAY('{ "action": "skill", "resource": "a", "effect": "deny", "why": "{env:WHY}" },', rule("pdf", "deny")),
    ],
    [
      "disable: a lower file's string and a map beside it do not merge",
      two({ [JSON_]: '{"permission":{"skill":"ask"}}', [JSONC]: '{"permission":{"skill":{"a":"deny"}}}' }),
      "pdf",
      "deny",
      "rule_added",
      JSONC,
      '{"permission":{"skill":{"a":"deny","pdf":"deny"}}}',
    ],
    [
      "disable: a missing file is made",
      two({}),
      "pdf",
      "deny",
      "rule_added",
      JSONC,
      `{\n  "$schema": "https://opencode.ai/config.json",\n  "permissions": [\n    ${rule("pdf", "deny")} ${C}\n  ]\n}\n`,
    ],
    [
      "enable: the element goes",
      two({ [JSONC]: ARRAY(`${rule("a", "deny")},`, rule("pdf", "deny")) }),
      "pdf",
      "allow",
      "rule_removed",
      JSONC,
      ARRAY(rule("a", "deny")),
    ],
    [
      "enable: an element of the same name for another action stays",
      two({ [JSONC]: ARRAY(`${rule("pdf", "deny", "bash")},`, rule("pdf", "deny")) }),
      "pdf",
      "allow",
      "rule_removed",
      JSONC,
      ARRAY(rule("pdf", "deny", "bash")),
    ],
    [
      "enable: below a broad deny one allow behind it",
      two({ [JSON_]: ARRAY(rule("*", "deny")) }),
      "pdf",
      "allow",
      "allow_added",
      JSON_,
      ARRAY(`${rule("*", "deny")},`, rule("pdf", "allow")),
    ],
    [
      "enable: below skills that are off as a tool",
      two({ [JSON_]: '{"tools":{"skill":false}}' }),
      "pdf",
      "allow",
      "allow_added",
      JSON_,
      '{"tools":{"skill":false},"permission":{"skill":{"pdf":"allow"}}}',
    ],
    [
      "enable: a rule that decides nothing goes, the allow that decides stays",
      two({ [JSON_]: ARRAY(`${rule("pdf", "deny")},`, `${rule("*", "deny")},`, rule("pdf", "allow")) }),
      "pdf",
      "allow",
      "rule_removed",
      JSON_,
      ARRAY(`${rule("*", "deny")},`, rule("pdf", "allow")),
    ],
    [
      "enable: an allow of the user's own stays",
      two({ [JSON_]: ARRAY(`${rule("pdf", "allow")},`, rule("pdf", "deny")) }),
      "pdf",
      "allow",
      "rule_removed",
      JSON_,
      ARRAY(rule("pdf", "allow")),
    ],
  ])("%s", (...row) => check(row))

  test("both forms in one document: exact rules go from both", () => {
    const text = `{"permission":{"skill":{"pdf":"deny","a":"deny"}},"permissions":[${rule("pdf", "ask")},${rule("b", "deny")}]}`
    const { next } = act(two({ [JSON_]: text }), "pdf", "allow")
    expect(next.files[JSON_]).toBe(`{"permission":{"skill":{"a":"deny"}},"permissions":[${rule("b", "deny")}]}`)
  })

  test("a rule of the project wins over any global one", () => {
    const setup = two({ [JSON_]: ARRAY(rule("a", "deny")) }, { project: `{"permissions":[\n${rule("pdf", "deny")}]}` })
    const result = plan(setup, "pdf", "allow")
    expect(result.kind).toBe("blocked_elsewhere")
    expect(blockedBy(result)[0]).toBe("build deny: skill pdf at /project/opencode.json:2")
    const other = two(setup.files, { project: `{"permissions":[${rule("pdf", "allow")}]}` })
    expect(plan(other, "pdf", "deny")).toMatchObject({ kind: "not_effective", sideEffects: [] })
  })

  test("builds that read the whole document as one of OpenCode 1 lose its array: no rule goes there", () => {
    const mixed = `{"provider":{},"permissions":[${rule("a", "deny")}]}`
    expect(plan(two({ [JSONC]: mixed }, { reading: "by-document" }), "pdf", "deny").kind).toBe("not_effective")
    expect(Object.keys(textsOf(plan(two({ [JSON_]: mixed }, { reading: "by-document" }), "pdf", "deny")))).toEqual([
      JSONC,
    ])
    const asMap = two({ [JSONC]: mixed }, { reading: "by-document", dialect: "permission" })
    expect(textsOf(plan(asMap, "pdf", "deny"))).toEqual({
      [JSONC]: `{"provider":{},"permissions":[${rule("a", "deny")}],"permission":{"skill":{"pdf":"deny"}}}`,
    })
  })

  test.each<[name: string, text: string, reason: string, column: number]>([
    ["`permissions` twice", `{"permissions":[],"permissions":[]}`, "duplicate_key", 19],
    ["`permissions` that is no array", '{"permissions":{}}', "unexpected_type", 16],
    [
      "a reference in the rule",
      `{"permissions":[{"action":"skill","resource":"pdf","effect":"ask","why":"{env:WHY}"}]}`,
      "reference",
      17,
    ],
    [
      "a reference to the id",
      `{"permissions":[{"action":"skill","resource":"{env:ID}","effect":"ask"}]}`,
      "reference",
      17,
    ],
  ])("unsupported: %s", (_, text, reason, column) => {
    const result = plan(two({ [JSONC]: text }, { env: { ID: "pdf" } }), "pdf", "deny")
    expect(result).toEqual({ kind: "config_unsupported", file: JSONC, reason, line: 1, column })
  })
})

describe("disable, then enable: the same bytes as before", () => {
  const back = (setup: Setup, id: string, effect: Effect = "deny") => {
    const there = act(setup, id, effect)
    expect(there.result.kind).toBe("change")
    const again = act(there.next, id, "allow")
    expect(again.result.kind).toBe("change")
    expect(again.next.files).toEqual(setup.files)
    expect(again.next.records ?? []).toEqual(setup.records ?? [])
  }

  const texts: [name: string, text: string | null][] = [
    ["no file", null],
    ["an empty file", ""],
    ["an empty file but for a byte order mark", "\ufeff"],
    ["an empty object", "{}"],
    ["an empty object and a line end", "{}\n"],
    ["an empty object on lines of its own", "{\n}\n"],
    ["an empty object with blanks", "{ }"],
    ["an empty object with a comment", "{\n  // nothing yet\n}\n"],
    ["comments around an empty object", "// top\n{}\n// end"],
    ["other keys", '{\n  "model": "x"\n}\n'],
    ["other keys, one line", '{"model":"x"}'],
    ["other keys, trailing comma", '{\n  "model": "x",\n}\n'],
    ["other keys, a comment behind the last", '{\n  "model": "x" // mine\n}\n'],
    ["a closing comment", '{\n  "model": "x"\n  // "permission": {}\n}\n'],
    ["only a schema", '{\n  "$schema": "https://opencode.ai/config.json"\n}\n'],
    ["a permission map without skills", '{\n  "permission": {\n    "bash": "ask"\n  }\n}\n'],
    ["a permission map without skills, one line", '{ "permission": { "bash": "ask" } }'],
    ["an empty permission map", '{\n  "permission": {}\n}\n'],
    ["an empty permission map with a comment", '{\n  "permission": { /* none */ }\n}\n'],
    ["an empty permission map on two lines", '{\n  "permission": {\n  }\n}\n'],
    ["an empty skill map", '{\n  "permission": {\n    "skill": {}\n  }\n}\n'],
    ["an empty skill map with a comment", '{\n  "permission": {\n    "skill": {\n      // none\n    }\n  }\n}\n'],
    ["a string for skills", '{\n  "permission": {\n    "skill": "allow"\n  }\n}\n'],
    ["a string for skills, one line", '{"permission":{"skill":"allow","bash":"ask"}}'],
    ["a string for skills, escaped", '{"permission":{"skill":"\\u0061llow"}}'],
    ["a string for everything", '{\n  "permission": "allow" // fine\n}\n'],
    ["a string for everything, one line", '{ "permission": "allow", "model": "x" }'],
    ["a filled skill map", SKILL('"a": "deny"')],
    ["a filled skill map, trailing comma", SKILL('"a": "deny",')],
    ["a filled skill map, a comment behind", SKILL('"a": "deny" // mine')],
    ["tabs", '{\n\t"permission": {\n\t\t"bash": "ask"\n\t}\n}'],
    ["byte order mark", '\ufeff{\n  "model": "x"\n}\n'],
    ["no final line end", '{\n  "model": "x"\n}'],
    ["an empty array", '{\n  "permissions": []\n}\n'],
    ["an empty array with a comment", '{\n  "permissions": [\n    // none\n  ]\n}\n'],
    ["an array", ARRAY(rule("a", "deny"))],
    ["an array, one line", `{"permissions":[${rule("a", "deny")}]}`],
  ]
  const crlf = texts.flatMap(([name, text]): typeof texts =>
    text?.includes("\n") ? [[`${name}, CRLF`, text.replaceAll("\n", "\r\n")]] : [],
  )
  const isArray = (text: string | null) => text?.includes('"permissions": [') || text?.includes('"permissions":[')

  describe.each([JSON_, JSONC])("%s", (file) => {
    test.each([...texts, ...crlf].filter(([, text]) => !isArray(text)))("OpenCode 1: %s", (_, text) => {
      if (text === null && file === JSON_) back(one({ [JSON_]: null, [JSONC]: null }), "pdf")
      else back(one({ [file]: text }), "pdf")
    })
    test.each([...texts, ...crlf])("OpenCode 2: %s", (_, text) => {
      back(two({ [file]: text }), "pdf")
    })
  })

  test("`ask` instead of `deny`", () => {
    back(one({ [JSONC]: '{\n  "model": "x"\n}\n' }), "pdf", "ask")
    back(two({ [JSONC]: null }), "pdf", "ask")
  })

  const orders = [
    ["a", "b", "pdf"],
    ["a", "pdf", "b"],
    ["b", "a", "pdf"],
    ["b", "pdf", "a"],
    ["pdf", "a", "b"],
    ["pdf", "b", "a"],
  ]
  describe.each<[name: string, setup: Setup]>([
    ["no file, OpenCode 1", one({})],
    ["no file, OpenCode 2", two({})],
    ["an empty file", one({ [JSONC]: "" })],
    ["a missing permission map", one({ [JSONC]: '{\n  "model": "x"\n}\n' })],
    ["a missing skill map", one({ [JSON_]: '{"permission":{"bash":"ask"}}' })],
    ["an empty map", one({ [JSONC]: '{\n  "permission": {}\n}\n' })],
    ["a string for skills", one({ [JSONC]: '{\n  "permission": {\n    "skill": "allow"\n  }\n}\n' })],
    ["a string for everything", one({ [JSONC]: '{\n  "permission": "allow"\n}\n' })],
    ["a missing array", two({ [JSON_]: '{\n  "model": "x"\n}\n' })],
    ["an empty array", two({ [JSONC]: '{\n  "permissions": []\n}\n' })],
  ])("several skills in one section that was made for them: %s", (_, setup) => {
    test.each(orders)("enabled in the order %s, %s, %s", (...order) => {
      let now = setup
      for (const id of ["a", "b", "pdf"]) now = act(now, id, "deny").next
      for (const id of ["a", "b", "pdf"]) expect(effectsOf(now, id).build).toBe("deny")
      for (const id of order) {
        const { result, next } = act(now, id, "allow")
        expect(change(result).reason).toBe("rule_removed")
        now = next
      }
      expect(now.files).toEqual(setup.files)
      expect(now.records).toEqual([])
    })

    test("disabled again in between", () => {
      let now = setup
      for (const [id, effect] of [
        ["a", "deny"],
        ["b", "ask"],
        ["a", "allow"],
        ["a", "deny"],
        ["b", "allow"],
        ["a", "ask"],
        ["a", "allow"],
      ] as const)
        now = act(now, id, effect).next
      expect(now.files).toEqual(setup.files)
    })
  })

  test("an exact allow stood there: it is put back", () => {
    const setup = one({ [JSONC]: SKILL('"*": "ask",', '"pdf": "allow", // mine', '"a": "deny"') })
    const there = act(setup, "pdf", "deny")
    expect(change(there.result).records).toEqual([
      { generation: "opencode-1", file: JSONC, id: "pdf", effect: "deny", previous: "allow" },
    ])
    const again = act(there.next, "pdf", "allow")
    expect(change(again.result)).toMatchObject({ reason: "previous_restored", records: [] })
    expect(again.next.files).toEqual(setup.files)
  })

  test("an exact allow that decided nothing is put back too, where its rule was changed in place", () => {
    const setup = two({ [JSON_]: ARRAY(rule("pdf", "allow")) })
    const there = act(setup, "pdf", "deny")
    const again = act(there.next, "pdf", "allow")
    expect(again.next.files).toEqual(setup.files)
  })

  test("an exact ask stood there: it would still ask, so it goes", () => {
    const setup = one({ [JSONC]: SKILL('"pdf": "ask",', '"a": "deny"') })
    const there = act(setup, "pdf", "deny")
    expect(change(there.result).records).toMatchObject([{ previous: "ask" }])
    const again = act(there.next, "pdf", "allow")
    expect(change(again.result).reason).toBe("rule_removed")
    expect(again.next.files[JSONC]).toBe(SKILL('"a": "deny"'))
  })

  test("what stood there first is remembered over several changes", () => {
    const setup = one({ [JSONC]: SKILL('"pdf": "allow",', '"a": "deny"') })
    let now = act(setup, "pdf", "deny").next
    now = act(now, "pdf", "ask").next
    expect(now.records).toMatchObject([{ effect: "ask", previous: "allow" }])
    expect(act(now, "pdf", "allow").next.files).toEqual(setup.files)
  })
})

describe("what others wrote into a section that was made here stays", () => {
  const grown = (setup: Setup, change: (text: string) => string): Setup => {
    const { next } = act(setup, "pdf", "deny")
    return { ...next, files: { ...next.files, [JSONC]: change(next.files[JSONC] ?? "") } }
  }

  test.each(["a", "$schema"])("another rule, for a skill called %j", (id) => {
    const setup = grown(one({}), (text) => text.replace('"skill": {', () => `"skill": {\n      "${id}": "deny",`))
    const { next } = act(setup, "pdf", "allow")
    expect(next.files[JSONC]).toContain(`"${id}": "deny"`)
    expect(next.files[JSONC]).not.toContain("pdf")
  })

  test("another section", () => {
    const setup = grown(one({ [JSONC]: "" }), (text) => text.replace('"permission"', '"model": "x",\n  "permission"'))
    expect(act(setup, "pdf", "allow").next.files[JSONC]).toContain('"model": "x"')
  })

  const SCHEMA = '"$schema": "https://opencode.ai/config.json"'
  const KEPT = '"permission": {\n    "skill": {\n      /* keep me */\n    }\n  }'

  test.each<[was: string | null, after: string]>([
    [null, `{\n  ${SCHEMA},\n  ${KEPT}\n}\n`],
    ["", `{\n  ${KEPT}\n}\n`],
    ["{}", `{\n  ${KEPT}\n}`],
    ['{"permission":{}}', '{"permission":{"skill":{/* keep me */}}}'],
    ['{"model":"x"}', '{"model":"x","permission":{"skill":{/* keep me */}}}'],
    [
      '{\n  "permission": {\n    "skill": "allow"\n  }\n}\n',
      '{\n  "permission": {\n    "skill": {\n      "*": "allow"\n      /* keep me */\n    }\n  }\n}\n',
    ],
  ])("a comment inside, where %j was", (was, after) => {
    const setup = grown(one({ [JSONC]: was }), (made) => made.replace('"pdf"', '/* keep me */ "pdf"'))
    expect(act(setup, "pdf", "allow").next.files[JSONC]).toBe(after)
  })

  test.each<[was: string | null, after: string]>([
    [null, `// mine\n{\n  ${SCHEMA}\n}\n`],
    ["", "// mine\n{\n}\n"],
    ["\ufeff", "\ufeff// mine\n{\n}\n"],
    ["{}", "// mine\n{}"],
  ])("a comment above the object, where %j was: what is left is one that the host loads", (was, after) => {
    const setup = grown(one({ [JSONC]: was }), (made) => made.replace("{", "// mine\n{"))
    expect(act(setup, "pdf", "allow").next.files[JSONC]).toBe(after)
  })

  test.each<[name: string, text: string | null, at: string, star: string]>([
    ["into a file that was made", null, '"skill": {', '"*": "deny"'],
    ["into an empty file", "", '"skill": {', '"*": "deny"'],
    ["beside the star of a former string", '{\n  "permission": "allow"\n}\n', '"skill": {', '"*": "deny"'],
    ["beside `skill` in a file that was made", null, '"permission": {', '"*": "deny"'],
    ["a map, beside `skill` in a file that was made", null, '"permission": {', '"*": { "later-*": "deny" }'],
  ])("a star, %s, even where a project hides its effect", (_, text, at, star) => {
    const made = grown(one({ [JSONC]: text }), (made) => made.replace(at, `${at} ${star},`))
    const setup = { ...made, project: '{"permission":{"skill":{"*":"allow"},"*":"allow"}}' }
    const { next } = act(setup, "pdf", "allow")
    expect(next.files[JSONC]).toContain(star)
  })

  test("the former string's star changed: it stays changed", () => {
    const setup = grown(one({ [JSONC]: '{\n  "permission": {\n    "skill": "allow"\n  }\n}\n' }), (text) =>
      text.replace('"*": "allow"', '"*": "ask"'),
    )
    const { next } = act(setup, "pdf", "allow")
    expect(next.files[JSONC]).toContain('"*": "ask"')
    expect(effectsOf(next, "pdf").build).toBe("ask")
    expect(effectsOf(next, "docs").build).toBe("ask")
  })

  test.each<[name: string, star: string, now: string, after: string]>([
    ["another pattern", '"*": "allow"', '"x*": "allow"', '{\n      "x*": "allow"\n    }'],
    ["gone", '\n      "*": "allow",', "", "{\n    }"],
  ])("the former string's star is %s: the string does not come back", (_, star, now, after) => {
    const setup = grown(one({ [JSONC]: '{\n  "permission": {\n    "skill": "allow"\n  }\n}\n' }), (text) =>
      text.replace(star, now),
    )
    expect(act(setup, "pdf", "allow").next.files[JSONC]).toBe(`{\n  "permission": {\n    "skill": ${after}\n  }\n}\n`)
  })

  test("the host's own `$schema` in a file that was empty goes with it", () => {
    const setup = grown(one({ [JSONC]: "" }), (text) =>
      text.replace("{", '{\n  "$schema": "https://opencode.ai/config.json",'),
    )
    expect(act(setup, "pdf", "allow").next.files[JSONC]).toBe("")
  })
})

describe("records", () => {
  const record = (id: string, more: Partial<SidecarRecord> = {}): SidecarRecord => ({
    generation: "opencode-1",
    file: JSONC,
    id,
    effect: "deny",
    ...more,
  })

  test("of a new rule, with the section that was made for it", () => {
    expect(change(plan(one({}), "pdf", "deny")).records).toEqual([
      record("pdf", { sections: [{ path: [], was: null }] }),
    ])
    expect(change(plan(one({ [JSONC]: '{"permission":"allow"}' }), "pdf", "ask")).records).toEqual([
      record("pdf", { effect: "ask", sections: [{ path: ["permission"], was: '"allow"' }] }),
    ])
    expect(change(plan(one({ [JSONC]: SKILL('"a": "deny"') }), "pdf", "deny")).records).toEqual([record("pdf")])
  })

  test("a second rule in that section remembers it as well", () => {
    const { next } = act(one({ [JSONC]: '{"x":1}' }), "a", "deny")
    expect(act(next, "b", "deny").next.records).toEqual([
      record("a", { sections: [{ path: ["permission"], was: null }] }),
      record("b", { sections: [{ path: ["permission"], was: null }] }),
    ])
  })

  test("another generation's records are not taken for ours", () => {
    const records = [
      record("pdf", { generation: "opencode-2", previous: "allow", sections: [{ path: [], was: null }] }),
    ]
    const setup = one({ [JSONC]: SKILL('"pdf": "deny"') }, { records })
    const { result, next } = act(setup, "pdf", "allow")
    expect(change(result).reason).toBe("rule_removed")
    expect(next.files[JSONC]).not.toBe(null)
    expect(next.records).toEqual(records)
  })

  test("a record of another file is not taken for this one's", () => {
    const setup = one(
      { [JSONC]: SKILL('"pdf": "deny"') },
      { records: [record("pdf", { file: JSON_, previous: "allow" })] },
    )
    expect(change(plan(setup, "pdf", "allow")).reason).toBe("rule_removed")
  })

  test("a stale record of a section does no harm", () => {
    const setup = one(
      { [JSONC]: '{"permission":{"skill":{"pdf":"deny"}},"model":"x"}' },
      { records: [record("pdf", { sections: [{ path: ["permission", "gone"], was: "{}" }] })] },
    )
    expect(act(setup, "pdf", "allow").next.files[JSONC]).toBe('{"permission":{"skill":{}},"model":"x"}')
  })

  test("… of an array, when the rule stands in the map: the array keeps what it holds", () => {
    const array = `"permissions":[${rule("a", "deny")}]`
    const setup = two(
      { [JSONC]: `{"permission":{"skill":{"pdf":"deny"}},${array}}` },
      { records: [record("pdf", { generation: "opencode-2", sections: [{ path: ["permissions"], was: "[]" }] })] },
    )
    expect(act(setup, "pdf", "allow").next.files[JSONC]).toBe(`{"permission":{"skill":{}},${array}}`)
  })

  test("planning twice gives the same, and changes nothing that it was given", () => {
    const setup = one({ [JSONC]: SKILL('"pdf": "allow",', '"*": "ask"') }, { records: [record("a")] })
    const frozen = JSON.stringify(setup)
    expect(JSON.stringify(textsOf(plan(setup, "pdf", "deny")))).toBe(
      JSON.stringify(textsOf(plan(setup, "pdf", "deny"))),
    )
    expect(JSON.stringify(setup)).toBe(frozen)
    expect(applied(setup, plan(setup, "pdf", "deny"), "pdf")).not.toBe(setup)
  })
})
