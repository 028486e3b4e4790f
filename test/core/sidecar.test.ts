import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { compareSidecar, decodeSidecar, encodeSidecar, recordKey, type SidecarRecord } from "../../src/core/sidecar.ts"

const record = (id: string, more: Partial<SidecarRecord> = {}): SidecarRecord => ({
  generation: "opencode-1",
  file: "opencode.jsonc",
  id,
  effect: "deny",
  ...more,
})

const PINNED = `{
  "schemaVersion": 1,
  "records": [
    {"generation":"opencode-1","file":"opencode.json","id":"z","effect":"ask"},
    {"generation":"opencode-1","file":"opencode.jsonc","id":"a","effect":"deny","previous":"allow","note":"too \\"loud\\"","sections":[{"path":["permission"],"was":null}]},
    {"generation":"opencode-1","file":"opencode.jsonc","id":"b","effect":"deny"},
    {"generation":"opencode-2","file":"opencode.jsonc","id":"a","effect":"allow","sections":[{"path":[],"was":""}]}
  ]
}
`
const PINNED_RECORDS: SidecarRecord[] = [
  record("z", { file: "opencode.json", effect: "ask" }),
  record("a", { previous: "allow", note: 'too "loud"', sections: [{ path: ["permission"], was: null }] }),
  record("b"),
  record("a", { generation: "opencode-2", effect: "allow", sections: [{ path: [], was: "" }] }),
]

describe("the text", () => {
  test("sorted by generation, file and id, one record a line, whatever the order given", () => {
    expect(encodeSidecar(PINNED_RECORDS)).toBe(PINNED)
    expect(encodeSidecar([...PINNED_RECORDS].reverse())).toBe(PINNED)
  })

  test("no records", () => {
    expect(encodeSidecar([])).toBe('{\n  "schemaVersion": 1,\n  "records": []\n}\n')
    expect(decodeSidecar(encodeSidecar([]))).toEqual([])
  })

  test("the order of a record's own fields does not show", () => {
    const { generation, file, id, effect } = record("a")
    expect(encodeSidecar([{ effect, id, file, generation }])).toBe(encodeSidecar([record("a")]))
  })

  test("ids sort by code points, not by UTF-16 units or language", () => {
    const ids = ["\u{1f600}", "\uffe0", "é", "z", "Z", "a", "10", "9"]
    const written = (decodeSidecar(encodeSidecar(ids.map((id) => record(id)))) as SidecarRecord[]).map(({ id }) => id)
    expect(written).toEqual(["10", "9", "Z", "a", "z", "é", "\uffe0", "\u{1f600}"])
  })

  test("encoding does not reorder the list that it is given", () => {
    const records = [record("b"), record("a")]
    encodeSidecar(records)
    expect(records.map(({ id }) => id)).toEqual(["b", "a"])
  })

  test("the key of a record", () => {
    const keys = PINNED_RECORDS.map(recordKey)
    expect(new Set(keys).size).toBe(4)
    expect(recordKey(record("a"))).toBe(recordKey(record("a", { effect: "ask", note: "x" })))
  })
})

describe("decoding", () => {
  test("the pinned text", () => {
    expect(decodeSidecar(PINNED)).toEqual(PINNED_RECORDS)
  })

  test("a file that does not exist is empty", () => {
    expect(decodeSidecar(null)).toEqual([])
  })

  const withRecord = (fields: object) =>
    JSON.stringify({
      schemaVersion: 1,
      records: [{ generation: "opencode-1", file: "f", id: "a", effect: "deny", ...fields }],
    })

  test.each<[name: string, text: string, problem: string]>([
    ["an empty file", "", "not_json"],
    ["half a file", '{"schemaVersion": 1, "rec', "not_json"],
    ["comments", "{} // x", "not_json"],
    ["null", "null", "not_a_sidecar"],
    ["an array", "[]", "not_a_sidecar"],
    ["an empty object", "{}", "not_a_sidecar"],
    ["a version as text", '{"schemaVersion":"1","records":[]}', "not_a_sidecar"],
    ["a newer version", '{"schemaVersion":2,"records":[]}', "newer_version"],
    ["a newer version of another shape", '{"schemaVersion":9}', "newer_version"],
    ["a version that never was: 0", '{"schemaVersion":0,"records":[]}', "not_a_sidecar"],
    ["a version that never was: 0.5", '{"schemaVersion":0.5,"records":[]}', "not_a_sidecar"],
    ["a version that never was: -1", '{"schemaVersion":-1,"records":[]}', "not_a_sidecar"],
    ["no records", '{"schemaVersion":1}', "not_a_sidecar"],
    ["records as a map", '{"schemaVersion":1,"records":{}}', "not_a_sidecar"],
    ["a record that is none", '{"schemaVersion":1,"records":[null]}', "not_a_sidecar"],
    ["an unknown generation", withRecord({ generation: "opencode-3" }), "not_a_sidecar"],
    ["an unknown effect", withRecord({ effect: "hide" }), "not_a_sidecar"],
    ["an id that is no text", withRecord({ id: 7 }), "not_a_sidecar"],
    ["a file that is no text", withRecord({ file: null }), "not_a_sidecar"],
    ["an unknown previous", withRecord({ previous: "no" }), "not_a_sidecar"],
    ["previous null", withRecord({ previous: null }), "not_a_sidecar"],
    ["a note that is no text", withRecord({ note: 1 }), "not_a_sidecar"],
    ["sections that are no list", withRecord({ sections: {} }), "not_a_sidecar"],
    ["a section without its path", withRecord({ sections: [{ was: null }] }), "not_a_sidecar"],
    ["a path of numbers", withRecord({ sections: [{ path: [1], was: null }] }), "not_a_sidecar"],
    ["a section without its text", withRecord({ sections: [{ path: ["permission"] }] }), "not_a_sidecar"],
    ["a section's text of another type", withRecord({ sections: [{ path: [], was: 1 }] }), "not_a_sidecar"],
  ])("refused: %s", (_, text, problem) => {
    expect(decodeSidecar(text)).toBe(problem)
  })

  test.each<[name: string, text: string]>([
    ["in a record", withRecord({ laterField: "kept?" })],
    ["in a section", withRecord({ sections: [{ path: [], was: null, laterField: "kept?" }] })],
    ["at the top", '{"schemaVersion":1,"laterField":"kept?","records":[]}'],
  ])("a field that this version does not know is refused or survives: %s", (_, text) => {
    const decoded = decodeSidecar(text)
    if (typeof decoded !== "string") expect(encodeSidecar(decoded)).toContain("laterField")
  })
})

const effect = fc.constantFrom("allow" as const, "ask" as const, "deny" as const)
const text = fc.string({ unit: "binary", maxLength: 8 })
const section = fc.record(
  { path: fc.array(fc.constantFrom("permission", "skill", "permissions"), { maxLength: 2 }), was: fc.option(text) },
  { noNullPrototype: true },
)
const records = fc.uniqueArray(
  fc.record(
    {
      generation: fc.constantFrom("opencode-1" as const, "opencode-2" as const),
      file: fc.constantFrom("opencode.json", "opencode.jsonc", "config.json"),
      id: text,
      effect,
      previous: effect,
      note: text,
      sections: fc.array(section, { maxLength: 2 }),
    },
    { requiredKeys: ["generation", "file", "id", "effect"], noNullPrototype: true },
  ),
  { selector: ({ generation, file, id }) => JSON.stringify([generation, file, id]), maxLength: 6 },
)
const keyed = (list: readonly SidecarRecord[]) =>
  new Map(list.map((one) => [JSON.stringify([one.generation, one.file, one.id]), one]))

describe("properties", () => {
  test("what is written is read back, and written again it is the same text, in any order", () => {
    fc.assert(
      fc.property(records, (list) => {
        const written = encodeSidecar(list)
        const back = decodeSidecar(written) as SidecarRecord[]
        expect(Array.isArray(back)).toBe(true)
        expect(back).toHaveLength(list.length)
        expect(keyed(back)).toEqual(keyed(list))
        expect(encodeSidecar(back)).toBe(written)
        expect(encodeSidecar([...list].reverse())).toBe(written)
      }),
      { numRuns: 1_000, seed: 41 },
    )
  })

  test("a lone half of a surrogate pair survives too", () => {
    expect(decodeSidecar(encodeSidecar([record("\ud83d")]))).toEqual([record("\ud83d")])
  })

  test("decoding never throws", () => {
    const near = fc.oneof(
      fc.string(),
      fc.json(),
      fc.jsonValue().map((value) => JSON.stringify({ schemaVersion: 1, records: value })),
      fc.array(fc.jsonValue()).map((list) => JSON.stringify({ schemaVersion: 1, records: list })),
      fc
        .dictionary(fc.constantFrom("generation", "file", "id", "effect", "sections"), fc.jsonValue())
        .map((one) => JSON.stringify({ schemaVersion: 1, records: [one] })),
      fc
        .tuple(fc.nat(PINNED.length), fc.string({ maxLength: 2 }))
        .map(([at, put]) => PINNED.slice(0, at) + put + PINNED.slice(at + 1)),
    )
    fc.assert(
      fc.property(near, (input) => {
        const decoded = decodeSidecar(input)
        if (typeof decoded === "string") expect(["not_json", "newer_version", "not_a_sidecar"]).toContain(decoded)
        else for (const one of decoded) expect(["allow", "ask", "deny"]).toContain(one.effect)
      }),
      { numRuns: 3_000, seed: 42 },
    )
  })
})

describe("compareSidecar", () => {
  const rule = (resource: string, effect: "allow" | "ask" | "deny" = "deny", file = "opencode.jsonc") => ({
    action: "skill",
    resource,
    effect,
    file,
  })
  const none = { staleSidecarIds: [], unrecordedRules: [], missingFromRegistry: [] }

  test("all in order", () => {
    expect(compareSidecar([record("a")], [rule("a")], new Set(["a", "b"]))).toEqual(none)
    expect(compareSidecar([], [], new Set())).toEqual(none)
  })

  test("a record without its rule is stale", () => {
    expect(compareSidecar([record("a")], [], new Set(["a"]))).toEqual({ ...none, staleSidecarIds: ["a"] })
  })

  test("a rule with another effect: the record is stale and the rule unrecorded", () => {
    expect(compareSidecar([record("a")], [rule("a", "ask")], new Set(["a"]))).toEqual({
      ...none,
      staleSidecarIds: ["a"],
      unrecordedRules: [{ resource: "a", effect: "ask" }],
    })
  })

  test("the same in another file", () => {
    expect(compareSidecar([record("a")], [rule("a", "deny", "opencode.json")], new Set(["a"]))).toEqual({
      ...none,
      staleSidecarIds: ["a"],
      unrecordedRules: [{ resource: "a", effect: "deny" }],
    })
  })

  test("rules that somebody else wrote, broad ones too, in their order", () => {
    expect(compareSidecar([record("a")], [rule("*", "allow"), rule("a"), rule("b")], new Set(["a"]))).toEqual({
      ...none,
      unrecordedRules: [
        { resource: "*", effect: "allow" },
        { resource: "b", effect: "deny" },
      ],
    })
  })

  test("recorded skills that are gone, once each and sorted", () => {
    const list = [record("z"), record("b", { file: "opencode.json" }), record("b"), record("a")]
    const rules = [rule("z"), rule("b", "deny", "opencode.json"), rule("b"), rule("a")]
    expect(compareSidecar(list, rules, new Set(["a"]))).toEqual({ ...none, missingFromRegistry: ["b", "z"] })
  })

  test("a stale record of a skill that is gone shows in both", () => {
    expect(compareSidecar([record("b")], [], new Set())).toEqual({
      ...none,
      staleSidecarIds: ["b"],
      missingFromRegistry: ["b"],
    })
  })

  test("a pattern is not the id that it matches", () => {
    expect(compareSidecar([record("pdf")], [rule("pd*")], new Set(["pdf"]))).toEqual({
      ...none,
      staleSidecarIds: ["pdf"],
      unrecordedRules: [{ resource: "pd*", effect: "deny" }],
    })
  })
})
