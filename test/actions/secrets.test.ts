// What stands outside the sections, in comments, or behind a reference, never leaves the config.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import { HOSTS, type OpenHost } from "./both-hosts.ts"

const textsBelow = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.endsWith("backups"))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))

describe.each(HOSTS)("secrets on $name", ({ open }) => {
  let host: OpenHost
  afterEach(() => host.stop())

  it("in comments of an empty config stay there: not in an answer, the sidecar or the journal", async () => {
    const text = '{\n  // "apiKey": "sk-in-a-comment"\n}\n'
    host = await open({ files: { "opencode.jsonc": text } })
    const calls = [
      { action: "list" },
      { action: "disable", id: "pdf", dryRun: true },
      { action: "disable", id: "pdf" },
      { action: "inspect", id: "pdf" },
    ]
    for (const call of calls) expect((await host.call(call)).text).not.toContain("sk-in-a-comment")
    expect(host.readConfig("skill_management.state.json")).toContain('"id":"pdf"')
    expect(host.readConfig("skill_management.state.json")).not.toContain("sk-in-a-comment")
    for (const kept of textsBelow(host.stateDir)) expect(kept).not.toContain("sk-in-a-comment")
    await host.settle()
    expect(JSON.parse((await host.call({ action: "enable", id: "pdf" })).text)).toMatchObject({ changed: true })
    expect(host.readConfig("opencode.jsonc")).toBe(text)
  })

  it("behind a reference in a rule are shown as …", async () => {
    host = await open({
      files: { "opencode.json": '{ "permission": { "skill": { "{env:TOKEN}*": "deny", "docx": "ask" } } }' },
      env: { TOKEN: "pdf" },
      standin: { env: { TOKEN: "pdf" } },
      loaded: {
        rules: [
          ["skill", "pdf*", "deny"],
          ["skill", "docx", "ask"],
        ],
      },
    })
    const list = JSON.parse((await host.call({ action: "list" })).text)
    expect(list.consistency.unrecordedRules).toEqual([
      { resource: "…", effect: "deny" },
      { resource: "docx", effect: "ask" },
    ])
    const inspect = await host.call({ action: "inspect", id: "pdf" })
    expect(inspect.text).not.toContain("pdf*")
    expect(JSON.parse(inspect.text).rules).toContainEqual(
      expect.objectContaining({ action: "…", resource: "…", effect: "deny" }),
    )
    const refused = await host.call({ action: "disable", id: "docx", dryRun: true })
    expect(refused.text).not.toContain("pdf*")
  })

  it("stay … in what enable met, in what blocks it, and where the model does not fit", async () => {
    const rules = [
      ["skill", "hush-*", "deny"],
      ["skill", "hush-b", "ask"],
    ] as const
    host = await open({
      files: {
        "opencode.json":
          '{ "permission": { "skill": { "{env:TOKEN}*": "deny", "hush-b": "ask" } }, "skills": { "paths": ["{env:TOKEN}"] } }',
      },
      env: { TOKEN: "hush-" },
      // One more rule that no readable layer accounts for.
      standin: {
        env: { TOKEN: "hush-", OPENCODE_CONFIG_CONTENT: '{ "permission": { "skill": { "docx": "ask" } } }' },
      },
      loaded: { rules: [...rules, ["skill", "docx", "ask"]] },
      skills: { "hush-a": { description: "d" }, "hush-b": { description: "d" } },
    })
    const calls = [
      { action: "inspect", id: "hush-a" },
      { action: "list", fields: ["state"] },
      { action: "enable", id: "hush-a", dryRun: true },
      { action: "enable", id: "hush-b", dryRun: true },
      { action: "disable", id: "hush-b", dryRun: true },
      { action: "inspect", id: "nothing" },
    ]
    for (const call of calls) {
      const { text } = await host.call(call)
      expect(text, JSON.stringify(call)).not.toContain("hush-*")
    }
    const differs = JSON.parse((await host.call({ action: "inspect", id: "hush-a" })).text).notices[0]
    expect(differs).toMatchObject({ code: "model_differs" })
    const hidden = { action: "…", resource: "…", effect: "deny" }
    expect(differs.data.predicted).toContainEqual(hidden)
    expect(differs.data.real).toContainEqual(hidden)
    const { relatedRules } = JSON.parse((await host.call({ action: "enable", id: "hush-b", dryRun: true })).text)
    expect(relatedRules).toContainEqual(expect.objectContaining(hidden))
  })
})
