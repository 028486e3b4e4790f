// The tool in a directory of its own, with an OpenCode 1 that answers from memory: for child processes.
import { mkdir, mkdtemp, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

export interface Place {
  readonly root: string
  readonly configDir: string
  readonly stateDir: string
  /** Environment of a child that works here. */
  readonly env: Record<string, string>
}

/** A fresh home with these global files. */
export async function makePlace(files: Record<string, string>): Promise<Place> {
  const root = await mkdtemp(join(tmpdir(), "skill-management-process-"))
  const at = (name: string) => join(root, name)
  const configDir = join(at("config"), "opencode")
  for (const directory of [configDir, at("home"), at("state"), at("tmp"), at("project")])
    await mkdir(directory, { recursive: true })
  for (const [name, text] of Object.entries(files)) await writeFile(join(configDir, name), text)
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: at("home"),
    TMPDIR: at("tmp"),
    XDG_CONFIG_HOME: at("config"),
    XDG_STATE_HOME: at("state"),
    XDG_CACHE_HOME: at("cache"),
    PLACE: root,
  }
  return { root, configDir, stateDir: join(at("state"), "opencode", "skill_management"), env }
}

/** Rules as `GET /agent` shows them on 1.18.34: the host's own, then what the configuration added. */
const BASE = [{ permission: "*", pattern: "*", action: "allow" }]
const DENIED = [...BASE, { permission: "*", pattern: "*", action: "deny" }]

/**
 * The tool as the plugin entry of OpenCode 1 makes it. `loaded` are the skill rules that the files held when the host
 * started, as the host would show them. Imported late, so that a child can change `fs` before.
 */
export async function openTool(skills: readonly string[], loaded: readonly [pattern: string, action: string][]) {
  const { default: plugin } = await import("../../src/index.ts")
  const own = loaded.map(([pattern, action]) => ({ permission: "skill", pattern, action }))
  const agents = [
    { name: "build", mode: "primary", native: true, permission: [...BASE, ...own] },
    { name: "explore", mode: "subagent", native: true, permission: [...DENIED, ...own] },
    { name: "title", mode: "primary", native: true, hidden: true, permission: [...DENIED, ...own] },
  ]
  const answers: Record<string, unknown> = {
    "/agent": agents,
    "/skill": skills.map((name) => ({ name, description: `About ${name}.`, location: `/skills/${name}/SKILL.md` })),
    "/global/health": { healthy: true, version: "1.18.34" },
  }
  const project = join(process.env.PLACE ?? "", "project")
  const client = { _client: { get: async ({ url }: { url: string }) => ({ data: answers[url] }) } }
  const input = { client, directory: project, worktree: "/" }
  const hooks = await plugin.server(input as unknown as Parameters<typeof plugin.server>[0])
  const tool = Object(hooks.tool).skill_management
  return async (call: object) =>
    JSON.parse(await tool.execute(call, { agent: "build", sessionID: "ses_1", abort: new AbortController().signal }))
}
