import { randomBytes } from "node:crypto"
import { join } from "node:path"
import type { FileChange, Plan } from "../core/plan.ts"
import type { SidecarRecord } from "../core/sidecar.ts"
import { textWithout } from "../core/take-back.ts"
import { codeOf, hashOf, isFileProblem, readConfigFile, replaceConfigFile } from "../files/config-file.ts"
import { appendJournal, backUp, type Inverse } from "../files/journal.ts"
import type { Notice } from "../tool/answer-schema.ts"
import { notice } from "../tool/notices.ts"
import { fileProblem, type Problem } from "../tool/problems.ts"
import type { Host } from "./ports.ts"
import { replaceRecords, type Sidecar, writeSidecar } from "./records.ts"

/** A change that stands in the files. */
export interface Committed {
  readonly change: string
  readonly backup: string | null
  readonly sidecarWritten: boolean
  readonly notices: readonly Notice[]
}

/**
 * Writes a plan, under the lock: backup, intent line, config, a second look at the result (`verify`), sidecar,
 * closing line. A problem leaves every file as it was.
 */
export async function commit(
  host: Host,
  plan: Plan,
  sidecar: Sidecar,
  wish: { readonly action: string; readonly id: string; readonly note?: string },
  verify: () => Promise<Problem | null>,
): Promise<Committed | Problem> {
  const state = host.stateDirectory
  const change = `${new Date().toISOString().replace(/[-:.]/g, "")}-${randomBytes(4).toString("hex")}`
  const records = plan.records.map((record) => ({ ...record, ...(wish.note !== undefined && { note: wish.note }) }))
  let backups: string[]
  try {
    backups = await Promise.all(
      plan.changes.flatMap(({ file, before }) => (before === null ? [] : [backUp(state, change, file.name, before)])),
    )
    await appendJournal(state, intentOf(host, plan, change, backups, records, wish))
  } catch (error) {
    return fileProblem({ kind: "write_failed", file: state, reason: codeOf(error) })
  }
  const problem = (await writeAll(plan, wish.id)) ?? (await verifyOrTakeBack(plan, wish.id, verify))
  if (problem) {
    await closeChange(host, "undone", change).catch(() => {})
    return problem
  }
  const notices: Notice[] = []
  const recordError = await writeSidecar(sidecar, replaceRecords(sidecar.records, host.generation, [wish.id], records))
  if (recordError) notices.push(notice("sidecar_not_written", { reason: recordError }))
  const closed = await closeChange(host, "done", change).then(
    () => true,
    () => false,
  )
  if (!closed) notices.push(notice("unfinished_change", { changes: [change] }))
  return { change, backup: backups[0] ?? null, sidecarWritten: recordError === null, notices }
}

/** Ends a change in the journal; the last such line counts. */
export const closeChange = (host: Host, kind: "done" | "undone", change: string): Promise<void> =>
  appendJournal(host.stateDirectory, { kind, change, time: new Date().toISOString() })

/** All files or none: when one cannot be written, those before it get their old text back. */
async function writeAll(plan: Plan, id: string): Promise<Problem | null> {
  for (const [index, { file, before, after }] of plan.changes.entries()) {
    const problem = await replaceConfigFile(file.path, before, after)
    if (problem) return withLeft(fileProblem(problem), await takeBack(plan, id, plan.changes.slice(0, index)))
  }
  return null
}

async function verifyOrTakeBack(
  plan: Plan,
  id: string,
  verify: () => Promise<Problem | null>,
): Promise<Problem | null> {
  const problem = await verify()
  return problem && withLeft(problem, await takeBack(plan, id))
}

/**
 * Takes a change back: the old text where nobody wrote meanwhile, else our rule alone. Returns the files where that
 * failed.
 */
export async function takeBack(
  plan: Plan,
  id: string,
  changes: readonly FileChange[] = plan.changes,
): Promise<string[]> {
  const left: string[] = []
  for (const change of changes) {
    const { name, path } = change.file
    const created = plan.records.find((record) => record.file === name)?.sections?.[0]
    const found = await readConfigFile(path)
    const old = isFileProblem(found) ? undefined : textWithout(found.text, change, id, created)
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
  host: Host,
  plan: Plan,
  change: string,
  backup: readonly string[],
  records: readonly SidecarRecord[],
  wish: { readonly action: string; readonly id: string; readonly note?: string },
) {
  return {
    kind: "intent",
    change,
    time: new Date().toISOString(),
    session: host.caller.session,
    caller: host.caller.agent,
    generation: host.generation,
    action: wish.action,
    targets: [wish.id],
    ...(wish.note !== undefined && { note: wish.note }),
    files: plan.changes.map(({ file, before, after }) => ({
      path: file.path,
      before: hashOf(before),
      after: hashOf(after),
    })),
    inverse: plan.changes.map(inverseOf),
    backup,
    records,
  } as const
}

/** The one run of text in which the two texts differ. */
function inverseOf({ file, section, before, after }: FileChange): Inverse {
  const [old, fresh] = [before ?? "", after ?? ""]
  const most = Math.min(old.length, fresh.length)
  let start = 0
  while (start < most && old[start] === fresh[start]) start++
  let end = 0
  while (end < most - start && old.at(-1 - end) === fresh.at(-1 - end)) end++
  return {
    file: file.path,
    section,
    inserted: fresh.slice(start, fresh.length - end),
    replaced: old.slice(start, old.length - end),
  }
}

export const locksDirectory = (host: Host): string => join(host.stateDirectory, "locks")
