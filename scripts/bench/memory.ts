import { execFile } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"

const TIMEOUT_MS = 120_000

/** An OpenCode 1 in memory that has its skills already when the plugin is called. */
const LIST = `
import { setImmediate as soon } from "node:timers/promises"
const [entry, count, length] = process.argv.slice(1)
const text = Buffer.alloc(Number(length))
const skills = Array.from({ length: Number(count) }, (_, i) => {
  const name = "skill-" + i
  return { name, location: "/skills/" + name + "/SKILL.md", description: text.fill(name + " ").latin1Slice() }
})
const agents = [{ name: "build", mode: "primary", native: true, permission: [{ permission: "*", pattern: "*", action: "allow" }] }]
const routes = { "/skill": skills, "/agent": agents }
const client = { _client: { get: async ({ url }) => ({ data: routes[url] }) } }
const { default: plugin } = await import(entry)
const { tool } = await plugin.server({ client, directory: process.cwd(), worktree: process.cwd() })
const settled = async () => {
  await soon()
  gc()
  return process.memoryUsage()
}
const before = await settled()
const answer = await tool.skill_management.execute({ action: "list" }, { agent: "build", sessionID: "s" })
const peak = process.resourceUsage().maxRSS * 1024
const after = await settled()
const { ok, summary } = JSON.parse(answer)
if (!ok || summary.total !== skills.length) throw new Error(answer)
process.stdout.write(JSON.stringify({ peak: peak - before.rss, left: after.heapUsed - before.heapUsed }))`

const MB = 1024 * 1024

/**
 * One `list` of many skills with long descriptions, in MB above the process that holds them already: the resident
 * memory at its peak, and the heap that is still used afterwards. `entry` is the built plugin's main file.
 */
export async function memory(entry: string, skills = 20_000, description = 2_048) {
  const root = await mkdtemp(join(tmpdir(), "skill-management-memory-"))
  try {
    // Room that making the skills has left resident would hide what the call needs: a small nursery, and no garbage.
    const child = [
      "--expose-gc",
      "--max-semi-space-size=1",
      "--input-type=module",
      "-e",
      LIST,
      entry,
      `${skills}`,
      `${description}`,
    ]
    const options = { cwd: root, env: { HOME: root, PATH: process.env.PATH }, timeout: TIMEOUT_MS }
    const { stdout } = await promisify(execFile)(process.execPath, child, options)
    const { peak, left } = JSON.parse(stdout) as { peak: number; left: number }
    return { peakMb: peak / MB, leftMb: left / MB }
  } finally {
    await rm(root, { recursive: true, force: true })
  }
}
