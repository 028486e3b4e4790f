/** What the stand-in reads from the disk: documents and agent files in the host's order, and skills. */
import { lstatSync, readdirSync, readFileSync } from "node:fs"
import { basename, dirname, join, relative, resolve } from "node:path"
import { type ParseError, parse as parseJsonc } from "jsonc-parser"
import { parse as parseYaml } from "yaml"
import { type Build, defaultRules, type HostAgent, nativeAgents } from "./native-agents.ts"
import { type AgentEntry, agentFileRules, type DocumentRules, documentRules } from "./rules.ts"
import type { Sandbox } from "./sandbox.ts"

export interface HostSkill {
  id: string
  name: string
  description?: string
  autoinvoke?: boolean
  path?: string
  location?: string
  content: string
}
export interface World {
  agents: HostAgent[]
  skills: HostSkill[]
}
type Place = Pick<Sandbox, "env" | "configDir" | "project">

export function readWorld(place: Place, build: Build): World {
  return { agents: readAgents(place, build), skills: readSkills(place, build) }
}

/** Changes whenever the host would notice a change. A symlink counts by its own times ("What decides" 9, 3 of 3 live). */
export function fingerprint(place: Place): string {
  const files = [...sources(place).flatMap((source) => ("path" in source ? [source.path] : [])), ...skillFiles(place)]
  return files.map((file) => `${file} ${ownTimes(file)}`).join("\n")
}

function ownTimes(path: string): string {
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  return stat ? `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}` : "absent"
}

type Source = { kind: "document" | "agent"; path: string; id?: string } | { kind: "content"; text: string }

/**
 * "Rules", order of documents, low to high, measured on a live V2 build (July 2026); `config.json` is not read.
 * Agent files stand right after the documents of their own directory (measured on the preview).
 * The managed layer is left out: its place is outside any sandbox.
 */
function sources({ env, configDir, project }: Place): Source[] {
  const documents = (directory: string): Source[] =>
    ["opencode.json", "opencode.jsonc"].map((name) => ({ kind: "document", path: join(directory, name) }))
  const parents = outermostFirst(project)
  return [
    ...documents(configDir),
    ...agentFiles(configDir),
    ...(env.OPENCODE_CONFIG ? [{ kind: "document" as const, path: resolve(env.OPENCODE_CONFIG) }] : []),
    ...parents.flatMap(documents),
    ...parents.map((parent) => join(parent, ".opencode")).flatMap((own) => [...documents(own), ...agentFiles(own)]),
    ...(env.OPENCODE_CONFIG_CONTENT ? [{ kind: "content" as const, text: env.OPENCODE_CONFIG_CONTENT }] : []),
  ]
}

/** `agent/` before `agents/` before `mode/`, `modes/`; the id is the path below (measured on the preview). */
function agentFiles(directory: string): Source[] {
  return ["agent", "agents", "mode", "modes"].flatMap((folder) =>
    markdownFiles(join(directory, folder)).map((path) => ({
      kind: "agent",
      path,
      id: relative(join(directory, folder), path).replace(/\.md$/, ""),
    })),
  )
}

function readAgents(place: Place, build: Build): HostAgent[] {
  const read = sources(place).map((source) => readSource(source, place, build))
  const agents = new Map(nativeAgents(place.env, place.project, build).map((agent) => [agent.id, agent]))
  // Every document's top-level rules come first, then per-agent rules ("Rules", measured live).
  const topLevel = read.flatMap((one) => one.rules)
  for (const agent of agents.values()) agent.permissions.push(...topLevel)
  for (const entry of read.flatMap((one) => one.agents)) {
    // Disabling deletes; a later mention starts over as a custom agent (measured on the preview).
    if (entry.disabled) agents.delete(entry.id)
    else agents.set(entry.id, withEntry(agents.get(entry.id) ?? customAgent(entry.id), entry))
  }
  return [...agents.values()]

  function customAgent(id: string): HostAgent {
    return { id, name: id, mode: "all", hidden: false, permissions: [...defaultRules(place.env), ...topLevel] }
  }
}

function withEntry(agent: HostAgent, entry: AgentEntry): HostAgent {
  const { mode = agent.mode, description = agent.description } = entry
  const permissions = [...agent.permissions, ...entry.rules]
  return { ...agent, mode, ...(description !== undefined && { description }), permissions }
}

function readSource(source: Source, { env, configDir }: Place, build: Build): DocumentRules {
  const text = source.kind === "content" ? source.text : readText(source.path)
  if (text === undefined) return { rules: [], agents: [] }
  if (source.kind === "agent") {
    const found = agentFileRules(source.id ?? "", splitFrontmatter(text).frontmatter)
    return { rules: [], agents: found ? [found] : [] }
  }
  // A malformed, empty or half-written file means its rules are gone ("What decides" 8, measured live).
  const errors: ParseError[] = []
  const directory = source.kind === "document" ? dirname(source.path) : configDir
  const document: unknown = parseJsonc(substitute(text, env, directory), errors, { allowTrailingComma: true })
  return errors.length > 0 ? { rules: [], agents: [] } : documentRules(document, build)
}

/** `{env:X}` is replaced in the text; a missing `{file:…}` breaks the location ("Both dialects", measured live). */
function substitute(text: string, env: Record<string, string>, directory: string): string {
  return text
    .replace(/^\uFEFF/, "")
    .replace(/\{env:([^}]+)\}/g, (_, name: string) => env[name] ?? "")
    .replace(/\{file:([^}]+)\}/g, (_, name: string) => {
      const value = readText(resolve(directory, name))
      if (value === undefined) throw new Error(`the host cannot open this location: {file:${name}} is missing`)
      return JSON.stringify(value.trim()).slice(1, -1)
    })
}

/** `skill/` and `skills/`, flat files at the root of either (measured on the preview). */
function skillFiles({ configDir, project }: Place): string[] {
  const directories = [configDir, ...outermostFirst(project).map((parent) => join(parent, ".opencode"))]
  const roots = directories.flatMap((directory) => [join(directory, "skill"), join(directory, "skills")])
  return roots.flatMap((root) =>
    markdownFiles(root).filter((path) => basename(path) === "SKILL.md" || dirname(path) === root),
  )
}

function readSkills(place: Place, build: Build): HostSkill[] {
  const key = build === "beta" ? "location" : "path" // "What decides" 4
  const skills = new Map<string, HostSkill>()
  const add = (skill: Omit<HostSkill, "path" | "location">, path: string) =>
    skills.set(skill.id, { ...skill, [key]: path })
  add(
    { id: "opencode", name: "OpenCode", description: "Questions about OpenCode.", content: "" },
    "/builtin/opencode.md",
  )
  add({ id: "report", name: "Report", description: "Report an issue.", content: "" }, "/builtin/report.md")
  for (const path of skillFiles(place)) {
    const { frontmatter, body, broken } = splitFrontmatter(readText(path) ?? "")
    const given = typeof frontmatter === "object" && frontmatter !== null ? { ...frontmatter } : {}
    const { name, description, metadata } = given as Record<string, unknown>
    const { autoinvoke = autoinvokeIn(metadata) } = given as Record<string, unknown>
    // A head that is no YAML, or of other types, is passed over without a word (2.0 sources).
    if (broken || [name, description].some((text) => text !== undefined && typeof text !== "string")) continue
    // The id comes from the path, never from the frontmatter name ("Rules", measured live).
    const id = basename(path) === "SKILL.md" ? basename(dirname(path)) : basename(path, ".md")
    const skill = {
      id,
      name: typeof name === "string" ? name : id,
      ...(typeof description === "string" && { description }),
      ...(typeof autoinvoke === "boolean" && { autoinvoke }),
      content: body,
    }
    add(skill, path)
  }
  return [...skills.values()]
}

/** `metadata` holds texts ("Rules": `opencode/autoinvoke` false keeps a skill off the list). */
const autoinvokeIn = (metadata: unknown): boolean | undefined => {
  const word = typeof metadata === "object" && metadata !== null ? Reflect.get(metadata, "opencode/autoinvoke") : null
  return word === "true" ? true : word === "false" ? false : undefined
}

function splitFrontmatter(text: string): { frontmatter: unknown; body: string; broken?: true } {
  const [, yaml, body] = /^---\r?\n([\s\S]*?)\r?\n---(?:\r?\n|$)([\s\S]*)$/.exec(text) ?? []
  if (yaml === undefined) return { frontmatter: undefined, body: text }
  try {
    return { frontmatter: parseYaml(yaml) ?? undefined, body: body ?? "" }
  } catch {
    return { frontmatter: undefined, body: body ?? "", broken: true } // the agent stays, without rules (measured on the preview)
  }
}

function markdownFiles(directory: string): string[] {
  try {
    const names = readdirSync(directory, { recursive: true, encoding: "utf8" })
    return names
      .filter((name) => name.endsWith(".md"))
      .sort()
      .map((name) => join(directory, name))
  } catch {
    return []
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return undefined
  }
}

function outermostFirst(directory: string): string[] {
  const parent = dirname(directory)
  return parent === directory ? [directory] : [...outermostFirst(parent), directory]
}
