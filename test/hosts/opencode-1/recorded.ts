/**
 * OpenCode 1 as a plugin sees it, in this process: what its routes, its plugin input and its tool context held is
 * recorded on 1.18.34. It never works out a rule: a test names the user's rules that the host has loaded, literally.
 * It shares no code with `src`.
 */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, relative } from "node:path"
import { vi } from "vitest"
import { stringify } from "yaml"

/** `[permission, pattern, action]`, as the host has it: `["skill", "pdf", "deny"]`. */
export type LoadedRule = readonly [permission: string, pattern: string, action: "allow" | "ask" | "deny"]

/** The user's own share of the running host, literal. */
export interface Loaded {
  /** The merged top-level rules, in order; every agent has them. */
  readonly rules?: readonly LoadedRule[]
  /** The rules that stand in one agent's own section; they follow the top-level ones. */
  readonly agentRules?: Readonly<Record<string, readonly LoadedRule[]>>
  /** Agents of the user. */
  readonly agents?: Readonly<Record<string, { mode?: "primary" | "subagent" | "all"; hidden?: boolean }>>
}

export interface RegisteredSkill {
  /** `null`: the frontmatter has none. */
  readonly description?: string | null
  /** The folder below `skills/`; the skill's name unless given. */
  readonly dir?: string
  readonly frontmatter?: Readonly<Record<string, unknown>>
  /** Only registered, without a file on disk. */
  readonly fileless?: boolean
}

export interface RecordedOptions {
  /** An existing directory to live in, removed by `stop()` like the temporary one that is made when it is left out. */
  readonly root?: string
  readonly loaded?: Loaded
  /** Added to the process's environment, e.g. OPENCODE_CONFIG. */
  readonly env?: Readonly<Record<string, string>>
  /** The plugin's options. */
  readonly options?: Record<string, unknown>
  readonly version?: string
}

export interface RecordedCaller {
  readonly agent?: string
  readonly sessionID?: string
  readonly abort?: AbortSignal
}

/** What the tool asked the user through `ask()`. */
export interface Asked {
  readonly permission: string
  readonly patterns: readonly string[]
  readonly always: readonly string[]
  readonly metadata: Readonly<Record<string, unknown>>
}

export interface Reply {
  readonly answer: Record<string, unknown>
  readonly text: string
}

export type Recorded = ReturnType<typeof createRecorded>

/** Points `process.env` into a world; returns the way back. `OPENCODE_*` and `XDG_*` of the developer are left out. */
export function pointEnvironment(env: Readonly<Record<string, string>>): () => void {
  const before = { ...process.env }
  for (const name of Object.keys(process.env)) if (/^(OPENCODE|XDG)_/.test(name)) delete process.env[name]
  Object.assign(process.env, env)
  return () => {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
    Object.assign(process.env, before)
  }
}

export function createRecorded(given: RecordedOptions = {}) {
  const root = given.root ?? realpathSync(mkdtempSync(join(tmpdir(), "opencode-1-recorded-")))
  const at = (...names: string[]) => join(root, ...names)
  const project = at("project")
  const env = {
    HOME: at("home"),
    TMPDIR: at("tmp"),
    XDG_CONFIG_HOME: at("config"),
    XDG_DATA_HOME: at("data"),
    XDG_STATE_HOME: at("state"),
    XDG_CACHE_HOME: at("cache"),
    ...given.env,
  }
  const configDir = join(env.XDG_CONFIG_HOME, "opencode")
  for (const path of [env.HOME, env.TMPDIR, at("data"), at("state"), at("cache"), configDir, project])
    mkdirSync(path, { recursive: true })
  const restore = pointEnvironment(env)

  let loaded = given.loaded ?? {}
  const skills: Record<string, unknown>[] = [builtInSkill()]
  const replaced = new Map<string, unknown>()
  const asked: Asked[] = []
  const requests: string[] = []
  let onAsk: (request: Asked) => Promise<void> = async () => {}
  let execute: ((args: unknown, context: unknown) => Promise<unknown>) | undefined
  let calls = 0

  /** Recorded on 1.18.34: every route answers `{data, request, response}`, an unknown one 200 with a page. */
  async function get({ url }: { url: string }) {
    requests.push(url)
    const data = replaced.has(url) ? replaced.get(url) : route(url)
    if (data instanceof Error) throw data
    return { data: structuredClone(data), request: { url }, response: { status: 200 } }
  }

  function route(url: string): unknown {
    if (url === "/agent") return agentsOf(root, loaded)
    if (url === "/skill") return skills
    if (url === "/command") return commandsOf(skills)
    if (url === "/global/health") return { healthy: true, version: given.version ?? "1.18.34" }
    if (url === "/path")
      return { home: env.HOME, state: at("state", "opencode"), config: configDir, worktree: "/", directory: project }
    return "<!doctype html><html><body>OpenCode</body></html>"
  }

  async function load() {
    const { default: plugin } = await import("../../../src/index.ts")
    // Recorded on 1.18.34: the keys of the plugin input. The worktree of a directory without a repository is `/`.
    const input = {
      client: { _client: { get }, app: { log: async () => {}, agents: async () => [] } },
      project: { id: "global", worktree: "/" },
      worktree: "/",
      directory: project,
      experimental_workspace: { register: () => {} },
      serverUrl: new URL("http://127.0.0.1:4096"),
      $: () => {
        throw new Error("a plugin without a shell")
      },
    } as unknown as Parameters<typeof plugin.server>[0]
    const hooks = await plugin.server(input, given.options)
    const tool = hooks.tool?.skill_management
    if (!tool) throw new Error("the plugin gives no tool skill_management")
    execute = tool.execute as typeof execute
    // Recorded on 1.18.34: the hook's output has `jsonSchema`, which the published types do not know.
    const shown: Record<string, unknown> = { description: tool.description, parameters: {}, jsonSchema: {} }
    await hooks["tool.definition"]?.({ toolID: "skill_management" }, shown as never)
    return { description: String(shown.description), jsonSchema: shown.jsonSchema }
  }

  return {
    root,
    env,
    configDir,
    project,
    stateDir: at("state", "opencode", "skill_management"),
    /** The routes that were asked, in order. */
    requests,
    asked,

    config(name: string, text: string) {
      return put(join(configDir, name), text)
    },
    readConfig: (name: string) => readFileSync(join(configDir, name), "utf8"),
    /** Recorded on 1.18.34: the registry's name is the one in the frontmatter, the folder may be called otherwise. */
    skill(name: string, { description = `About ${name}.`, dir = name, frontmatter, fileless }: RegisteredSkill = {}) {
      const known = { name, ...(description !== null && { description }) }
      const content = `Body of ${name}.\n`
      const location = join(configDir, "skills", dir, "SKILL.md")
      if (!fileless) put(location, `---\n${stringify({ ...known, ...frontmatter })}---\n${content}`)
      skills.push({ ...known, location, content })
      return location
    },
    /** Rows of the registry as they are, beside those of `skill`. */
    register(...rows: Record<string, unknown>[]) {
      skills.push(...rows)
    },
    /** Answers a route with this; an `Error` is thrown. */
    answerWith(url: string, data: unknown) {
      replaced.set(url, data)
    },
    answerAsks(handler: (request: Asked) => Promise<void>) {
      onAsk = handler
    },

    /** Loads the plugin as the host does at its start; the config on disk is then what the host has read. */
    load,
    /** A new process: the module is evaluated anew and the files are read again; the rules are again the test's. */
    async restart(next: Loaded) {
      loaded = next
      vi.resetModules()
      return load()
    },

    /** Recorded on 1.18.34: arguments are not checked; the context holds these keys. */
    async call(args: unknown, caller: RecordedCaller = {}): Promise<Reply> {
      if (!execute) throw new Error("load the plugin first")
      const number = ++calls
      const text = await execute(args, {
        sessionID: caller.sessionID ?? "ses_recorded",
        abort: caller.abort ?? new AbortController().signal,
        messageID: `msg_${number}`,
        callID: `call_${number}`,
        extra: {},
        agent: caller.agent ?? "build",
        messages: [],
        metadata: () => {},
        ask: async (request: Asked) => {
          asked.push(request)
          await onAsk(request)
        },
        directory: project,
        worktree: "/",
      })
      if (typeof text !== "string") throw new Error("OpenCode 1 takes a text")
      return { answer: JSON.parse(text) as Record<string, unknown>, text }
    },

    /** Gives the environment back and removes the world. */
    stop() {
      restore()
      rmSync(root, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

function put(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}

/** Recorded on 1.18.34; its body is cut. */
const builtInSkill = () => ({
  name: "customize-opencode",
  description:
    "Use ONLY when the user is editing or creating opencode's own configuration: opencode.json, opencode.jsonc, files under .opencode/, or files under ~/.config/opencode/. Also use when creating or fixing opencode agents, subagents, skills, plugins, MCP servers, or permission rules. Do not use for the user's own application code, or for any project that is not configuring opencode itself.",
  location: "<built-in>",
  content: "<!--\n  Built-in skill.\n-->\n",
})

/** Recorded on 1.18.34: two commands of the host, then every skill whose name is free, whatever the rules say. */
const commandsOf = (skills: readonly Record<string, unknown>[]) => [
  { name: "init", description: "guided AGENTS.md setup", source: "command", template: "", hints: [] },
  { name: "review", description: "review changes", source: "command", template: "", hints: [] },
  ...skills
    .filter(({ name }) => name !== "init" && name !== "review")
    .map(({ name, description }) => ({ name, description, source: "skill", template: "", hints: [] })),
]

const ruleOf = ([permission, pattern, action]: LoadedRule) => ({ permission, pattern, action })

/**
 * Recorded on 1.18.34: the agents of a fresh home, `build` first and the others by name. The user's top-level rules
 * follow the agent's own ones, then the rules of the agent's section; one rule of the host comes last.
 */
function agentsOf(root: string, { rules = [], agentRules = {}, agents = {} }: Loaded) {
  const output = join(root, "data/opencode/tool-output/*")
  const directories: LoadedRule[] = [
    ["external_directory", "*", "ask"],
    ["external_directory", output, "allow"],
    ["external_directory", join(root, "tmp/opencode/*"), "allow"],
  ]
  const start: LoadedRule[] = [
    ["*", "*", "allow"],
    ["doom_loop", "*", "ask"],
    ...directories,
    ["question", "*", "deny"],
    ["plan_enter", "*", "deny"],
    ["plan_exit", "*", "deny"],
    ["read", "*", "allow"],
    ["read", "*.env", "ask"],
    ["read", "*.env.*", "ask"],
    ["read", "*.env.example", "allow"],
  ]
  const plans = join(root, "data/opencode/plans")
  const agent = (
    name: string,
    mode: string,
    native: boolean,
    hidden: boolean,
    description: string,
    own: LoadedRule[],
  ) => ({
    name,
    ...(description && { description }),
    mode,
    native,
    ...(hidden && { hidden }),
    permission: [
      ...start,
      ...own,
      ...rules,
      ...(agentRules[name] ?? []),
      ["external_directory", output, "allow"] as const,
    ].map(ruleOf),
    options: {},
  })
  const nothing: LoadedRule[] = [["*", "*", "deny"]]
  const found = [
    agent("build", "primary", true, false, "The default agent. Executes tools based on configured permissions.", [
      ["question", "*", "allow"],
      ["plan_enter", "*", "allow"],
    ]),
    agent("compaction", "primary", true, true, "", nothing),
    agent("explore", "subagent", true, false, "Fast agent specialized for exploring codebases.", [
      ["*", "*", "deny"],
      ["grep", "*", "allow"],
      ["glob", "*", "allow"],
      ["list", "*", "allow"],
      ["bash", "*", "allow"],
      ["webfetch", "*", "allow"],
      ["websearch", "*", "allow"],
      ["read", "*", "allow"],
      ...directories,
    ]),
    agent("general", "subagent", true, false, "General-purpose agent for multi-step tasks.", [
      ["todowrite", "*", "deny"],
    ]),
    agent("plan", "primary", true, false, "Plan mode. Disallows all edit tools.", [
      ["question", "*", "allow"],
      ["plan_exit", "*", "allow"],
      ["task", "general", "deny"],
      ["external_directory", join(plans, "*"), "allow"],
      ["edit", "*", "deny"],
      ["edit", ".opencode/plans/*.md", "allow"],
      ["edit", join(relative("/", plans), "*.md"), "allow"],
    ]),
    agent("summary", "primary", true, true, "", nothing),
    agent("title", "primary", true, true, "", nothing),
    ...Object.entries(agents).map(([name, { mode = "all", hidden = false }]) =>
      agent(name, mode, false, hidden, "", []),
    ),
  ]
  const rank = (name: string) => (name === "build" ? "" : name)
  return found.sort((a, b) => (rank(a.name) < rank(b.name) ? -1 : 1))
}
