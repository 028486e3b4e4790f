// What the plugin costs, each figure against something else in the same run. `--json`: the ratios alone, for programs.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { built } from "./bench/built.ts"
import { edit } from "./bench/edit.ts"
import { evaluation } from "./bench/evaluation.ts"
import { evaluationGrowth, listGrowth } from "./bench/growth.ts"
import { installed } from "./bench/installed.ts"
import { list, listAnew } from "./bench/list.ts"
import { memory } from "./bench/memory.ts"
import { startup } from "./bench/startup.ts"
import type { Size } from "./bench/world.ts"
import { packInto } from "./pack.ts"

const LARGE: Size = { skills: 2_000, agents: 25, rules: 500 }
const ORDINARY: Size = { skills: 2_000, agents: 7, rules: 40 }
const SMALL: Size = { skills: 500, agents: 7, rules: 125 }

const STARTUP_MS = 40
const INSTALLED_MB = 4
const MEMORY_MB = 200
const MEMORY_SKILLS = 20_000

interface Measurement {
  readonly what: string
  readonly aim: string
  /** What the ratio is a part of, to print the figure itself. */
  readonly limit?: readonly [amount: number, unit: string]
  /** A ratio, but for growth, where it is an exponent. */
  measure(): Promise<number>
}

const growths = (["skills", "agents", "rules"] as const).flatMap((by): Measurement[] => [
  { what: `growth of evaluation with ${by}: exponent`, aim: "about 1", measure: () => evaluationGrowth(SMALL, by) },
  { what: `growth of list with ${by}: exponent`, aim: "about 1", measure: () => listGrowth(SMALL, by) },
])

export const MEASUREMENTS: readonly Measurement[] = [
  { what: "evaluation: the hosts' way / ours", aim: "at least 100", measure: () => evaluation(LARGE) },
  { what: "list / JSON.stringify of its full result", aim: "at most 3", measure: () => list(LARGE) },
  { what: "the same with 7 agents of 40 rules", aim: "at most 3", measure: () => list(ORDINARY) },
  { what: "the same for the first call in a new world", aim: "none", measure: () => listAnew(LARGE) },
  { what: "one edit of 1 MiB / reading, parsing and writing it", aim: "at most 5", measure: edit },
  ...growths,
  {
    what: "start-up beyond an empty plugin / 40 ms",
    aim: "at most 1",
    limit: [STARTUP_MS, "ms"],
    measure: async () => (await startup(built("index"))).differenceMs / STARTUP_MS,
  },
  {
    what: "installed size / 4 MB",
    aim: "at most 1",
    limit: [INSTALLED_MB, "MB"],
    measure: async () => (await sizeInstalled()) / 1_000_000 / INSTALLED_MB,
  },
  {
    what: "memory of list with 20,000 skills / 200 MB",
    aim: "at most 1",
    limit: [MEMORY_MB, "MB"],
    measure: async () => (await memory(built("index"), MEMORY_SKILLS)).peakMb / MEMORY_MB,
  },
]

async function sizeInstalled(): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), "skill-management-bench-"))
  try {
    return (await installed(packInto(directory))).bytes
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

if (process.argv[1] === import.meta.filename) {
  const asJson = process.argv.includes("--json")
  const found: { what: string; aim: string; ratio: number }[] = []
  for (const { what, aim, limit, measure } of MEASUREMENTS) {
    const ratio = Number((await measure()).toPrecision(2))
    found.push({ what, aim, ratio })
    const [amount, unit] = limit ?? []
    const figure = amount === undefined ? "" : `: ${(ratio * amount).toPrecision(2)} ${unit}`
    if (!asJson) console.log(`${String(ratio).padStart(8)}  ${what} (${aim})${figure}`)
  }
  if (asJson) console.log(JSON.stringify(found, null, 2))
}
