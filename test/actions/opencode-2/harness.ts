/** The plugin in the stand-in of OpenCode 2, with the stand-in's environment in this process, as the plugin reads it. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { expect, vi } from "vitest"
import plugin from "../../../src/index.ts"
import type { ChangeBody, EnableBody, InspectBody, ListBody, UndoBody } from "../../../src/tool/answer-schema.ts"
import type { Effect } from "../../hosts/opencode-2/rules.ts"
import { lastMatch } from "../../hosts/opencode-2/rules.ts"
import { createStandin, type Listing, type Standin, type StandinOptions } from "../../hosts/opencode-2/standin.ts"

export const TOOL = "skill_management"
export const SIDECAR = "skill_management.state.json"
/** Milliseconds; the live host takes 650. */
export const DELAY = 40
/** A host that reads its config once. */
export const NEVER = 600_000

type Agent = Awaited<ReturnType<Standin["agents"]>>["data"][number]

export interface Options extends Omit<StandinOptions, "root" | "env"> {
  /** Files by their path below the sandbox, e.g. `config/opencode/opencode.json`. */
  files?: Record<string, string>
  /** Global config files by name. */
  config?: Record<string, string>
  /** Ids of skills with a description, in the global directory. */
  skills?: readonly string[]
  /** Set before the host starts; the function, when the sandbox is made. */
  env?: Record<string, string> | ((root: string) => Record<string, string>)
  /** What another plugin makes of the agents, on every look at them. */
  alter?: Alter
  /** Lets the clock run faster, for answers that come only when the plugin has waited long enough. */
  hurried?: boolean
}
export type Alter = (agents: Agent[]) => void

const HURRY = 5

interface Envelope {
  schemaVersion: number
  action: string
  ok: boolean
  warnings: string[]
  notices: { code: string; data?: Record<string, unknown> }[]
  error?: { code: string; message: string; hint?: string; data?: Record<string, unknown> }
  host: { generation: string; version: string | null }
  next: { why: string; input: Record<string, unknown> }[]
}
interface Bodies {
  list: ListBody
  inspect: InspectBody
  disable: ChangeBody
  enable: EnableBody
  undo: UndoBody
}
export type Reply<Action extends keyof Bodies> = Envelope & Bodies[Action]

const VARIABLES = [
  ..."HOME TMPDIR XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME".split(" "),
  ..."OPENCODE_CONFIG OPENCODE_CONFIG_CONTENT OPENCODE_CONFIG_DIR OPENCODE_PERMISSION".split(" "),
]

/** Makes the variables of a host those of this process. Returns the way back. */
export function enterEnvironment(env: Readonly<Record<string, string>>): () => void {
  const before = VARIABLES.map((name) => [name, process.env[name]] as const)
  const set = (name: string, value: string | undefined) => {
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
  for (const name of VARIABLES) set(name, env[name])
  return () => {
    for (const [name, value] of before) set(name, value)
  }
}

export function put(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}

export type Session = Awaited<ReturnType<typeof start>>
let running: { host: Standin; leave: () => void } | undefined

/** Ends what `start` began; for `afterEach`. */
export function stop() {
  running?.host.stop()
  running?.leave()
  running = undefined
  vi.restoreAllMocks()
}

export async function start(options: Options = {}) {
  const { files = {}, config = {}, skills = ["a", "b", "c"], env, alter, hurried = false, ...rest } = options
  const early = typeof env === "object" ? { env } : {}
  const host = createStandin({ reloadDelayMs: DELAY, ...rest, ...early })
  if (typeof env === "function") Object.assign(host.env, env(host.root))
  running = { host, leave: enterEnvironment(host.env) }
  for (const id of skills) host.skill(id, { description: `desc of ${id}` })
  for (const [name, text] of Object.entries(files)) put(join(host.root, name), text)
  for (const [name, text] of Object.entries(config)) host.config(name, text)
  await host.load(alter ? behindAnother(alter) : plugin)
  if (hurried) hurry()

  async function call<Action extends keyof Bodies>(action: Action, input: object = {}, agent = "build") {
    const { output, text } = await host.call(TOOL, { action, ...input }, { agent, sessionID: "ses_1" })
    expect(JSON.parse(text)).toEqual(output)
    return output as Reply<Action>
  }
  /** What the running host does, by the stand-in's own evaluation. */
  const effect = (id: string, agent = "build") => effectIn(host, id, agent)
  /** The same on a host that starts now, in the same place. */
  async function effectAfterRestart(id: string, agent = "build"): Promise<Effect> {
    const next = createStandin({ ...rest, root: host.root, env: host.env, reloadDelayMs: NEVER })
    await next.load({ id: "idle", setup: () => {} })
    next.stop()
    return effectIn(next, id, agent)
  }
  const path = (name: string) => join(host.configDir, name)
  return {
    host,
    call,
    effect,
    effectAfterRestart,
    path,
    list: (input: object = {}, agent?: string) => call("list", input, agent),
    inspect: (id: string, input: object = {}, agent?: string) => call("inspect", { id, ...input }, agent),
    disable: (id: string, input: object = {}, agent?: string) => call("disable", { id, ...input }, agent),
    enable: (id: string, input: object = {}, agent?: string) => call("enable", { id, ...input }, agent),
    /** The text of a global file; null for none. */
    text: (name: string) => (existsSync(path(name)) ? readFileSync(path(name), "utf8") : null),
    /** Names in the global directory, skills and agents aside. */
    names: () =>
      readdirSync(host.configDir)
        .filter((name) => name !== "skills" && name !== "agents")
        .sort(),
    stateFile: (name: string) => join(host.env.XDG_STATE_HOME ?? "", "opencode/skill_management", name),
  }
}

async function effectIn(host: Standin, id: string, agent: string): Promise<Effect> {
  const own = (await host.agents()).data.find((one) => one.id === agent)
  return lastMatch(own?.permissions ?? [], "skill", id)
}

function hurry() {
  const real = Date.now.bind(Date)
  const began = real()
  vi.spyOn(Date, "now").mockImplementation(() => began + (real() - began) * HURRY)
}

/** Our plugin, with another one between it and the agents. */
function behindAnother(alter: Alter) {
  type Context = { agent: { list: () => Promise<Listing<Agent>> } }
  return {
    id: plugin.id,
    setup: (context: Context) =>
      plugin.setup({
        ...context,
        agent: {
          list: async () => {
            const listing = await context.agent.list()
            alter(listing.data)
            return listing
          },
        },
      }),
  }
}

/** Waits for something that a busy machine may be slow to do. */
export const eventually = <T>(probe: () => T) => expect.poll(probe, { timeout: 10_000 })

export const codes = ({ notices }: Pick<Envelope, "notices">): string[] => notices.map(({ code }) => code)
export const dataOf = ({ notices }: Pick<Envelope, "notices">, code: string) =>
  notices.find((one) => one.code === code)?.data

export const rule = <E extends string>(resource: string, effect: E) => ({ action: "skill", resource, effect })
/** A config that holds these rules as an array, one element per line. */
export const arrayOf = (...rules: [resource: string, effect: string][]): string =>
  `{\n  "permissions": [\n${rules.map(([id, effect]) => `    ${JSON.stringify(rule(id, effect))}`).join(",\n")}\n  ]\n}\n`

/** Line and column of the first `part` of a text, both from 1. */
export function placeOf(text: string, part: string): { line: number; column: number } {
  const at = text.indexOf(part)
  expect(at).toBeGreaterThanOrEqual(0)
  const lines = text.slice(0, at).split("\n")
  return { line: lines.length, column: (lines.at(-1) ?? "").length + 1 }
}
