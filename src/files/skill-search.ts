import { readdir, realpath, stat } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { upwards } from "./locations.ts"
import { readHead } from "./skill-files.ts"

/** A directory in which a host looks for skills. */
export interface SkillRoot {
  readonly directory: string
  /** Markdown files right in it are skills too. */
  readonly flat: boolean
  /** Directories whose name starts with a dot are searched as well. */
  readonly hidden: boolean
  /** Something keeps this host from searching it at all. */
  readonly off: boolean
}

export type SkillFault =
  | "wrong_file_name"
  | "bad_frontmatter"
  | "no_name"
  | "bad_name"
  | "bad_description"
  | "unreadable"
  | "hidden_directory"
  | "not_searched"

/** What a host makes of a file: the id that it would register, or why it passes over it. */
export interface Judgement {
  readonly id: string | null
  readonly fault: SkillFault | null
}

export interface Judge {
  /** Where the id stands: a file whose path says another one need not be opened. */
  readonly idIn: "path" | "head"
  judge(path: string, markdown: string): Promise<Judgement>
}

export interface SkillFile extends Judgement {
  readonly path: string
  readonly realPath: string
}

/** Per root; breadth first, so that what lies deepest is given up first. */
const MAX_DIRECTORIES = 1_000
const MAX_DEPTH = 12
const MAX_FILES = 1_000

/**
 * The files below these roots that a skill of this id may come from: those that claim it, those in a folder of that
 * name, and those beside a right one's place. Links are followed, each directory is read once, each file counts once.
 * `registered` holds the id of each file that the host knows; those are not opened. Never throws.
 */
export async function findSkillFiles(
  roots: readonly SkillRoot[],
  wanted: string,
  judge: Judge,
  registered: ReadonlyMap<string, string> = new Map(),
): Promise<SkillFile[]> {
  const found: SkillFile[] = []
  for (const root of roots) {
    const paths = (await markdownFiles(root.directory, wanted)).slice(0, MAX_FILES)
    const folders = new Set(paths.filter((path) => basename(path) === "SKILL.md").map(dirname))
    for (const path of paths) {
      const kind = kindOf(path, root, wanted, folders)
      const known = registered.get(path)
      const judged = known === undefined ? await judgeFile(path, root, wanted, kind, judge) : { id: known, fault: null }
      if (!judged || !(kind.called || (kind.isSkill && judged.id === wanted))) continue
      const realPath = await realpath(path).catch(() => path)
      if (!found.some((other) => other.realPath === realPath)) found.push({ path, realPath, ...judged })
    }
  }
  return found
}

interface Kind {
  /** In a place where skills are looked for. */
  readonly isSkill: boolean
  /** Its path speaks of the wanted skill. */
  readonly called: boolean
}

function kindOf(path: string, root: SkillRoot, wanted: string, folders: ReadonlySet<string>): Kind {
  const file = basename(path)
  const inRoot = dirname(path) === root.directory
  const isSkill = file === "SKILL.md" || (root.flat && inRoot)
  const inFolder = !inRoot && basename(dirname(path)) === wanted && /^skill\.md$/i.test(file)
  // What lies in a skill's folder, or below, belongs to that skill.
  const supports = () => upwards(dirname(path), root.directory).some((folder) => folders.has(folder))
  return { isSkill, called: inFolder || (file === `${wanted}.md` && (isSkill || !supports())) }
}

async function judgeFile(
  path: string,
  root: SkillRoot,
  wanted: string,
  { isSkill, called }: Kind,
  { idIn, judge }: Judge,
): Promise<Judgement | null> {
  if (!called && (!isSkill || idIn === "path")) return null
  if (!isSkill) return { id: null, fault: "wrong_file_name" }
  const text = await textOf(path)
  if (text === null) return { id: null, fault: "unreadable" }
  if (!called && !text.includes(wanted)) return null
  const { id, fault } = await judge(path, text)
  return { id, fault: faultOfPlace(path, root) ?? fault }
}

function faultOfPlace(path: string, root: SkillRoot): SkillFault | null {
  if (root.off) return "not_searched"
  const steps = dirname(path).slice(root.directory.length).split("/")
  return !root.hidden && steps.some((step) => step.startsWith(".")) ? "hidden_directory" : null
}

async function textOf(path: string): Promise<string | null> {
  const regular = await stat(path).then(
    (found) => found.isFile(),
    () => false,
  )
  return regular ? readHead(path).catch(() => null) : null
}

/** Where a directory holds too many, the one of the wanted name comes first. */
async function markdownFiles(root: string, wanted: string): Promise<string[]> {
  const rank = ({ name }: { readonly name: string }) => `${name === wanted ? 0 : 1}${name}`
  const files: string[] = []
  const realRoot = await realpath(root).catch(() => null)
  if (realRoot === null) return files
  const seen = new Set([realRoot])
  const queue = [{ path: root, real: realRoot, depth: 1 }]
  for (let at = queue.shift(); at; at = queue.shift()) {
    const entries = await readdir(at.path, { withFileTypes: true }).catch(() => [])
    for (const entry of entries.sort((a, b) => (rank(a) < rank(b) ? -1 : 1))) {
      const path = join(at.path, entry.name)
      if (/\.md$/i.test(entry.name)) files.push(path)
      if (at.depth >= MAX_DEPTH || seen.size >= MAX_DIRECTORIES) continue
      const real = await realDirectory(entry, path, at.real)
      if (real === null || seen.has(real)) continue
      seen.add(real)
      queue.push({ path, real, depth: at.depth + 1 })
    }
  }
  return files
}

/** Only links lead elsewhere than their path says. */
async function realDirectory(
  entry: { readonly name: string; isDirectory(): boolean; isSymbolicLink(): boolean },
  path: string,
  parent: string,
): Promise<string | null> {
  if (entry.isDirectory()) return join(parent, entry.name)
  if (!entry.isSymbolicLink()) return null
  const leads = await stat(path).catch(() => null)
  return leads?.isDirectory() ? realpath(path).catch(() => null) : null
}
