import { execFile } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { sideBySide } from "./side-by-side.ts"

const EMPTY = 'export default { id: "empty", server: async () => ({}), setup: async () => {} }\n'
/** What a host does with a plugin at its start. */
const START = `
const { default: plugin } = await import(process.argv[1])
await plugin.server({ client: {}, directory: process.cwd(), worktree: process.cwd() })`
const TIMEOUT_MS = 30_000

/**
 * How much longer a process takes to start with the plugin than with an empty one: medians, the two in turns, without
 * any config. `entry` is the built plugin's main file.
 */
export async function startup(entry: string, rounds = 25) {
  const root = await mkdtemp(join(tmpdir(), "skill-management-startup-"))
  try {
    const empty = join(root, "empty.mjs")
    await writeFile(empty, EMPTY)
    const env = { HOME: root, PATH: process.env.PATH }
    const start = (plugin: string) => {
      const options = { cwd: root, env, timeout: TIMEOUT_MS }
      return promisify(execFile)(process.execPath, ["--input-type=module", "-e", START, plugin], options)
    }
    const { ours, theirs } = await sideBySide(
      rounds,
      () => start(entry),
      () => start(empty),
    )
    return { differenceMs: ours - theirs, ratio: ours / theirs }
  } finally {
    await rm(root, { recursive: true, force: true })
  }
}
