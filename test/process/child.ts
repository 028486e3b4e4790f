// A child process: makes calls of the tool and prints the answers as lines. Arguments: a JSON job.
import { dieAfter } from "./dying.ts"
import { openTool } from "./world.ts"

interface Job {
  readonly skills: string[]
  readonly loaded: [string, string][]
  readonly calls: object[]
  readonly repeat?: number
  /** Die after this many steps of the first call. */
  readonly dieAfter?: number
}

const job: Job = JSON.parse(process.argv[2] ?? "{}")
const call = await openTool(job.skills, job.loaded)
if (job.dieAfter) dieAfter(job.dieAfter)
for (let round = 0; round < (job.repeat ?? 1); round++)
  for (const input of job.calls) {
    const { ok, changed, reason, error, warnings, notices } = await call(input)
    process.stdout.write(`${JSON.stringify({ ok, changed, reason, error, warnings, notices })}\n`)
  }
