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

/** A config file as a source; none where it cannot be read, as the host reads past it too. */
export async function fileSource(layer: Layer, file: string): Promise<Source[]> {
  try {
    const text = (await readFile(file)).toString("utf8")
    return [{ layer, file, directory: dirname(file), text, form: "config" }]
  } catch {
    return []
  }
}

/** Folders of Markdown agents, and how deep each is read. A mode is an agent by an older name. */
const AGENT_DIRECTORIES = [
  { name: "agent", depth: 8 },
  { name: "agents", depth: 8 },
  { name: "mode", depth: 1 },
  { name: "modes", depth: 1 },
] as const

/** Markdown agents under a config directory, folder by folder, each sorted by path. */
export async function agentSources(layer: Layer, directory: string, nameWins: boolean): Promise<Source[]> {
  const found: Source[] = []
  for (const { name, depth } of AGENT_DIRECTORIES) {
    const root = join(directory, name)
    for (const file of await markdownFiles(root, depth)) {
      const agent = relative(root, file).replaceAll("\\", "/").replace(/\.md$/, "")
      for (const source of await fileSource(layer, file)) found.push({ ...source, form: { agent, nameWins } })
    }
  }
  return found
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
