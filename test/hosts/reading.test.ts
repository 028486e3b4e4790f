/** Reading the layers: what a process may hold open, and what a user may see. */
import { execFileSync } from "node:child_process"
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, beforeEach, expect, test } from "vitest"
import { agentSources } from "../../src/hosts/sources.ts"
import { asUser } from "../actions/both-hosts.ts"

let root = ""
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "skill-management-reading-"))
})
afterEach(() => rmSync(root, { recursive: true }))

const LAYERS = fileURLToPath(new URL("../../src/hosts/opencode-2/layers.ts", import.meta.url))

test("no layer is lost where a process may hold few files open", () => {
  const levels = Array.from({ length: 120 }, (_, i) => join(root, ...Array.from({ length: i }, () => "d")))
  for (const level of levels) {
    mkdirSync(join(level, ".opencode", "agents"), { recursive: true })
    for (const file of ["opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/agents/a.md"])
      writeFileSync(join(level, file), file)
  }
  const script = `
    const { higherSources } = await import(${JSON.stringify(LAYERS)})
    const found = await higherSources(${JSON.stringify(root)}, ${JSON.stringify(levels.at(-1))})
    process.stdout.write(String(found.filter(({ file }) => file?.startsWith(${JSON.stringify(root)})).length))`
  const child = ["--import", "tsx", "--input-type=module", "-e", script]
  const out = execFileSync("sh", ["-c", 'ulimit -n 64 && exec "$0" "$@"', process.execPath, ...child], {
    env: { HOME: root, PATH: process.env.PATH, TMPDIR: root },
  })
  expect(Number(out)).toBe(4 * levels.length)
})

test("agents are found in a directory that may be entered but not listed", async () => {
  const directory = join(root, "opencode")
  mkdirSync(join(directory, "agent"), { recursive: true })
  writeFileSync(join(directory, "agent", "a.md"), "---\nmode: all\n---\n")
  await asUser(async () => {
    chmodSync(directory, 0o311)
    const found = await agentSources("global", directory, true)
    chmodSync(directory, 0o755)
    expect(found.map(({ file }) => file)).toEqual([join(directory, "agent", "a.md")])
  }, root)
})
