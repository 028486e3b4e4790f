/** An update or an uninstallation may take the plugin's files from under a running host, before they are first needed. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { validated } from "../tool/validated.ts"
import { HOSTS, type OpenHost, unchanged } from "./both-hosts.ts"

describe.each(HOSTS)("$name", ({ open, generation }) => {
  const FILES = [`hosts/${generation}/call.ts`, "actions/change.ts", "files/yaml-tree.ts"]
  let host: OpenHost
  beforeEach(async () => {
    vi.resetModules()
    host = await open({ files: { "opencode.json": "{}\n", "agents/writer.md": "---\nmode: all\n---\n" } })
  })
  afterEach(() => host.stop())

  test.each(FILES)("without `%s` the call is answered all the same, and nothing is written", async (file) => {
    const path = `../../src/${file}`
    vi.doMock(path, () => {
      throw new Error(`Cannot find module ${file}`)
    })
    const answer = validated(await unchanged(host, () => host.call({ action: "disable", id: "pdf" })))
    vi.doUnmock(path)
    expect([answer.ok, answer.action, answer.error?.code]).toEqual([false, "disable", "internal"])
    expect(answer.host.generation).toBe(generation)
  })
})
