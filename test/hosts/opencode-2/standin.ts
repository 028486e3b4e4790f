/** A small in-process stand-in of an OpenCode 2 host. It shares no code with `src`. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Ajv } from "ajv"
import { Ajv2020 } from "ajv/dist/2020.js"
import { stringify } from "yaml"
import type { Build, HostAgent } from "./native-agents.ts"
import { like } from "./rules.ts"
import { makeSandbox } from "./sandbox.ts"
import { fingerprint, type HostSkill, readWorld, type World } from "./world.ts"

export interface StandinOptions {
  /** An existing directory to live in; a temporary one, removed by `stop()`, when left out. */
  root?: string
  project?: string
  /** Added to the sandbox's environment, e.g. OPENCODE_CONFIG. */
  env?: Record<string, string>
  /** The plugin's `ctx.options`. */
  options?: Record<string, unknown>
  /** Milliseconds from a change on disk to its effect. Live: 600 to 750 ("What decides" 7). */
  reloadDelayMs?: number
  build?: Build
}

/** Any `{id, setup}`: the context is typed by the plugin, the host cannot check it. */
export interface Plugin {
  id: string
  setup(context: never): unknown
}

export interface Listing<Item> {
  location: { directory: string; project: { id: string; directory: string } }
  data: Item[]
}

interface Tool {
  name: string
  description: string
  input: Schema
  jsonSchema?: Schema
  output?: Schema
  options?: { codemode?: boolean }
  execute(input: unknown, context: Record<string, unknown>): unknown
}
type Schema = Record<string, unknown>

export interface SkillFile {
  description?: string
  name?: string
  frontmatter?: Record<string, unknown>
}

export type Standin = ReturnType<typeof createStandin>

export function createStandin(given: StandinOptions = {}) {
  const build = given.build ?? "2.0"
  const reloadDelayMs = given.reloadDelayMs ?? 650
  const sandbox = makeSandbox(given)
  const { configDir, project, env } = sandbox
  const tools = new Map<string, Tool>()
  let world: World = { agents: [], skills: [] }
  let broken: unknown
  let watcher: NodeJS.Timeout | undefined
  let reload: NodeJS.Timeout | undefined
  let calls = 0

  /** Hot reload ("What decides" 7): what is on the disk `reloadDelayMs` after the first sign of a change is read. */
  function watch() {
    let seen = fingerprint(sandbox)
    watcher = setInterval(() => {
      const now = fingerprint(sandbox)
      if (now === seen) return
      seen = now
      reload ??= setTimeout(read, reloadDelayMs).unref()
    }, reloadDelayMs / 20).unref()
  }

  function read() {
    reload = undefined
    try {
      world = readWorld(sandbox, build)
      broken = undefined
    } catch (error) {
      broken = error
    }
  }

  function listing<Item>(pick: (world: World) => Item[]) {
    return async (): Promise<Listing<Item>> => {
      if (broken !== undefined) throw broken
      const location = { directory: project, project: { id: "global", directory: "/" } }
      return { location, data: structuredClone(pick(world)) }
    }
  }
  const agents = listing<HostAgent>((now) => now.agents)
  const skills = listing<HostSkill>((now) => now.skills)

  async function transform(change: (editor: { add(tool: Tool): void }) => unknown) {
    const add = (tool: Tool) => {
      // "What decides" 2: late betas stop every session without `jsonSchema`.
      if (build === "beta" && !tool.jsonSchema) fail(`${tool.name}: no jsonSchema, the beta stops every session`)
      tools.set(tool.name, tool)
    }
    if (change({ add }) instanceof Promise) fail("tool.transform takes a synchronous callback")
  }

  return {
    root: sandbox.root,
    env,
    configDir,
    project,
    agents,
    skills,

    config(name: string, text: string) {
      return put(join(configDir, name), text)
    },
    readConfig: (name: string) => readFileSync(join(configDir, name), "utf8"),
    skill(id: string, { frontmatter, ...known }: SkillFile = {}) {
      const head = stringify({ ...known, ...frontmatter })
      return put(join(configDir, "skills", id, "SKILL.md"), `---\n${head}---\nBODY-OF-${id}\n`)
    },
    agent(id: string, markdown: string) {
      return put(join(configDir, "agents", `${id}.md`), markdown)
    },

    /** Runs `setup` once; both lists are empty until it is done ("What decides" 1 and 4, measured live). */
    async load(plugin: Plugin) {
      const unused = ["aisdk", "catalog", "command", "event", "integration", "plugin", "reference", "session"]
      const context = {
        ...Object.fromEntries(unused.map((key) => [key, {}])),
        options: given.options ?? {},
        agent: { list: agents },
        skill: { list: skills },
        tool: { transform },
        ...(build === "2.0" && { app: {}, location: { directory: project } }), // added after the recorded beta
      }
      await (plugin.setup as (context: unknown) => unknown).call(plugin, context)
      read()
      watch()
    },

    /** Executes a tool for an agent as the host does; calls of one turn run at the same time ("What decides" 6). */
    async call(name: string, input: unknown, caller: { agent: string; sessionID?: string }) {
      const tool = tools.get(name) ?? fail(`${name}: no such tool`)
      // "What decides" 2 and 10: Code Mode only, or hidden by a last rule of resource `*` and effect `deny`.
      if (tool.options?.codemode !== false) fail(`${name}: only reachable through Code Mode`)
      const own = world.agents.find((agent) => agent.id === caller.agent)
      const last = own?.permissions.findLast((rule) => like(rule.action, name))
      if (last?.resource === "*" && last.effect === "deny") fail(`${name}: hidden from agent ${caller.agent}`)
      // "What decides" 3: the beta hands over any input, later sources validate it.
      if (build === "2.0") validate(tool.input, input, `${name}: input refused by the host`)

      const number = ++calls
      const context = {
        sessionID: caller.sessionID ?? "ses_standin",
        agent: caller.agent,
        messageID: `msg_${number}`,
        [build === "beta" ? "callID" : "id"]: `call_${number}`,
        ...(build === "2.0" && { signal: new AbortController().signal }),
        progress: async () => {},
      }
      let result: unknown
      try {
        result = await tool.execute(structuredClone(input), context)
      } catch (error) {
        throw new HostFailure(`${name}: threw, which ends the session in later sources`, { cause: error })
      }
      return settle(tool, result)
    },

    /** Stops watching; removes the directory if the stand-in made it. */
    stop() {
      clearInterval(watcher)
      clearTimeout(reload)
      if (given.root === undefined) sandbox.remove()
    },
  }
}

/** The host would have ended the call, refused it or never offered the tool. */
export class HostFailure extends Error {}

function fail(message: string): never {
  throw new HostFailure(message)
}

/** The rules of a result ("What decides" 3): a list with a text item; `output` only with a declared schema. */
function settle(tool: Tool, result: unknown): { output: unknown; text: string } {
  if (typeof result !== "object" || result === null) fail(`${tool.name}: the result is not an object`)
  const { output, content } = result as { output?: unknown; content?: unknown }
  if (!Array.isArray(content)) fail(`${tool.name}: content is not a list (a bare string is an error on the beta)`)
  const texts = content.flatMap((item: { type?: unknown; text?: unknown } | null) =>
    item?.type === "text" && typeof item.text === "string" ? [item.text] : [],
  )
  if (texts.length === 0) fail(`${tool.name}: content has no text item`)
  if (output === undefined) return { output, text: texts.join("\n") }
  if (!tool.output) fail(`${tool.name}: output without a declared output schema, the call dies`)
  const stored: unknown = JSON.parse(JSON.stringify(output))
  validate(tool.output, stored, `${tool.name}: output does not fit its schema`)
  return { output: stored, text: texts.join("\n") }
}

function validate(schema: Schema, value: unknown, message: string) {
  const ajv = String(schema.$schema).includes("2020-12")
    ? new Ajv2020({ allErrors: true, strict: false })
    : new Ajv({ allErrors: true, strict: false })
  if (!ajv.validate(schema, value)) fail(`${message}: ${ajv.errorsText()}`)
}

function put(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}
