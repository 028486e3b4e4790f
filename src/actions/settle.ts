import { readdir, readFile, unlink } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { replaceRecords } from "../core/sidecar.ts"
import { hashOf, isFileProblem, readConfigFile, replaceConfigFile, TEMPORARY } from "../files/config-file.ts"
import { appendJournal, type Intent, unfinishedChanges } from "../files/journal.ts"
import { SIDECAR_NAME } from "../files/locations.ts"
import type { Host } from "./ports.ts"
import { readSidecar, writeSidecar } from "./records.ts"

/**
 * Finishes or takes back what a crash left behind, under the lock: a change whose files all hold the new text gets its
 * record and its closing line; one that reached only some of them gives the others their old text back.
 */
export async function settle(host: Host): Promise<void> {
  const unfinished = await unfinishedChanges(host.stateDirectory)
  for (const intent of unfinished.filter((change) => concerns(host, change))) {
    const finished = await settleFiles(intent)
    if (finished) await settleRecords(host, intent)
    const kind = finished ? "done" : "undone"
    await appendJournal(host.stateDirectory, { kind, change: intent.change, time: new Date().toISOString() })
  }
  await removeTemporaries(host)
}

const concerns = (host: Host, intent: Intent): boolean => intent.configDirectory === host.configDirectory

/** True when the change stands. A file that someone edited since is judged by whether our text is still in it. */
async function settleFiles(intent: Intent): Promise<boolean> {
  const found = await Promise.all(
    intent.files.map(async (file) => {
      const now = await readConfigFile(file.path)
      const text = isFileProblem(now) ? null : now.text
      const inserted = intent.inverse.findLast((inverse) => inverse.file === file.path)?.inserted ?? ""
      const edited = text !== null && inserted !== "" && text.includes(inserted)
      return { file, text, stands: hashOf(text) === file.after || (hashOf(text) !== file.before && edited) }
    }),
  )
  if (found.every(({ stands }) => stands)) return true
  for (const { file, text, stands } of found) {
    if (!stands || hashOf(text) !== file.after) continue
    const copy = intent.backup.find((path) => path.endsWith(`-${basename(file.path)}`))
    const old = copy === undefined ? null : await readFile(copy, "utf8")
    if (hashOf(old) === file.before) await replaceConfigFile(file.path, text, old)
  }
  return false
}

async function settleRecords(host: Host, intent: Intent): Promise<void> {
  const sidecar = await readSidecar(host)
  if (sidecar.error !== null) return
  await writeSidecar(sidecar, replaceRecords(sidecar.records, intent.generation, intent.targets, intent.records))
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
