// A child process: makes calls of the tool and prints the answers as lines. Arguments: a JSON job.
import { appendFileSync } from "node:fs"
import { watchDisk } from "./disk-calls.ts"
import { dieAfter } from "./dying.ts"
import { openTool } from "./world.ts"

interface Job {
  readonly skills: string[]
  readonly loaded: [string, string][]
  readonly calls: object[]
  /** How often all of them are made; once unless given. */
  readonly repeat?: number
  /** Die after this many steps of the first call. */
  readonly dieAfter?: number
  /** So many times a line is added to this file while its new text is on its way to the disk. */
  readonly edits?: { readonly file: string; readonly times: number }
}

const job: Job = JSON.parse(process.argv[2] ?? "{}")
const call = await openTool(job.skills, job.loaded)
if (job.dieAfter) dieAfter(job.dieAfter)
if (job.edits) editMeanwhile(job.edits)
for (let round = 0; round < (job.repeat ?? 1); round++)
  for (const input of job.calls) {
    const { ok, changed, reason, error, warnings, notices } = await call(input)
    process.stdout.write(`${JSON.stringify({ ok, changed, reason, error, warnings, notices })}\n`)
  }

function editMeanwhile({ file, times }: NonNullable<Job["edits"]>): void {
  let done = 0
  watchDisk({
    before: ({ name, path }) => {
      if (name === "fsync" && /\.opencode\.jsonc\.\w+\.tmp$/.test(path) && done < times)
        appendFileSync(file, `// edit ${++done}\n`)
      return undefined
    },
  })
}
