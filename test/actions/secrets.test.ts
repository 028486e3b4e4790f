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
})
