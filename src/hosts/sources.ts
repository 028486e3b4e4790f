import { readdir, readFile, stat } from "node:fs/promises"
import { dirname, join, relative } from "node:path"
import type { Layer } from "../core/rule.ts"
import type { SkillRoot } from "../files/skill-search.ts"

/** One place that a host reads configuration from, as text. Only its permission sections are ever looked at. */
export interface Source {
  readonly layer: Layer
  readonly file: string | null
  /** Base of relative `{file:…}` references. */
  readonly directory: string
  readonly text: string
  /** A config, a Markdown agent, or a bare `permission` value (`$OPENCODE_PERMISSION`). */
  readonly form: "config" | "permission" | MarkdownAgent
}

/** Low to high: the global files, and what lies above them. */
export interface Sources {
  readonly globals: readonly Source[]
  readonly higher: readonly Source[]
}

export interface MarkdownAgent {
  readonly agent: string
  /** OpenCode 1 takes the frontmatter's `name` before the file's; OpenCode 2 does not (both measured). */
  readonly nameWins: boolean
}

/** The roots that are there, each once. */
export async function existingRoots(roots: readonly SkillRoot[]): Promise<SkillRoot[]> {
  const once = roots.filter((root, index) => roots.findIndex((other) => other.directory === root.directory) === index)
  const there = await Promise.all(once.map(({ directory }) => isDirectory(directory)))
  return once.filter((_, index) => there[index])
}

/** A file as a source; none where it cannot be read, as the host reads past it too. */
export async function fileSource(layer: Layer, file: string, form: Source["form"] = "config"): Promise<Source[]> {
  try {
    const text = (await inTurn(() => readFile(file))).toString("utf8")
    return [{ layer, file, directory: dirname(file), text, form }]
  } catch {
    return []
  }
}

/** A process may hold few files open, and a file that cannot be opened for that would count as absent. */
const MOST_OPEN = 16
let open = 0
const waiting: (() => void)[] = []

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (open >= MOST_OPEN) await new Promise<void>((resolve) => waiting.push(resolve))
  else open++
  try {
    return await work()
  } finally {
    const next = waiting.shift()
    if (next) next()
    else open--
  }
}

/** The config files of a directory, in the order of their names. */
export const configSources = (layer: Layer, directory: string, names: readonly string[]): Promise<Source[]> =>
  together(names.map((name) => fileSource(layer, join(directory, name))))

/** Read at the same time, kept in this order. */
export const together = async (sources: readonly (Source[] | Promise<Source[]>)[]): Promise<Source[]> =>
  (await Promise.all(sources)).flat()

/** Folders of Markdown agents, and how deep each is read. A mode is an agent by an older name. */
const AGENT_DIRECTORIES = [
  { name: "agent", depth: 8 },
  { name: "agents", depth: 8 },
  { name: "mode", depth: 1 },
  { name: "modes", depth: 1 },
] as const

/** Markdown agents under a config directory, folder by folder, each sorted by path. */
export async function agentSources(layer: Layer, directory: string, nameWins: boolean): Promise<Source[]> {
  const names = await readdir(directory).catch(() => null)
  // One that may not be listed may still be entered.
  const isThere = (name: string) => names?.some((found) => found.toLowerCase() === name) ?? true
  return together(
    AGENT_DIRECTORIES.filter(({ name }) => isThere(name)).map(async ({ name, depth }) => {
      const found: Source[] = []
      const root = join(directory, name)
      for (const file of await markdownFiles(root, depth)) {
        const agent = relative(root, file).replaceAll("\\", "/").replace(/\.md$/, "")
        found.push(...(await fileSource(layer, file, { agent, nameWins })))
      }
      return found
    }),
  )
}

const MAX_MARKDOWN_FILES = 2_000

/** Follows links, as the hosts do; depth and number are bounded, so a loop of links ends. */
async function markdownFiles(root: string, depth: number): Promise<string[]> {
  const found: string[] = []
  const visit = async (directory: string, left: number): Promise<void> => {
    const names = await readdir(directory).catch(() => [])
    for (const name of names.sort()) {
      if (found.length >= MAX_MARKDOWN_FILES) return
      const path = join(directory, name)
      if (name.endsWith(".md")) found.push(path)
      else if (left > 1 && (await isDirectory(path))) await visit(path, left - 1)
    }
  }
  await visit(root, depth)
  return found
}

export const isDirectory = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
