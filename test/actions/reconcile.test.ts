// Records, rules and registry brought together, on both hosts.
import { afterEach, describe, expect, it } from "vitest"
import { validated } from "../tool/validated.ts"
import { HOSTS, type OpenHost, type World } from "./both-hosts.ts"

const SIDECAR = "skill_management.state.json"
const record = (generation: string, id: string, effect: string) => ({ generation, file: "opencode.jsonc", id, effect })

/** pdf: a rule without a record. docx: a record without a rule. gone: recorded and ruled, registered no more. */
const worldOf = (generation: string): World => ({
  files: {
    "opencode.jsonc":
      '{\n  "permission": {\n    "skill": {\n      "x-*": "ask",\n      "pdf": "deny", // by hand\n      "gone": "deny", // skill_management\n      "unknown": "deny"\n    }\n  }\n}\n',
    [SIDECAR]: JSON.stringify({
      schemaVersion: 1,
      records: [record(generation, "docx", "deny"), record(generation, "gone", "deny")],
    }),
  },
  loaded: {
    rules: [
      ["skill", "x-*", "ask"],
      ["skill", "pdf", "deny"],
      ["skill", "gone", "deny"],
      ["skill", "unknown", "deny"],
    ],
  },
})

describe.each(HOSTS)("reconcile on $name", ({ open, generation }) => {
  let host: OpenHost
  afterEach(() => host.stop())
  const call = async (input: object) => {
    const answer = validated(await host.call(input))
    await host.settle()
    return answer
  }
  const records = () => JSON.parse(host.readConfig(SIDECAR)).records.map(({ id }: { id: string }) => id)

  it("plans, applies, and then finds nothing", async () => {
    host = await open(worldOf(generation))
    const before = host.readConfig("opencode.jsonc")
    const rehearsal = await call({ action: "reconcile" })
    expect(rehearsal).toMatchObject({ error: { code: "plan_required" }, plan: { count: 3 }, reason: null })
    expect(rehearsal.targets).toMatchObject([
      { id: "docx", reason: "record_dropped" },
      { id: "gone", reason: "rule_removed" },
      { id: "pdf", reason: "record_added" },
    ])
    expect(host.readConfig("opencode.jsonc")).toBe(before)

    const applied = await call(rehearsal.next[0]?.input ?? {})
    expect(applied).toMatchObject({ ok: true, changed: true, counts: { targets: 3, changed: 3 } })
    expect(host.readConfig("opencode.jsonc")).toBe(before.replace('      "gone": "deny", // skill_management\n', ""))
    expect(records()).toEqual(["pdf"])

    expect(await call({ action: "reconcile" })).toMatchObject({ ok: true, changed: false, targets: [], reason: null })
    const { consistency } = await call({ action: "list" })
    expect(consistency).toMatchObject({ staleSidecarIds: [], missingFromRegistry: [] })

    await call({ action: "undo" })
    expect(host.readConfig("opencode.jsonc")).toBe(before)
    expect(records()).toEqual(["docx", "gone"])
  })

  it.each([
    ["staleSidecarIds", "docx"],
    ["missingFromRegistry", "gone"],
    ["unrecordedRules", "pdf"],
  ])("looks at one finding alone: %s", async (finding, id) => {
    host = await open(worldOf(generation))
    const answer = await call({ action: "reconcile", where: { finding }, dryRun: true })
    expect(answer).toMatchObject({ ok: true, changed: false, targets: [{ id }], plan: { count: 1 } })
  })

  describe("a rule that someone gave another effect than its record says", () => {
    const edited = (id: string): World => ({
      files: {
        "opencode.jsonc": `{\n  "permission": {\n    "skill": {\n      "${id}": "ask"\n    }\n  }\n}\n`,
        [SIDECAR]: JSON.stringify({
          schemaVersion: 1,
          records: [{ ...record(generation, id, "deny"), previous: "allow" }],
        }),
      },
      loaded: { rules: [["skill", id, "ask"]] },
    })

    it.each([{}, { where: { finding: "unrecordedRules" } }])(
      "is recorded as it stands, and named once: %j",
      async (by) => {
        host = await open(edited("pdf"))
        const rehearsal = await call({ action: "reconcile", ...by })
        expect(rehearsal).toMatchObject({ targets: [{ id: "pdf", reason: "record_added" }], plan: { count: 1 } })
        await call(rehearsal.next[0]?.input ?? {})
        expect(JSON.parse(host.readConfig(SIDECAR)).records).toEqual([
          { ...record(generation, "pdf", "ask"), previous: "allow" },
        ])
        const { consistency } = await call({ action: "list" })
        expect(consistency).toEqual({ staleSidecarIds: [], unrecordedRules: [], missingFromRegistry: [] })
      },
    )

    it.each([{}, { where: { finding: "missingFromRegistry" } }])("stays when its skill is gone: %j", async (by) => {
      host = await open(edited("gone"))
      const before = host.readConfig("opencode.jsonc")
      const rehearsal = await call({ action: "reconcile", ...by })
      expect(rehearsal.targets).toMatchObject([{ id: "gone", reason: "record_dropped" }])
      expect(await call(rehearsal.next[0]?.input ?? {})).toMatchObject({ ok: true, changed: true })
      expect(host.readConfig("opencode.jsonc")).toBe(before)
    })
  })

  it("touches no record of the other host, and leaves out what is protected", async () => {
    const other = generation === "opencode-1" ? "opencode-2" : "opencode-1"
    host = await open({ ...worldOf(other), options: { protect: ["pdf"] } })
    expect(await call({ action: "reconcile" })).toMatchObject({
      ok: true,
      targets: [{ id: "pdf", changed: false, reason: "protected" }],
    })
    expect(records()).toEqual(["docx", "gone"])
  })

  it("leaves the records and rules of protected skills as they are, and does the rest", async () => {
    host = await open({ ...worldOf(generation), options: { protect: ["pdf", "gone"] } })
    const before = host.readConfig("opencode.jsonc")
    const rehearsal = await call({ action: "reconcile" })
    expect(rehearsal).toMatchObject({
      targets: [
        { id: "docx", reason: "record_dropped" },
        { id: "gone", reason: "protected" },
        { id: "pdf", reason: "protected" },
      ],
      plan: { count: 1 },
    })
    expect(await call(rehearsal.next[0]?.input ?? {})).toMatchObject({ ok: true, counts: { targets: 3, changed: 1 } })
    expect(host.readConfig("opencode.jsonc")).toBe(before)
    expect(records()).toEqual(["gone"])
  })
})
