/** The same world on both hosts: OpenCode 1 as recorded, OpenCode 2 as its stand-in plays it. */
import {
  chmodSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { expect } from "vitest"
import plugin from "../../src/index.ts"
import { type Asked, createRecorded, type Loaded, pointEnvironment } from "../hosts/opencode-1/recorded.ts"
import { createStandin, type Plugin, type StandinOptions } from "../hosts/opencode-2/standin.ts"
import { SECRET } from "../tool/validated.ts"

export interface Place {
  readonly root: string
  readonly configDir: string
  readonly project: string
  readonly stateDir: string
}

export interface World {
  /** An existing directory to live in. */
  readonly root?: string
  /** Files of the global config directory. */
  readonly files?: Readonly<Record<string, string>>
  readonly projectFiles?: Readonly<Record<string, string>>
  /** Skills by id, in the global config directory. */
  readonly skills?: Readonly<Record<string, { readonly description?: string; readonly name?: string }>>
  /** What OpenCode 1 has loaded, literally; the stand-in reads the files. */
  readonly loaded?: Loaded
  /** Puts the last hand to the disk before the host starts. */
  readonly arrange?: (place: Place) => void
  readonly env?: Readonly<Record<string, string>>
  /** The plugin's options, as the host hands them over. */
  readonly options?: Record<string, unknown>
  /** OpenCode 1 only: what the user says when asked; says yes unless given. */
  readonly onAsk?: (request: Asked) => Promise<void>
  readonly standin?: StandinOptions & { readonly wrap?: (given: Plugin) => Plugin }
}

export interface Caller {
  readonly agent?: string
  readonly abort?: AbortSignal
}

export interface OpenHost extends Place {
  readonly generation: "opencode-1" | "opencode-2"
  config(name: string, text: string): string
  readConfig(name: string): string
  call(input: unknown, caller?: Caller): Promise<{ readonly answer: unknown; readonly text: string }>
  /** Waits until a host that reloads has read the disk. */
  settle(): Promise<void>
  /** OpenCode 1 only: answers a route with this. */
  answerWith(url: string, data: unknown): void
  stop(): void
}

const SKILLS: World["skills"] = {
  docx: { description: "Writes documents." },
  pdf: { description: "Reads PDF files." },
  "pdf-forms": { description: "Fills PDF forms." },
}

export async function openOpenCode1(world: World = {}): Promise<OpenHost> {
  const { loaded, env, options, onAsk, root } = world
  const host = createRecorded({
    ...(root && { root }),
    ...(loaded && { loaded }),
    ...(options && { options }),
    env: { ...env, SKILL_TEST_SECRET: SECRET },
  })
  for (const [id, { description }] of Object.entries(world.skills ?? SKILLS ?? {}))
    host.skill(id, description === undefined ? {} : { description })
  writeAll(host, world)
  if (onAsk) host.answerAsks(onAsk)
  await host.load()
  return {
    ...host,
    generation: "opencode-1",
    call: async (input, caller) => ({ text: (await host.call(input, caller)).text, answer: undefined }),
    settle: async () => {},
    stop: () => {
      unlock(host)
      host.stop()
    },
  }
}

const DELAY_MS = 60

export async function openOpenCode2(world: World = {}): Promise<OpenHost> {
  const { wrap = (given: Plugin) => given, ...options } = world.standin ?? {}
  const host = createStandin({
    build: "beta",
    reloadDelayMs: DELAY_MS,
    ...(world.root && { root: world.root }),
    ...(world.options && { options: world.options }),
    ...options,
  })
  const { XDG_STATE_HOME = "" } = host.env
  const place = { ...host, stateDir: join(XDG_STATE_HOME, "opencode/skill_management") }
  // What only the stand-in's own environment holds is a layer that the plugin cannot see.
  const { OPENCODE_CONFIG_CONTENT: _, ...shared } = host.env
  const restore = pointEnvironment({ ...shared, ...world.env, SKILL_TEST_SECRET: SECRET })
  for (const [id, skill] of Object.entries(world.skills ?? SKILLS ?? {})) host.skill(id, { ...skill })
  writeAll(place, world)
  await host.load(wrap(plugin))
  return {
    ...place,
    generation: "opencode-2",
    call: async (input, caller) => {
      const { output, text } = await host.call("skill_management", input, { agent: caller?.agent ?? "build" })
      return { answer: output, text }
    },
    settle: async () => {
      await sleep((options.reloadDelayMs ?? DELAY_MS) * 3)
    },
    answerWith: () => {
      throw new Error("only OpenCode 1 has routes")
    },
    stop: () => {
      unlock(place)
      restore()
      host.stop()
    },
  }
}

/** Whatever a test has shut is opened, so that it can be removed. */
function unlock({ root, configDir }: Place): void {
  for (const path of [configDir, join(root, "state")])
    if (lstatSync(path, { throwIfNoEntry: false })) chmodSync(path, 0o755)
}

export const HOSTS = [
  { name: "OpenCode 1 (recorded)", generation: "opencode-1", open: openOpenCode1 },
  { name: "OpenCode 2 (stand-in)", generation: "opencode-2", open: openOpenCode2 },
] as const

function writeAll(place: Place, { files = {}, projectFiles = {}, arrange }: World): void {
  for (const [name, text] of Object.entries(files)) put(join(place.configDir, name), text)
  for (const [name, text] of Object.entries(projectFiles)) put(join(place.project, name), text)
  arrange?.(place)
}

export function put(path: string, bytes: string | Buffer): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, bytes)
  return path
}

/** Every path below a directory with its kind, mode and bytes. */
export function snapshot(directory: string): Record<string, string> {
  const found: Record<string, string> = {}
  const visit = (path: string, name: string) => {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (!stat) {
      found[name] = "absent"
      return
    }
    const mode = (stat.mode & 0o7777).toString(8)
    if (stat.isSymbolicLink()) found[name] = `link to ${readlinkSync(path)}`
    else if (stat.isDirectory()) {
      found[name] = `directory ${mode}`
      for (const child of readdirSync(path).sort()) visit(join(path, child), `${name}/${child}`)
    } else if (stat.isFile()) found[name] = `file ${mode} ${readFileSync(path).toString("latin1")}`
    else found[name] = `other ${mode}`
  }
  visit(directory, ".")
  return found
}

/** Runs `work` and asserts that no path, byte or mode of the config directory, nor where its links lead, changed. */
export async function unchanged<T>(host: Place, work: () => Promise<T>): Promise<T> {
  const look = () => [snapshot(host.configDir), snapshot(join(host.root, "elsewhere"))]
  const before = look()
  const result = await work()
  expect(look()).toEqual(before)
  return result
}

const NOBODY = 65_534

/**
 * Runs `work` as a user for whom modes count. A test process of root gives its rights up for as long, and `world` then
 * belongs to that user; that modes do count is proved each time.
 */
export async function asUser<T>(work: () => Promise<T>, world?: string): Promise<T> {
  // What is imported on first use is read before the rights are gone.
  await Promise.all([
    import("../../src/hosts/opencode-1/call.ts"),
    import("../../src/hosts/opencode-2/call.ts"),
    import("../../src/actions/list.ts"),
    import("../../src/actions/inspect.ts"),
    import("../../src/actions/change.ts"),
    import("../../src/files/yaml-tree.ts"),
    import("proper-lockfile"),
  ])
  const isRoot = process.geteuid?.() === 0
  if (isRoot) {
    if (world !== undefined) chownAll(world)
    process.setegid?.(NOBODY)
    process.seteuid?.(NOBODY)
  }
  const probe = mkdtempSync(join(tmpdir(), "modes-count-"))
  try {
    chmodSync(put(join(probe, "secret"), ""), 0)
    expect(() => readFileSync(join(probe, "secret")), "modes count for this user").toThrow(/EACCES/)
    return await work()
  } finally {
    rmSync(probe, { recursive: true, force: true })
    if (isRoot) {
      process.seteuid?.(0)
      process.setegid?.(0)
    }
  }
}

function chownAll(path: string): void {
  const stat = lstatSync(path)
  lchownSync(path, NOBODY, NOBODY)
  if (stat.isDirectory()) for (const name of readdirSync(path)) chownAll(join(path, name))
}
