// A home of its own for one host: nothing in it points at the real user's files or at the network.
import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join, sep } from "node:path"
import { stringify } from "yaml"

export interface SkillFiles {
  /** `null` leaves the description out. */
  description?: string | null
  body?: string
  /** Merged over `name` and `description`. */
  frontmatter?: Record<string, unknown>
  /** The folder below `skills/`; the skill's name unless given. */
  dir?: string
}

export interface Sandbox extends AsyncDisposable {
  readonly root: string
  readonly home: string
  /** `$XDG_CONFIG_HOME/opencode` */
  readonly configDir: string
  readonly project: string
  /** `$XDG_STATE_HOME/opencode` */
  readonly stateDir: string
  /** The whole environment of a host. */
  readonly env: Readonly<Record<string, string>>
  /** Writes a file (any relative path) of the global config folder; returns its path. */
  config(name: string, text: string | Uint8Array): Promise<string>
  readConfig(name: string): Promise<string>
  /** Writes `skills/<dir>/SKILL.md` of the global config folder; returns its path. */
  skill(name: string, files?: SkillFiles): Promise<string>
  /** Writes `agents/<name>.md` of the global config folder; returns its path. */
  agent(name: string, markdown: string): Promise<string>
  /** Writes a file below the sandbox's root; a `.opencode` folder on the way becomes an offline config folder. */
  file(path: string, text: string): Promise<string>
  /** The same below the project folder. */
  projectFile(path: string, text: string): Promise<string>
  /** Makes a folder below the sandbox's root the least that git takes for a repository. */
  repository(path: string): Promise<void>
  /** All that the hosts of this sandbox logged so far. */
  readLog(): Promise<string>
  remove(): Promise<void>
}

export async function createSandbox(): Promise<Sandbox> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "opencode-1-")))
  const at = (name: string) => join(root, name)
  const home = at("home")
  const project = at("project")
  const configDir = join(at("config"), "opencode")
  const stateDir = join(at("state"), "opencode")
  for (const dir of [home, project, configDir, stateDir, at("tmp"), at("data"), at("cache")]) {
    await mkdir(dir, { recursive: true })
  }
  await offlineConfigDir(configDir)
  // Without an executable here the `skill` tool downloads ripgrep (measured on 1.18.34). It lists a skill's other files.
  const rg = await write(join(at("cache"), "opencode", "bin", "rg"), "#!/bin/sh\nexit 1\n")
  await chmod(rg, 0o755)

  const env = {
    PATH: process.env.PATH ?? "/usr/bin:/bin",
    HOME: home,
    TMPDIR: at("tmp"),
    XDG_CONFIG_HOME: at("config"),
    XDG_DATA_HOME: at("data"),
    XDG_STATE_HOME: at("state"),
    XDG_CACHE_HOME: at("cache"),
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    OPENCODE_DISABLE_EXTERNAL_SKILLS: "1",
    npm_config_offline: "true",
    npm_config_fetch_retries: "0",
  }
  const config = (name: string, text: string | Uint8Array) => write(join(configDir, name), text)
  async function file(path: string, text: string): Promise<string> {
    const steps = path.split(sep)
    const index = steps.indexOf(".opencode")
    if (index >= 0) await offlineConfigDir(join(root, ...steps.slice(0, index + 1)))
    return write(join(root, path), text)
  }
  const remove = () => rm(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })

  return {
    root,
    home,
    configDir,
    project,
    stateDir,
    env,
    config,
    readConfig: (name) => readFile(join(configDir, name), "utf8"),
    skill(name, { description = `About ${name}.`, body = `Body of ${name}.`, frontmatter = {}, dir = name } = {}) {
      const head = { name, ...(description === null ? {} : { description }), ...frontmatter }
      return config(join("skills", dir, "SKILL.md"), `---\n${stringify(head)}---\n${body}\n`)
    },
    agent: (name, markdown) => config(join("agents", `${name}.md`), markdown),
    file,
    projectFile: (path, text) => file(join("project", path), text),
    async repository(path) {
      const git = join(root, path, ".git")
      for (const name of ["objects", "refs"]) await mkdir(join(git, name), { recursive: true })
      await write(join(git, "HEAD"), "ref: refs/heads/main\n")
    },
    async readLog() {
      const dir = join(at("data"), "opencode", "log")
      const files = (await readdir(dir)).sort()
      return (await Promise.all(files.map((name) => readFile(join(dir, name), "utf8")))).join("")
    },
    remove,
    [Symbol.asyncDispose]: remove,
  }
}

/** Makes a config folder look installed: otherwise an offline start waits a minute for npm (measured on 1.18.34). */
export async function offlineConfigDir(dir: string): Promise<void> {
  await mkdir(join(dir, "node_modules"), { recursive: true })
  const lock = { packages: { "": { dependencies: { "@opencode-ai/plugin": "*" } } } }
  await write(join(dir, "package-lock.json"), JSON.stringify(lock))
}

async function write(path: string, text: string | Uint8Array): Promise<string> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
  return path
}
