// The real OpenCode 1: a running server with HTTP helpers, and its one-shot `debug` commands.
import { type ChildProcess, spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { Sandbox } from "./sandbox.ts"
import type { ScriptedModel } from "./scripted-model.ts"

const binary = fileURLToPath(new URL("../binaries/node_modules/opencode-linux-x64/bin/opencode", import.meta.url))

/** False on a platform without a pinned binary: skip the tests then. */
export const hostAvailable = existsSync(binary)

const START_MS = 90_000
const REQUEST_MS = 60_000
/** A turn may hold many calls. */
const TURN_MS = 180_000
const COMMAND_MS = 90_000

export type Env = Readonly<Record<string, string>>

/** Of a tool call: `completed` has `output`, `error` has `error`. */
export interface ToolState {
  status: "pending" | "running" | "completed" | "error"
  input: Record<string, unknown>
  output?: string
  error?: string
  title?: string
  metadata?: Record<string, unknown>
}

export interface Part {
  type: string
  text?: string
  tool?: string
  callID?: string
  state?: ToolState
}

export interface Message {
  info: { id: string; role: "user" | "assistant"; agent?: string; error?: unknown }
  parts: Part[]
}

export interface PermissionRequest {
  id: string
  sessionID: string
  permission: string
  patterns: string[]
  always: string[]
  metadata: Record<string, unknown>
  tool?: { messageID: string; callID: string }
}

export interface Prompt {
  agent?: string
  text: string
}

export interface Host {
  /** Changes with a restart. */
  readonly url: string
  /** What the host printed so far, stdout and stderr together. */
  readonly log: string
  createSession(): Promise<string>
  /** Waits for the whole turn; returns the last assistant message. */
  prompt(sessionID: string, prompt: Prompt): Promise<Message>
  /** Returns at once. */
  promptAsync(sessionID: string, prompt: Prompt): Promise<void>
  messages(sessionID: string): Promise<Message[]>
  /** The states of all calls of one tool, in order. */
  toolParts(sessionID: string, tool: string): Promise<ToolState[]>
  /** Any JSON route. The host answers unknown routes with a page: that throws. */
  get<T = unknown>(path: string): Promise<T>
  /** The permission requests that wait for a reply. */
  permissions(): Promise<PermissionRequest[]>
  /** Waits until one is there. */
  nextPermission(): Promise<PermissionRequest>
  replyPermission(id: string, reply: "once" | "always" | "reject"): Promise<void>
  restart(): Promise<void>
  stop(): Promise<void>
}

export async function startHost(sandbox: Sandbox, options: { model: ScriptedModel; env?: Env }): Promise<Host> {
  const env = {
    ...sandbox.env,
    OPENCODE_CONFIG_CONTENT: JSON.stringify(options.model.provider),
    ...options.env,
  }
  let server = await serve(sandbox, env)

  async function request<T>(method: "GET" | "POST", path: string, body?: unknown, limit = REQUEST_MS): Promise<T> {
    const response = await fetch(server.url + path, {
      method,
      signal: AbortSignal.timeout(limit),
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    if (response.status === 204) return undefined as T
    if (!response.headers.get("content-type")?.includes("json")) throw new Error(`${method} ${path}: no JSON`)
    return JSON.parse(text) as T
  }
  const body = ({ agent, text }: Prompt) => ({ ...(agent ? { agent } : {}), parts: [{ type: "text", text }] })
  const messages = (id: string) => request<Message[]>("GET", `/session/${id}/message`)
  const permissions = () => request<PermissionRequest[]>("GET", "/permission")

  return {
    get url() {
      return server.url
    },
    get log() {
      return server.log()
    },
    createSession: async () => (await request<{ id: string }>("POST", "/session", {})).id,
    prompt: (id, prompt) => request<Message>("POST", `/session/${id}/message`, body(prompt), TURN_MS),
    promptAsync: (id, prompt) => request<void>("POST", `/session/${id}/prompt_async`, body(prompt)),
    messages,
    toolParts: async (id, tool) =>
      (await messages(id)).flatMap(({ parts }) =>
        parts.flatMap((part) => (part.tool === tool && part.state ? [part.state] : [])),
      ),
    get: (path) => request("GET", path),
    permissions,
    async nextPermission() {
      for (const end = Date.now() + REQUEST_MS; Date.now() < end; await sleep(50)) {
        const [first] = await permissions()
        if (first) return first
      }
      throw new Error("no permission request appeared")
    },
    replyPermission: async (id, reply) => void (await request("POST", `/permission/${id}/reply`, { reply })),
    async restart() {
      await server.stop()
      server = await serve(sandbox, env)
    },
    stop: () => server.stop(),
  }
}

export interface DebugResult {
  /** `null` when the command did not end in time and was killed. */
  exitCode: number | null
  stdout: string
  stderr: string
  /** The parsed stdout, when it is JSON. */
  json?: unknown
}

export interface DebugAgentOptions {
  /** Runs this tool as the agent; an `ask` counts as allowed here (measured on 1.18.34). */
  tool?: string
  params?: unknown
  env?: Env
}

/** `opencode debug agent NAME`: no server, no model. */
export function debugAgent(sandbox: Sandbox, agent: string, options: DebugAgentOptions = {}): Promise<DebugResult> {
  const args = ["debug", "agent", agent]
  if (options.tool !== undefined) args.push("--tool", options.tool)
  if (options.params !== undefined) args.push("--params", JSON.stringify(options.params))
  return runHost(sandbox, args, options.env)
}

/** `opencode debug skill`: the registry. */
export function debugSkill(sandbox: Sandbox, env?: Env): Promise<DebugResult> {
  return runHost(sandbox, ["debug", "skill"], env)
}

/** Any command that ends by itself. */
export async function runHost(sandbox: Sandbox, args: readonly string[], env: Env = {}): Promise<DebugResult> {
  const child = start(sandbox, args, { ...sandbox.env, ...env })
  const timer = setTimeout(() => killGroup(child, "SIGKILL"), COMMAND_MS)
  try {
    const exitCode = await child.closed
    const stdout = child.stdout()
    const json = parseJson(stdout)
    return { exitCode, stdout, stderr: child.stderr(), ...(json === undefined ? {} : { json }) }
  } finally {
    clearTimeout(timer)
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function serve(sandbox: Sandbox, env: Env) {
  const child = start(sandbox, ["serve", "--hostname", "127.0.0.1", "--port", "0"], env)
  const log = () => child.stdout() + child.stderr()
  const stop = async () => {
    killGroup(child, "SIGTERM")
    if (!(await Promise.race([child.closed.then(() => true), sleep(3_000)]))) killGroup(child, "SIGKILL")
    await child.closed
  }
  let ended = false
  void child.closed.then(() => {
    ended = true
  })
  for (const end = Date.now() + START_MS; Date.now() < end && !ended; await sleep(25)) {
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(child.stdout())?.[0]
    if (url) return { url, log, stop }
  }
  await stop()
  throw new Error(`the host did not start:\n${log()}`)
}

interface Running {
  readonly process: ChildProcess
  /** The exit code, once the process and its output ended. */
  readonly closed: Promise<number | null>
  stdout(): string
  stderr(): string
}

const running = new Set<Running>()
process.once("exit", () => {
  for (const child of running) killGroup(child, "SIGKILL")
})

/** Every host leads a process group of its own, so that what it starts goes with it. */
function start(sandbox: Sandbox, args: readonly string[], env: Env): Running {
  const child = spawn(binary, args, {
    cwd: sandbox.project,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  })
  const out: Buffer[] = []
  const err: Buffer[] = []
  child.stdout.on("data", (chunk: Buffer) => out.push(chunk))
  child.stderr.on("data", (chunk: Buffer) => err.push(chunk))
  const closed = new Promise<number | null>((resolve) => {
    child.once("error", (error) => {
      err.push(Buffer.from(`${error.message}\n`))
      running.delete(self)
      resolve(null)
    })
    // The leader is gone: end what it left behind, which may also hold the output open.
    child.once("exit", () => {
      killGroup(self, "SIGKILL")
      running.delete(self)
    })
    child.once("close", (code) => resolve(code))
  })
  const self: Running = {
    process: child,
    closed,
    stdout: () => Buffer.concat(out).toString("utf8"),
    stderr: () => Buffer.concat(err).toString("utf8"),
  }
  running.add(self)
  return self
}

function killGroup(child: Running, signal: NodeJS.Signals): void {
  if (child.process.pid === undefined || !running.has(child)) return
  try {
    process.kill(-child.process.pid, signal)
  } catch {
    // Nothing of the group is left.
  }
}

function sleep(ms: number): Promise<false> {
  return new Promise((resolve) => setTimeout(resolve, ms, false))
}
