import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import type { Place } from "./world.ts"

const child = fileURLToPath(new URL("child.ts", import.meta.url))
const LIMIT_MS = 240_000

export interface ChildResult {
  readonly signal: string | null
  readonly code: number | null
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field
  readonly answers: any[]
  readonly stderr: string
}

/** Runs one child to its end; it is killed by its own id when it takes too long. */
export function runChild(place: Place, job: object): Promise<ChildResult> {
  const running = spawn(process.execPath, ["--import", "tsx", child, JSON.stringify(job)], { env: place.env })
  let [out, stderr] = ["", ""]
  running.stdout.on("data", (chunk) => (out += chunk))
  running.stderr.on("data", (chunk) => (stderr += chunk))
  const timer = setTimeout(() => running.kill("SIGKILL"), LIMIT_MS)
  return new Promise((resolve) =>
    running.on("close", (code, signal) => {
      clearTimeout(timer)
      const answers = out.split("\n").filter((line) => line !== "")
      resolve({ code, signal, stderr, answers: answers.map((line) => JSON.parse(line)) })
    }),
  )
}
