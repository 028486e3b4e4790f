// A process whose files may not grow beyond a size: the kernel takes a part of a longer write. Argument: a JSON job.
// Prints what two writers make of it.
import { execFileSync } from "node:child_process"
import { readFile } from "node:fs/promises"
import writeFileAtomic from "write-file-atomic"
import { replaceConfigFile } from "../../src/files/config-file.ts"

export interface ShortWriteJob {
  readonly limit: number
  /** Files that hold `before`. */
  readonly ours: string
  readonly theirs: string
  readonly before: string
  readonly after: string
}

export interface ShortWrite {
  readonly ours: unknown
  readonly theirs: "resolved" | "rejected"
  readonly sizes: { readonly ours: number; readonly theirs: number }
}

const job: ShortWriteJob = JSON.parse(process.argv[2] ?? "{}")
// Unheard, it would end the process.
process.on("SIGXFSZ", () => {})
execFileSync("prlimit", [`--fsize=${job.limit}`, "--pid", String(process.pid)])
const ours = await replaceConfigFile(job.ours, job.before, job.after)
const theirs = await writeFileAtomic(job.theirs, job.after).then(
  () => "resolved" as const,
  () => "rejected" as const,
)
const sizeOf = async (path: string) => (await readFile(path)).length
const result: ShortWrite = {
  ours,
  theirs,
  sizes: { ours: await sizeOf(job.ours), theirs: await sizeOf(job.theirs) },
}
process.stdout.write(`${JSON.stringify(result)}\n`)
