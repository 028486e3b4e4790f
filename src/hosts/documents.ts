import { readFileSync } from "node:fs"
import { homedir } from "node:os"
import { isAbsolute, join, resolve } from "node:path"
import { type ConfigText, member, readConfigText } from "../core/config-text.ts"
import type { SectionProblem } from "../core/dialect/permission-map.ts"
import { type LayerDocument, readAgent, readDocument } from "../core/document.ts"
import { hasReference, type Substitute } from "../core/references.ts"
import { Remembered } from "../core/remembered.ts"
import { readFrontmatter } from "../files/frontmatter.ts"
import type { MarkdownAgent, Source } from "./sources.ts"

/** What the host replaces in a config's text. Read anew for each text; results never leave the parsed document. */
const substituteIn =
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

/** A global file's text as the host would read it. */
export const textIn = (directory: string, text: string): ConfigText => readConfigText(text, substituteIn(directory))

const lastMet = new Remembered<string, Source>()

/**
 * A text that did not change is the same source, so that what it says is worked out once. One with references says
 * what the environment and other files make of it, and is worked out each time that it was read.
 */
export function sameAgain(source: Source): Source {
  if (hasReference(source.text)) return source
  const place = JSON.stringify([source.layer, source.file, source.form])
  const known = lastMet.get(place)
  return known?.text === source.text ? known : lastMet.set(place, source)
}

/** A tree is far larger than its text, and goes when memory is short. */
const texts = new WeakMap<Source, WeakRef<ConfigText>>()

export function configTextOf(given: Source): ConfigText {
  const source = sameAgain(given)
  const known = texts.get(source)?.deref()
  if (known) return known
  const text = textIn(source.directory, source.text)
  if (!hasReference(source.text)) texts.set(source, new WeakRef(text))
  return text
}

/** Reduces each source to what it says about permissions. */
export const documentsOf = (sources: readonly Source[]): Promise<LayerDocument[]> =>
  Promise.all(sources.map(documentOf))

const documents = new WeakMap<Source, LayerDocument>()

async function documentOf(given: Source): Promise<LayerDocument> {
  const source = sameAgain(given)
  if (source.form === "config") return configDocument(source)
  const document = documents.get(source) ?? (await otherDocument(source, source.form))
  documents.set(source, document)
  return document
}

export function configDocument(given: Source): LayerDocument {
  const source = sameAgain(given)
  const document = documents.get(source) ?? readDocument(configTextOf(source), source.layer, source.file)
  documents.set(source, document)
  return document
}

const otherDocument = async (source: Source, form: "permission" | MarkdownAgent): Promise<LayerDocument> =>
  form === "permission" ? bareDocument(source) : markdownDocument(source, form)

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

async function markdownDocument(source: Source, form: MarkdownAgent): Promise<LayerDocument> {
  const empty = { permission: null, tools: null, permissions: null, malformed: [] }
  const document = {
    layer: source.layer,
    file: source.file,
    keys: new Set<string>(),
    ...empty,
    agents: [],
    problems: [],
  }
  const frontmatter = await readFrontmatter(source.text)
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
