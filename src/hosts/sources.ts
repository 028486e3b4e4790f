import { readFileSync } from "node:fs"
import { readdir, readFile, stat } from "node:fs/promises"
import { homedir } from "node:os"
import { dirname, isAbsolute, join, relative, resolve } from "node:path"
import { type ConfigText, member, readConfigText, type Substitute } from "../core/config-text.ts"
import type { SectionProblem } from "../core/dialect/permission-map.ts"
import { type LayerDocument, readAgent, readDocument } from "../core/document.ts"
import type { Layer } from "../core/rule.ts"
import { readFrontmatter } from "../files/frontmatter.ts"
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

interface MarkdownAgent {
  readonly agent: string
  /** OpenCode 1 takes the frontmatter's `name` before the file's; OpenCode 2 does not (both measured). */
  readonly nameWins: boolean
}

/** What the host replaces in a config's text. Read anew for each text; results never leave the parsed document. */
export const substituteIn =
  (directory: string): Substitute =>
  (kind, name) => {
    if (kind === "env") return process.env[name] || undefined
    const path = name.startsWith("~/") ? join(homedir(), name.slice(2)) : name
    try {
      return readFileSync(isAbsolute(path) ? path : resolve(directory, path), "utf8")
    } catch {
      return undefined
    }
  }

export const configTextOf = (source: Pick<Source, "text" | "directory">): ConfigText =>
  readConfigText(source.text, substituteIn(source.directory))

/** Reduces a source to what it says about permissions. */
export function documentOf(source: Source): LayerDocument {
  if (source.form === "config") return readDocument(configTextOf(source), source.layer, source.file)
  if (source.form === "permission") return bareDocument(source)
  return markdownDocument(source, source.form)
}

/** `$OPENCODE_PERMISSION`: strict JSON, an object, no references; anything else counts for nothing (1.18.34). */
function bareDocument(source: Source): LayerDocument {
  const text = readConfigText(isJsonObject(source.text) ? `{"permission":${source.text}}` : "{}", null)
  return readDocument({ ...text, position: () => ({ line: 1, column: 1 }) }, source.layer, source.file)
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

function markdownDocument(source: Source, form: MarkdownAgent): LayerDocument {
  const empty = { permission: null, tools: null, permissions: null, malformed: [] }
  const document = {
    layer: source.layer,
    file: source.file,
    keys: new Set<string>(),
    ...empty,
    agents: [],
    problems: [],
  }
  const frontmatter = readFrontmatter(source.text)
  if (!frontmatter.node) return document
  const named = member(frontmatter.node, "name")?.value
  const name = form.nameWins && typeof named === "string" ? named : form.agent
  const problems: SectionProblem[] = []
  const locate = ({ offset }: { offset: number }) => ({
    origin: { layer: source.layer, file: source.file, ...frontmatter.position(offset), agent: name },
  })
  return { ...document, agents: [readAgent(frontmatter.node, "agent", name, locate, problems, true)], problems }
}

/**
 * The directories that a config names for skills (`skills` on OpenCode 2, `skills.paths` on OpenCode 1), null where it
 * names none. What a reference put there stays unknown: it may be a secret.
 */
export function skillPathsIn(source: Source, { home, directory }: { home: string; directory: string }) {
  if (source.form !== "config") return null
  const text = configTextOf(source)
  const skills = member(text.tree, "skills")
  const list = skills?.type === "array" ? skills : member(skills, "paths")
  if (list?.type !== "array") return null
  return (list.children ?? []).flatMap((node) => {
    const path: unknown = node.value
    if (typeof path !== "string" || text.isReplaced(node) || /^https?:/.test(path)) return []
    const expanded = path.startsWith("~/") ? join(home, path.slice(2)) : path
    return [isAbsolute(expanded) ? expanded : join(directory, expanded)]
  })
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
