// docs/how-to/uninstall.md, step by step, on both hosts.
import { existsSync, rmSync } from "node:fs"
import { join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import { HOSTS, type OpenHost, snapshot, type World } from "./both-hosts.ts"

const SIDECAR = "skill_management.state.json"

const WORLDS: Record<string, World> = {
  "rules of one's own": {
    files: {
      "opencode.jsonc": '{\n  // mine\n  "permission": {\n    "skill": {\n      "x-*": "ask" // some\n    }\n  }\n}\n',
    },
    loaded: { rules: [["skill", "x-*", "ask"]] },
  },
  "a config without rules": { files: { "opencode.json": '{ "model": "a/b" }\n' } },
  "no config at all": {},
}

describe.each(HOSTS)("uninstall on $name", ({ open }) => {
  let host: OpenHost
  afterEach(() => host.stop())

  it.each(Object.keys(WORLDS))("%s: byte for byte", async (name) => {
    host = await open(WORLDS[name])
    const first = snapshot(host.configDir)
    const call = async (input: object) => {
      const answer = JSON.parse((await host.call(input)).text)
      expect(answer).toMatchObject({ ok: true, changed: true })
      await host.settle()
    }
    await call({ action: "disable", id: "pdf", note: "misfires" })
    await call({ action: "disable", id: "docx", effect: "ask" })
    expect(snapshot(host.configDir)).not.toEqual(first)

    const { records } = JSON.parse(host.readConfig(SIDECAR))
    expect(records.map(({ id }: { id: string }) => id)).toEqual(["docx", "pdf"])
    for (const { id } of records) await call({ action: "enable", id })
    expect(existsSync(host.stateDir)).toBe(true)
    rmSync(host.stateDir, { recursive: true })

    expect(snapshot(host.configDir)).toEqual(first)
    expect(existsSync(join(host.configDir, SIDECAR))).toBe(false)
  })
})
