import { mkdir, open, readdir, readFile, rename, stat, unlink } from "node:fs/promises"
import { dirname, join } from "node:path"
import type { Dialect } from "../core/dialect/section.ts"
import type { Inverse } from "../core/inverse.ts"
import type { Generation } from "../core/rule.ts"
import type { SidecarRecord } from "../core/sidecar.ts"
import type { RuleChange } from "../core/take-back.ts"
import { codeOf, syncDirectory, TEMPORARY, temporaryBeside, writeWhole } from "./config-file.ts"

const MAX_LINES = 1_000
/** What is left when the journal is full: it is not written anew for each line. */
const LINES_KEPT = 800
const BACKUPS_KEPT = 20
/** Nobody writes one file for this long, in milliseconds. */
const ABANDONED_MS = 10_000

/** Takes one edit of a file back, by its text. */
export interface FileInverse extends Inverse {
  readonly file: string
  readonly section: Dialect
}

/** Takes one rule of a file back, where its text has changed around it. */
export interface FileRule extends RuleChange {
  readonly file: string
}

/** Written and synced before the config is touched. */
export interface Intent {
  readonly kind: "intent"
  readonly change: string
  readonly time: string
  readonly session: string | null
  readonly caller: string | null
  readonly generation: Generation
  readonly configDirectory: string
  readonly action: string
  /** The change that this one takes back. */
  readonly undoes?: string
  readonly targets: readonly string[]
  readonly note?: string
  readonly files: readonly { readonly path: string; readonly before: string | null; readonly after: string | null }[]
  /** In the order in which the edits were made. */
  readonly inverse: readonly FileInverse[]
  readonly rules: readonly FileRule[]
  readonly backup: readonly string[]
  /** The sidecar's records for the targets, before and afterwards. */
  readonly former: readonly SidecarRecord[]
  readonly records: readonly SidecarRecord[]
}

/** Closes an intent: `done`, or `undone` when nothing of it stands any more. */
export interface Closing {
  readonly kind: "done" | "undone"
  readonly change: string
  readonly time: string
}

export type JournalLine = Intent | Closing

const journalPath = (state: string): string => join(state, "journal.jsonl")

/** Appends one line and syncs it. A torn last line of a crash is ended first, so that it costs no later line. */
export async function appendJournal(state: string, line: JournalLine): Promise<void> {
  await mkdir(state, { recursive: true, mode: 0o700 })
  const text = await readJournalText(state)
  const lines = text.split("\n").filter((existing) => existing !== "")
  if (lines.length >= MAX_LINES) {
    const kept = [...lines.slice(-(LINES_KEPT - 1)), JSON.stringify(line)]
    return putWhole(journalPath(state), `${kept.join("\n")}\n`)
  }
  const handle = await open(journalPath(state), "a", 0o600)
  try {
    const start = text === "" || text.endsWith("\n") ? "" : "\n"
    await handle.appendFile(`${start}${JSON.stringify(line)}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** A change as the journal tells it; unfinished while its closing line is missing. */
export interface Change {
  readonly intent: Intent
  readonly state: Closing["kind"] | "unfinished"
}

/** All changes that the journal still holds, oldest first. */
export async function readChanges(state: string): Promise<readonly Change[]> {
  const lines = (await readJournalText(state)).split("\n").flatMap(decodeLine)
  const closed = new Map(lines.flatMap((line) => (line.kind === "intent" ? [] : [[line.change, line.kind] as const])))
  return lines.flatMap((line) =>
    line.kind === "intent" ? [{ intent: line, state: closed.get(line.change) ?? ("unfinished" as const) }] : [],
  )
}

/** Changes that a crash may have left half done. */
export const unfinishedChanges = async (state: string): Promise<readonly Intent[]> =>
  (await readChanges(state)).filter((change) => change.state === "unfinished").map(({ intent }) => intent)

async function readJournalText(state: string): Promise<string> {
  try {
    return await readFile(journalPath(state), "utf8")
  } catch (error) {
    if (codeOf(error) === "ENOENT") return ""
    throw error
  }
}

const LISTS = ["targets", "files", "inverse", "rules", "backup", "former", "records"] as const

/** A line that is not ours, or torn, says nothing. */
function decodeLine(text: string): JournalLine[] {
  try {
    const line: unknown = JSON.parse(text)
    if (typeof line !== "object" || line === null || !("kind" in line) || !("change" in line)) return []
    if (line.kind === "done" || line.kind === "undone") return [line as Closing]
    return line.kind === "intent" && LISTS.every((key) => Array.isArray(Reflect.get(line, key))) ? [line as Intent] : []
  } catch {
    return []
  }
}

/** Keeps a copy of a file before it is changed. Returns the copy's path. */
export async function backUp(state: string, change: string, name: string, text: string): Promise<string> {
  const directory = join(state, "backups")
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const path = join(directory, `${change}-${name}`)
  await putWhole(path, text).catch(async (error) => {
    await removeBackup(path)
    throw error
  })
  const copies = await readdir(directory).catch(() => [])
  await Promise.all(
    copies
      .sort()
      .slice(0, -BACKUPS_KEPT)
      .map((copy) => removeBackup(join(directory, copy))),
  )
  return path
}

/** Removes what killed writes left here; the young are left alone, as other configs have their journal here too. */
export async function removeAbandoned(state: string): Promise<void> {
  for (const directory of [state, join(state, "backups")])
    for (const name of (await readdir(directory).catch(() => [])).filter((found) => TEMPORARY.test(found))) {
      const path = join(directory, name)
      const found = await stat(path).catch(() => null)
      if (found && found.mtimeMs < Date.now() - ABANDONED_MS) await unlink(path).catch(() => {})
    }
}

/** For copies that nothing refers to. */
export const removeBackup = (path: string): Promise<void> => unlink(path).catch(() => {})

/** A private file with this text in the path's place, whole or not at all. */
async function putWhole(path: string, text: string): Promise<void> {
  const temporary = temporaryBeside(path)
  try {
    await writeWhole(temporary, text, { mode: 0o600, owner: null })
    await rename(temporary, path)
  } finally {
    await unlink(temporary).catch(() => {})
  }
  await syncDirectory(dirname(path))
}
