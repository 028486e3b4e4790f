// Reads a config in a loop while others change it. Argument: a JSON job. Says "ready", reads until it is sent a word,
// and tells what it saw.
import { readFile } from "node:fs/promises"
import { setTimeout as pause } from "node:timers/promises"
import { type ParseError, parse } from "jsonc-parser"

export interface ReaderJob {
  readonly config: string
  readonly first: string
  /** A line that is a rule of a writer. */
  readonly own: string
}

export interface ReaderReport {
  readonly reads: number
  /** Different texts that were seen. */
  readonly texts: number
  readonly torn: readonly string[]
}

const job: ReaderJob = JSON.parse(process.argv[2] ?? "{}")
const own = new RegExp(job.own, "gm")
let done = false
process.once("message", () => {
  done = true
})
process.send?.("ready")

let [reads, last] = [0, ""]
let texts = 0
const torn: string[] = []
while (!done) {
  const text = await readFile(job.config, "utf8")
  reads++
  if (text !== last) {
    texts++
    const fault = faultOf(text)
    if (fault) torn.push(`${fault}: ${text}`)
  }
  last = text
  await pause(1)
}
const report: ReaderReport = { reads, texts, torn: torn.slice(0, 10) }
process.send?.(report, () => process.disconnect())

function faultOf(text: string): string | null {
  const errors: ParseError[] = []
  parse(text, errors, { allowTrailingComma: false, allowEmptyContent: false })
  if (errors.length > 0) return "not a whole config"
  // Without the rules of the writers it is the first text, but for the comma that parts them.
  const rest = text.replace(own, "")
  return [job.first, job.first.replace('"deny" // work', '"deny", // work')].includes(rest)
    ? null
    : "foreign bytes differ"
}
