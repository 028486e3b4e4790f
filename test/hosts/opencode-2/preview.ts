/** The early V2 server that runs from npm, as an oracle for merged permissions and verdicts. */
import { spawn } from "node:child_process"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import type { HostAgent } from "./native-agents.ts"
import type { Effect } from "./rules.ts"
import { makeSandbox } from "./sandbox.ts"

const BINARY = fileURLToPath(new URL("../binaries/node_modules/@opencode-ai/cli-linux-x64/bin/lildax", import.meta.url))
const START_MS = 30_000
// A request that arrives while the server boots may never be answered: give up soon and ask again.
const REQUEST_MS = 3_000

export interface PreviewOptions {
  /** Files by their path below the sandbox: `config/opencode/opencode.json`, `project/opencode.json`, … */
  files?: Record<string, string>
  /** `ROOT` stands for the sandbox. */
  env?: Record<string, string>
}

export type Preview = Awaited<ReturnType<typeof startPreview>>

/** Starts `serve` on 127.0.0.1 in a sandbox of its own. Config is read once: there is no hot reload. */
export async function startPreview({ files = {}, env = {} }: PreviewOptions = {}) {
  const sandbox = makeSandbox()
  for (const [name, value] of Object.entries(env)) sandbox.env[name] = value.replace("ROOT", sandbox.root)
  for (const [name, text] of Object.entries(files)) sandbox.write(name, text)
  sandbox.write("state/opencode/password", "preview")
  const server = spawn(BINARY, ["serve", "--hostname", "127.0.0.1", "--port", "0"], {
    cwd: sandbox.project,
    env: { PATH: process.env.PATH, ...sandbox.env },
    detached: true, // its own process group, so that `kill` reaches its children
    stdio: ["ignore", "pipe", "pipe"],
  })
  let printed = ""
  for (const stream of [server.stdout, server.stderr]) stream.on("data", (chunk) => (printed += String(chunk)))
  const failed = new Promise<never>((_, reject) => server.on("error", reject))
  failed.catch(() => {})
  const closed = new Promise((resolve) => server.on("close", resolve))

  const kill = () => {
    try {
      if (server.pid !== undefined) process.kill(-server.pid, "SIGKILL")
    } catch {} // already gone
  }
  process.once("exit", kill)
  async function stop() {
    kill()
    process.off("exit", kill)
    await Promise.race([closed, sleep(2_000)])
    sandbox.remove()
  }

  async function request(path: string, body?: object): Promise<{ data?: unknown }> {
    const url = /listening on (http:\S+)/.exec(printed)?.[1]
    if (!url) throw new Error("not listening yet")
    const response = await fetch(url + path, {
      method: body ? "POST" : "GET",
      headers: {
        authorization: `Basic ${Buffer.from("opencode:preview").toString("base64")}`,
        "content-type": "application/json",
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(REQUEST_MS),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as { data?: unknown }
  }

  /** Every agent of a directory with its merged permissions; waits until the location is up. */
  async function agents(directory = sandbox.project): Promise<HostAgent[]> {
    const until = Date.now() + START_MS
    let problem: unknown
    while (Date.now() < until && server.exitCode === null) {
      try {
        const { data } = await request(`/api/agent?location[directory]=${encodeURIComponent(directory)}`)
        if (Array.isArray(data) && data.length > 0) return data as HostAgent[]
      } catch (error) {
        problem = error
      }
      await sleep(50)
    }
    throw new Error(`the preview server is not up\n${printed.slice(-2_000)}`, { cause: problem })
  }

  /** The names in the registry. */
  async function skills(): Promise<string[]> {
    const { data } = await request(`/api/skill?location[directory]=${encodeURIComponent(sandbox.project)}`)
    return (data as { name: string }[]).map(({ name }) => name)
  }

  let session: string | undefined
  async function verdict(agent: string, skill: string): Promise<Effect> {
    if (session === undefined) {
      const { data } = await request("/api/session", { location: { directory: sandbox.project } })
      session = (data as { id: string }).id
    }
    const { data } = await request(`/api/session/${session}/permission`, { action: "skill", resources: [skill], agent })
    return (data as { effect: Effect }).effect
  }

  try {
    await Promise.race([agents(), failed])
  } catch (error) {
    await stop()
    throw error
  }
  return { root: sandbox.root, env: sandbox.env, project: sandbox.project, agents, skills, verdict, stop }
}
