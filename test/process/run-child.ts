import { type ChildProcess, fork, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import type { Place } from "./world.ts"

const LIMIT_MS = 240_000

export interface ScriptResult<Line> {
  readonly signal: string | null
  readonly code: number | null
  /** What it printed, one JSON value per line. */
  readonly lines: Line[]
  readonly stderr: string
}

/** Runs a script to its end; it is killed by its own id when it takes too long. */
export function runScript<Line>(
  script: URL,
  env: Place["env"],
  job: object,
  limit = LIMIT_MS,
): Promise<ScriptResult<Line>> {
  const running = spawn(process.execPath, ["--import", "tsx", fileURLToPath(script), JSON.stringify(job)], { env })
  let [out, stderr] = ["", ""]
  running.stdout.on("data", (chunk) => (out += chunk))
  running.stderr.on("data", (chunk) => (stderr += chunk))
  const timer = setTimeout(() => running.kill("SIGKILL"), limit)
  return new Promise((resolve) =>
    running.on("close", (code, signal) => {
      clearTimeout(timer)
      const lines = out.split("\n").filter((line) => line !== "")
      resolve({ code, signal, stderr, lines: lines.map((line) => JSON.parse(line)) })
    }),
  )
}

/** A process that makes calls of the tool. */
export async function runChild(place: Place, job: object) {
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field
  const { lines, ...result } = await runScript<any>(new URL("child.ts", import.meta.url), place.env, job)
  return { ...result, answers: lines }
}

const children: ChildProcess[] = []

/** Starts a script that says "ready", waits for a word, and then tells what it saw. */
export async function ready(script: URL, env: Place["env"], job: object): Promise<ChildProcess> {
  const child = fork(fileURLToPath(script), [JSON.stringify(job)], { env, execArgv: ["--import", "tsx"] })
  children.push(child)
  await message(child)
  return child
}

/** Sends the child the word that it waits for, and waits for its report. */
export async function told<Report>(child: ChildProcess): Promise<Report> {
  child.send("go")
  return (await message(child)) as Report
}

async function message(child: ChildProcess): Promise<unknown> {
  const died = once(child, "exit").then(([code, signal]) => {
    throw new Error(`a child ended with ${signal ?? code}`)
  })
  const [said] = await Promise.race([once(child, "message"), died])
  return said
}

/** Ends each child that `ready` started, by its own id; for `afterEach`. */
export function endAll(): void {
  for (const child of children.splice(0)) child.kill("SIGKILL")
}
