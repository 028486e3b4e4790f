// One of many processes that change one config: disables and enables its own skills, and looks after each call whether
// what it wrote stands. Argument: a JSON job. Says "ready", waits for a word, and tells what it saw.
import { once } from "node:events"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { SIDECAR } from "./whole-writes.ts"
import { openTool } from "./world.ts"

export interface WriterJob {
  readonly skills: string[]
  readonly loaded: [pattern: string, action: string][]
  readonly own: readonly string[]
  readonly rounds: number
  readonly config: string
}

export interface WriterReport {
  readonly calls: number
  /** Answers that are not `ok` and `changed`, or that warn of anything but the restart. */
  readonly failures: readonly object[]
  /** Times when a rule or a record of ours was not there any more, or there again. */
  readonly lost: readonly string[]
  readonly longestMs: number
}

const job: WriterJob = JSON.parse(process.argv[2] ?? "{}")
const call = await openTool(job.skills, job.loaded)
process.send?.("ready")
await once(process, "message")

let [calls, longestMs] = [0, 0]
const failures: object[] = []
const lost: string[] = []
const hidden = new Set<string>()
for (let round = 0; round < job.rounds; round++)
  for (const action of ["disable", "enable"])
    for (const id of job.own) {
      const start = performance.now()
      const { ok, changed, error, warnings } = await call({ action, id })
      longestMs = Math.max(longestMs, performance.now() - start)
      calls++
      if (!ok || !changed) failures.push({ action, id, error, warnings })
      if (action === "disable") hidden.add(id)
      else hidden.delete(id)
      await expectOwn(`${action} ${id}`)
    }
const report: WriterReport = { calls, failures, lost, longestMs }
process.send?.(report, () => process.disconnect())

/** Nobody else touches our skills, so after each call the files hold exactly those that we have hidden. */
async function expectOwn(after: string): Promise<void> {
  const config = await readFile(job.config, "utf8")
  const sidecar = await readFile(join(job.config, "..", SIDECAR), "utf8").catch(() => "")
  for (const id of job.own)
    for (const [name, text] of Object.entries({ config, sidecar }))
      if (text.includes(`"${id}"`) !== hidden.has(id)) lost.push(`${id} in the ${name} after ${after}`)
}
