/** Public bug reports as runnable cases: other people's data, read where it lies, never part of this repository. */
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, join, relative, resolve } from "node:path"

const corpus = process.env.SKILL_MANAGEMENT_CORPUS ?? resolve(import.meta.dirname, "../../../shared/corpus")
const bugs = join(corpus, "bugs")

export const bugsAvailable = existsSync(bugs)

/** A call in the neutral words of the cases. */
export interface NeutralCall {
  readonly action?: "set_permission" | "remove_permission" | "check" | "list"
  readonly skill?: string
  readonly pattern?: string
  readonly patterns?: readonly string[]
  readonly effect?: "allow" | "ask" | "deny"
  readonly agent?: string
  /** Stands in the place of the global config for this call. */
  readonly repeat_with?: string
  /** Where the host works; `project` unless given. */
  readonly cwd?: string
  /** How often in all. */
  readonly loop?: number
  /** Not a call, but the start of the host with the plugin. */
  readonly plugin_load?: true
}

/** What lies in the folder of the cases, with the kind that their index names. */
export function caseKinds(): Record<string, string> {
  const kinds = readFileSync(join(bugs, "index.tsv"), "utf8")
    .split("\n")
    .map((line) => line.split("\t"))
  const folders = readdirSync(bugs, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  return Object.fromEntries(folders.map(({ name }) => [name, kinds.find(([id]) => id === name)?.[2] ?? "?"]))
}

export const readCalls = (id: string): NeutralCall[] => JSON.parse(readFileSync(join(bugs, id, "calls.json"), "utf8"))

/** The files of a case's global config directory, by their path in it. */
export function configTexts(id: string): Record<string, string> {
  const directory = join(bugs, id, "home/.config/opencode")
  const files = readdirSync(directory, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile())
  const paths = files.map((entry) => join(entry.parentPath, entry.name))
  return Object.fromEntries(paths.map((path) => [relative(directory, path), readFileSync(path, "utf8")]))
}

/** What says how to run a case, and is no part of its home. */
const ABOUT = ["calls.json", "expect.txt", "setup.sh"]

/** Lays a case out below `root`, as files that the user may write. */
export function layOut(id: string, root: string): void {
  const from = join(bugs, id)
  for (const entry of readdirSync(from, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name)
    if (!entry.isFile() || ABOUT.includes(relative(from, path))) continue
    const to = join(root, relative(from, path))
    mkdirSync(dirname(to), { recursive: true })
    writeFileSync(to, readFileSync(path))
  }
  for (const name of ["home", "project"]) mkdirSync(join(root, name), { recursive: true })
  const setup = join(from, "setup.sh")
  if (existsSync(setup)) execFileSync("sh", [setup], { cwd: root })
}

/** Puts the file that `repeat_with` names in the place of the global config. */
export function replaceConfig(root: string, configDir: string, named: string): void {
  const [path = ""] = named.split(" ")
  for (const name of ["config.json", "opencode.json", "opencode.jsonc"]) rmSync(join(configDir, name), { force: true })
  writeFileSync(join(configDir, basename(path)), readFileSync(join(root, path)))
}
