import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"

export interface Sandbox {
  root: string
  /** The server's whole environment, but for PATH. */
  env: Record<string, string>
  configDir: string
  project: string
  /** Writes a file named relative to `root`, e.g. `config/opencode/opencode.json` or `project/opencode.json`. */
  write(name: string, text: string): string
  remove(): void
}

/** One throw-away home: `home`, `config`, `data`, `state`, `cache`, `tmp` and `project` under one directory. */
export function makeSandbox(options: { root?: string; project?: string; env?: Record<string, string> } = {}): Sandbox {
  const root = options.root ?? realpathSync(mkdtempSync(join(tmpdir(), "opencode-2-")))
  const project = options.project ?? join(root, "project")
  const directories = {
    HOME: join(root, "home"),
    TMPDIR: join(root, "tmp"),
    XDG_CONFIG_HOME: join(root, "config"),
    XDG_DATA_HOME: join(root, "data"),
    XDG_STATE_HOME: join(root, "state"),
    XDG_CACHE_HOME: join(root, "cache"),
  }
  const env: Record<string, string> = { ...directories, ...options.env }
  // $OPENCODE_CONFIG_DIR replaces the global directory; empty counts as unset; relative to the server's working
  // directory; `~` is not expanded. ("Where the global config is": measured on a live V2 build, July 2026.)
  const configDir = env.OPENCODE_CONFIG_DIR
    ? resolve(env.OPENCODE_CONFIG_DIR)
    : join(env.XDG_CONFIG_HOME || join(env.HOME ?? "", ".config"), "opencode")
  for (const path of [...Object.values(directories), configDir, project]) mkdirSync(path, { recursive: true })
  return {
    root,
    env,
    configDir,
    project,
    write(name, text) {
      const path = join(root, name)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
      return path
    },
    remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 5 }),
  }
}
