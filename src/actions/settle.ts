import { readdir, unlink } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { parseJsonc } from "../core/config-text.ts"
import { findExactRules } from "../core/dialect/edit.ts"
import { replaceRecords } from "../core/sidecar.ts"
import { hashOf, isFileProblem, readConfigFile, replaceConfigFile, TEMPORARY } from "../files/config-file.ts"
import { appendJournal, type Intent, removeAbandoned, unfinishedChanges } from "../files/journal.ts"
import { SIDECAR_NAME } from "../files/locations.ts"
import type { Host } from "./ports.ts"
import { readSidecar, writeSidecar } from "./records.ts"

/**
 * Finishes or takes back what a crash left behind, under the lock: a change whose files all hold the new text gets its
 * record and its closing line; one that reached only some of them gives the others their old text back.
 */
export async function settle(host: Host): Promise<void> {
  await removeTemporaries(host)
  await removeAbandoned(host.stateDirectory)
  const unfinished = await unfinishedChanges(host.stateDirectory)
  for (const intent of unfinished.filter((change) => concerns(host, change))) {
    const kind = await settleFiles(intent)
    if (kind === null || (kind === "done" && !(await settleRecords(host, intent)))) continue
    await appendJournal(host.stateDirectory, { kind, change: intent.change, time: new Date().toISOString() })
  }
}

const concerns = (host: Host, intent: Intent): boolean => intent.configDirectory === host.configDirectory

/**
 * Whether the change stands; null where a file cannot be read or written, so that a later write has to tell. A file
 * that someone edited since is judged by whether our rules are still as we left them.
 */
async function settleFiles(intent: Intent): Promise<"done" | "undone" | null> {
  const found: { file: Intent["files"][number]; text: string | null; stands: boolean }[] = []
  for (const file of intent.files) {
    const now = await readConfigFile(file.path)
    if (isFileProblem(now)) return null
    const { text } = now
    const edited = text !== null && hashOf(text) !== file.before && isStillIn(text, intent, file.path)
    found.push({ file, text, stands: hashOf(text) === file.after || edited })
  }
  if (found.every(({ stands }) => stands)) return "done"
  for (const { file, text, stands } of found) {
    if (!stands || hashOf(text) !== file.after) continue
    const copy = intent.backup.find((path) => path.endsWith(`-${basename(file.path)}`))
    const old = copy === undefined ? null : await readConfigFile(copy)
    if (isFileProblem(old)) return null
    const before = old?.text ?? null
    if (hashOf(before) === file.before && (await replaceConfigFile(file.path, text, before))) return null
  }
  return "undone"
}

function isStillIn(text: string, { rules }: Intent, path: string): boolean {
  const root = parseJsonc(text)
  const own = rules.filter(({ file }) => file === path)
  return own.every(({ id, after }) => (findExactRules(root, id).at(-1)?.effect ?? null) === after)
}

/** False: the records are not written, and the change is not at its end. */
async function settleRecords(host: Host, intent: Intent): Promise<boolean> {
  const sidecar = await readSidecar(host)
  if (sidecar.error !== null) return false
  const records = replaceRecords(sidecar.records, intent.generation, intent.targets, intent.records)
  return (await writeSidecar(sidecar, records)) === null
}

/** Temporary files of writes that were killed; nobody else writes while the lock is held. */
async function removeTemporaries(host: Host): Promise<void> {
  const names = [...host.globalNames, SIDECAR_NAME]
  const directories = new Set([host.configDirectory])
  for (const name of names) {
    const file = await readConfigFile(join(host.configDirectory, name))
    if (!isFileProblem(file)) directories.add(dirname(file.realPath))
  }
  for (const directory of directories)
    for (const name of await readdir(directory).catch(() => []))
      if (TEMPORARY.test(name) && names.some((file) => name.startsWith(`.${file}.`)))
        await unlink(join(directory, name)).catch(() => {})
}
