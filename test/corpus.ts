/** Real configs, kept outside the repository: they are other people's. Suites that read them skip where they are absent. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"

const corpus = process.env.SKILL_MANAGEMENT_CORPUS ?? resolve(import.meta.dirname, "../../shared/corpus")

export const hasCorpus = existsSync(corpus)

export interface CorpusFile {
  readonly folder: string
  /** Its name in the corpus. */
  readonly label: string
  /** The global file that it was to its owner; `opencode.jsonc` where it was none. */
  readonly name: string
  readonly bytes: Buffer
  readonly text: string
}

const GLOBAL_NAMES = ["config.json", "opencode.json", "opencode.jsonc"]
const INDEX = "index.tsv"

/** The configs and their byte-level variants. */
export function corpusFiles(): CorpusFile[] {
  return ["configs", "derived"].flatMap((folder) => {
    const at = join(corpus, folder)
    const rows = readFileSync(join(at, INDEX), "utf8").split("\n")
    const sources = new Map(rows.map((row) => row.split("\t")).map(([label, , , source]) => [label, source ?? ""]))
    const labels = readdirSync(at).filter((label) => label !== INDEX)
    return labels.sort().map((label) => {
      const name = basename(sources.get(label) ?? "")
      const bytes = readFileSync(join(at, label))
      const global = GLOBAL_NAMES.includes(name) ? name : "opencode.jsonc"
      return { folder, label, name: global, bytes, text: bytes.toString("utf8") }
    })
  })
}

/** Makes the files that a config includes: without them no host reads it. */
export function writeReferences(text: string, { home, configDir }: { home: string; configDir: string }): void {
  for (const [, name = ""] of text.matchAll(/\{file:([^}]+)\}/g)) {
    const path = name.startsWith("~/") ? join(home, name.slice(2)) : resolve(configDir, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, "Included.\n")
  }
}

/** How a text's lines end, and whether it starts with a byte order mark. */
export function lineEndsOf(text: string): string {
  const found = [...new Set(text.match(/\r\n|\n|\r/g))]
  const one = found[0]?.replace("\r", "CR").replace("\n", "LF") ?? "one line"
  return `${found.length > 1 ? "mixed" : one}${text.startsWith("\ufeff") ? ", BOM" : ""}`
}
