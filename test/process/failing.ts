// A process in which each file-system call of a whole write fails once. Argument: a JSON job. Prints one line per case.
import { rm } from "node:fs/promises"
import { type DiskCall, type Fault, watchDisk } from "./disk-calls.ts"
import { ageLeftovers, SIDECAR, SKILLS, type State, stateOf, WHOLE_WRITES } from "./whole-writes.ts"
import { makePlace, openTool, type Place } from "./world.ts"

export interface Job {
  /** A name in `WHOLE_WRITES`. */
  readonly write: string
  /** Each is tried on the first such call, on the second, and so on; none: the calls are told instead. */
  readonly faults: readonly Trial[]
}

export interface Trial {
  readonly call: string
  readonly fault: Fault
  /** All later calls of the name fail too. */
  readonly always?: boolean
}

export interface Case extends Trial {
  readonly nth: number
  /** What the failed call was about. */
  readonly file: string
  readonly ok: boolean
  readonly changed: boolean
  readonly code: string | null
  readonly notices: readonly string[]
  readonly left: boolean
  readonly after: State
  /** The same call again, on a disk that works. */
  readonly again: State & { readonly ok: boolean }
}

let hook: ((call: DiskCall) => Fault | undefined) | undefined
watchDisk({ before: (call) => hook?.(call) })

const job: Job = JSON.parse(process.argv[2] ?? "{}")
const write = WHOLE_WRITES[job.write]
if (!write) throw new Error(`no write is called ${job.write}`)
const tell = (line: unknown) => process.stdout.write(`${JSON.stringify(line)}\n`)

if (job.faults.length === 0) await inPlace(async (_, call) => tell(await callsOf(call)))
for (const trial of job.faults)
  for (let nth = 1, found = true; found; nth++)
    await inPlace(async (place, call) => {
      const result = await tryOnce(place, call, trial, nth)
      if (result) tell(result)
      else found = false
    })

/** Runs `work` where all stands as before the call. */
async function inPlace(work: (place: Place, call: () => ReturnType<Tool>) => Promise<unknown>): Promise<void> {
  const place = await makePlace({ ...write?.files })
  const { TMPDIR: _, ...env } = place.env
  Object.assign(process.env, env)
  try {
    const tool = await openTool(SKILLS, [...(write?.loaded ?? [])])
    for (const input of write?.first ?? []) await tool(input)
    await write?.arrange?.(place)
    await work(place, () => tool(write?.call ?? {}))
  } finally {
    hook = undefined
    await rm(place.root, { recursive: true, force: true })
  }
}

type Tool = Awaited<ReturnType<typeof openTool>>

/** Every call about a file of ours, in order. */
async function callsOf(call: () => ReturnType<Tool>): Promise<string[]> {
  const calls: string[] = []
  hook = ({ name, path }) => {
    const file = fileOf(path)
    if (file) calls.push(`${name} ${file}`)
    return undefined
  }
  await call()
  return calls
}

/** Null: there is no such call any more. */
async function tryOnce(place: Place, call: () => ReturnType<Tool>, trial: Trial, nth: number): Promise<Case | null> {
  if (!write) return null
  let count = 0
  let hit: string | undefined
  hook = ({ name, path }) => {
    const file = fileOf(path)
    if (name !== trial.call || !file) return undefined
    count++
    if (count === nth) hit = file
    return count === nth || (trial.always && count > nth) ? trial.fault : undefined
  }
  const answer = await call()
  hook = undefined
  if (hit === undefined) return null
  const after = await stateOf(place, write)
  await ageLeftovers(place)
  const again = await call()
  return {
    ...{ ...trial, nth, file: hit },
    ok: answer.ok,
    changed: answer.changed === true,
    code: answer.error?.code ?? null,
    notices: answer.notices.map(({ code }: { code: string }) => code),
    left: answer.error?.data?.left !== undefined,
    after,
    again: { ok: again.ok, ...(await stateOf(place, write)) },
  }
}

/** Undefined: none of the files that a write is about. */
function fileOf(path: string): string | undefined {
  if (path.includes("/locks")) return "lock"
  if (path.includes("/backups")) return "backup"
  if (/journal\.jsonl|\/skill_management$/.test(path)) return "journal"
  if (path.includes(SIDECAR)) return "sidecar"
  return /\/\.?opencode\.jsonc?[^/]*$|\/config\/opencode$|\/dotfiles$/.test(path) ? "config" : undefined
}
