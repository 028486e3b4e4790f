import { randomBytes } from "node:crypto"
import { join } from "node:path"
import type { FileChange } from "../core/candidates.ts"
import { inverseOf } from "../core/inverse.ts"
import type { SidecarRecord } from "../core/sidecar.ts"
import { rulesChanged, textWithout } from "../core/take-back.ts"
import { codeOf, hashOf, isFileProblem, readConfigFile, replaceConfigFile } from "../files/config-file.ts"
import { appendJournal, backUp, type Intent, removeBackup, unfinishedChanges } from "../files/journal.ts"
import type { Notice } from "../tool/answer-schema.ts"
import { notice } from "../tool/notices.ts"
import { fileProblem, type Problem } from "../tool/problems.ts"
import type { Host } from "./ports.ts"
import { writeSidecar } from "./records.ts"
import type { Rehearsal } from "./rehearse.ts"

/** A change that stands in the files. */
export interface Committed {
  readonly change: string
  readonly backup: string | null
  readonly sidecarWritten: boolean
  readonly notices: readonly Notice[]
}

/**
 * Writes what was rehearsed, under the lock: backup, intent line, config, a second look at the result (`verify`),
 * sidecar, closing line. A problem leaves every file as it was.
 */
export async function commit(
  rehearsal: Rehearsal,
  verify: () => Promise<Problem | null>,
): Promise<Committed | Problem> {
  const { sidecar, draft } = rehearsal
  const { host } = rehearsal.scene
  const state = host.stateDirectory
  const change = `${new Date().toISOString().replace(/[-:.]/g, "")}-${randomBytes(4).toString("hex")}`
  const records = noted(rehearsal)
  const backups: string[] = []
  try {
    for (const { file, before } of draft.changes)
      if (before !== null) backups.push(await backUp(state, change, file.name, before))
    await appendJournal(state, intentOf(rehearsal, change, backups, records))
  } catch (error) {
    await forget(host, change, backups)
    return fileProblem({ kind: "write_failed", file: state, reason: codeOf(error) })
  }
  const problem = (await writeAll(rehearsal)) ?? (await verifyOrTakeBack(rehearsal, verify))
  if (problem) {
    // What still stands of it is settled by the next write.
    if (!problem.data?.left) await closeChange(host, "undone", change).catch(() => {})
    return problem
  }
  const notices: Notice[] = []
  const recordError = await writeSidecar(sidecar, records)
  if (recordError && draft.changes.length === 0) {
    await closeChange(host, "undone", change).catch(() => {})
    return fileProblem({ kind: "write_failed", file: sidecar.path, reason: recordError })
  }
  if (recordError) notices.push(notice("sidecar_not_written", { reason: recordError }))
  const closed = await closeChange(host, "done", change).then(
    () => true,
    () => false,
  )
  if (!closed) notices.push(notice("unfinished_change", { changes: [change] }))
  return { change, backup: backups[0] ?? null, sidecarWritten: recordError === null, notices }
}

/** The ids that were really changed; the records of all others stay as they are. */
export const changedIds = ({ draft }: Rehearsal): string[] =>
  draft.targets.flatMap(({ wish, reason }) => (reason === null ? [] : [wish.id]))

/** The records afterwards, with the call's note on those that are written now. */
function noted(rehearsal: Rehearsal): readonly SidecarRecord[] {
  const { draft, request } = rehearsal
  const { note } = request
  if (note === undefined) return draft.records
  const before = new Set(rehearsal.sidecar.records)
  return draft.records.map((record) => (before.has(record) ? record : { ...record, note }))
}

/** A change that was not begun leaves nothing: a line that was written but not synced may stand nevertheless. */
async function forget(host: Host, change: string, backups: readonly string[]): Promise<void> {
  await Promise.all(backups.map(removeBackup))
  const open = await unfinishedChanges(host.stateDirectory).catch(() => [])
  if (open.some((intent) => intent.change === change)) await closeChange(host, "undone", change).catch(() => {})
}

/** Ends a change in the journal; the last such line counts. */
export const closeChange = (host: Host, kind: "done" | "undone", change: string): Promise<void> =>
  appendJournal(host.stateDirectory, { kind, change, time: new Date().toISOString() })

/** All files or none: when one cannot be written, those before it get their old text back. */
async function writeAll(rehearsal: Rehearsal): Promise<Problem | null> {
  const { changes } = rehearsal.draft
  for (const [index, { file, before, after }] of changes.entries()) {
    const problem = await replaceConfigFile(file.path, before, after)
    if (problem) return withLeft(fileProblem(problem), await takeBack(rehearsal, changes.slice(0, index)))
  }
  return null
}

async function verifyOrTakeBack(rehearsal: Rehearsal, verify: () => Promise<Problem | null>): Promise<Problem | null> {
  const problem = await verify()
  return problem && withLeft(problem, await takeBack(rehearsal))
}

/**
 * Takes a change back: the old text where nobody wrote meanwhile, else our rules alone. Returns the files where that
 * failed.
 */
export async function takeBack(
  rehearsal: Rehearsal,
  changes: readonly FileChange[] = rehearsal.draft.changes,
): Promise<string[]> {
  const left: string[] = []
  for (const change of changes) {
    const { path } = change.file
    const rules = rulesChanged(change, changedIds(rehearsal), rehearsal.draft.records)
    const found = await readConfigFile(path)
    const old = isFileProblem(found) ? undefined : textWithout(found.text, change, rules)
    if (isFileProblem(found) || old === undefined || (await replaceConfigFile(path, found.text, old))) left.push(path)
  }
  return left
}

const withLeft = (problem: Problem, left: readonly string[]): Problem =>
  left.length === 0
    ? problem
    : {
        ...problem,
        hint: `our edit still stands in ${left.join(", ")}: the old text is in the backups; ${problem.hint ?? ""}`,
        data: { ...problem.data, left },
      }

function intentOf(
  rehearsal: Rehearsal,
  change: string,
  backup: readonly string[],
  records: readonly SidecarRecord[],
): Intent {
  const { draft, request, sidecar, undoes } = rehearsal
  const { host } = rehearsal.scene
  const targets = changedIds(rehearsal)
  const own = (record: SidecarRecord): boolean => record.generation === host.generation && targets.includes(record.id)
  return {
    kind: "intent",
    change,
    time: new Date().toISOString(),
    session: host.caller.session,
    caller: host.caller.agent,
    generation: host.generation,
    configDirectory: host.configDirectory,
    action: request.action,
    ...(undoes !== undefined && { undoes }),
    targets,
    ...(request.note !== undefined && { note: request.note }),
    files: draft.changes.map(({ file, before, after }) => ({
      path: file.path,
      before: hashOf(before),
      after: hashOf(after),
    })),
    inverse: draft.edits.map(({ file, section, before, after }) => ({
      file: file.path,
      section,
      ...inverseOf(before, after),
    })),
    rules: draft.changes.flatMap((edit) =>
      rulesChanged(edit, targets, records).map((rule) => ({ ...rule, file: edit.file.path })),
    ),
    backup,
    former: sidecar.records.filter(own),
    records: records.filter(own),
  }
}

export const locksDirectory = (host: Host): string => join(host.stateDirectory, "locks")
