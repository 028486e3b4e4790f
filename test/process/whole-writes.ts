// Whole writes of every kind: what stands before, the call, and what stands after it, literally.
import { mkdir, readdir, readFile, rename, rm, symlink, utimes, writeFile } from "node:fs/promises"
import { basename, join, relative } from "node:path"
import type { Place } from "./world.ts"

export const SIDECAR = "skill_management.state.json"
export const SKILLS = ["docx", "pdf", "xlsx"]

export interface WholeWrite {
  readonly files: Readonly<Record<string, string>>
  /** The rules in `files`, as the host has loaded them. */
  readonly loaded: [pattern: string, action: string][]
  /** Calls of the tool that come first. */
  readonly first?: readonly object[]
  readonly arrange?: (place: Place) => Promise<void>
  readonly call: object
  /** Config texts before and after the call; null is no file. */
  readonly old: Readonly<Record<string, string | null>>
  readonly new: Readonly<Record<string, string | null>>
  /** Ids in the sidecar before and after the call. */
  readonly records: { readonly old: readonly string[]; readonly new: readonly string[] }
  /** What a crash left is there before, and is settled first. */
  readonly crashed?: true
}

const LEFT_BY_CRASH = ".opencode.jsonc.0123456789ab.tmp"

const map = (...lines: string[]) =>
  `{\n  // mine\n  "permission": {\n    "skill": {\n${lines.map((line) => `      ${line}\n`).join("")}    }\n  }\n}\n`
const ONE = map('"docx": "deny"')
const WITH_PDF = map('"docx": "deny",', '"pdf": "deny" // skill_management')
const WITH_XLSX = map('"docx": "deny",', '"xlsx": "deny" // skill_management')
const WITH_BOTH = map('"docx": "deny",', '"xlsx": "deny", // skill_management', '"pdf": "deny" // skill_management')
const MADE =
  '{\n  "$schema": "https://opencode.ai/config.json",\n  "permission": {\n    "skill": {\n      "pdf": "deny" // skill_management\n    }\n  }\n}\n'

const disable = (id: string) => ({ action: "disable", id })
const enable = (id: string) => ({ action: "enable", id })

const one = { files: { "opencode.jsonc": ONE }, loaded: [["docx", "deny"]] as [string, string][] }

export const WHOLE_WRITES: Readonly<Record<string, WholeWrite>> = {
  "a rule more, behind links, backups full": {
    ...one,
    first: [disable("xlsx")],
    arrange: async (place) => {
      await moveToDotfiles(place)
      for (let day = 1; day < 20; day++)
        await writeFile(join(place.stateDir, "backups", `202001${day + 10}T000000000Z-0-opencode.jsonc`), "")
    },
    call: disable("pdf"),
    old: { "opencode.jsonc": WITH_XLSX },
    new: { "opencode.jsonc": WITH_BOTH },
    records: { old: ["xlsx"], new: ["pdf", "xlsx"] },
  },
  "the last rule goes": {
    ...one,
    first: [disable("pdf")],
    call: enable("pdf"),
    old: { "opencode.jsonc": WITH_PDF },
    new: { "opencode.jsonc": ONE },
    records: { old: ["pdf"], new: [] },
  },
  "a file is made": {
    files: {},
    loaded: [],
    call: disable("pdf"),
    old: { "opencode.jsonc": null },
    new: { "opencode.jsonc": MADE },
    records: { old: [], new: ["pdf"] },
  },
  "a file goes": {
    files: {},
    loaded: [],
    first: [disable("pdf")],
    call: enable("pdf"),
    old: { "opencode.jsonc": MADE },
    new: { "opencode.jsonc": null },
    records: { old: ["pdf"], new: [] },
  },
  "two files": {
    files: {
      "opencode.json": '{\n  "permission": { "skill": { "docx": "deny", "pdf": "deny" } }\n}\n',
      "opencode.jsonc": '{\n  "permission": {\n    "skill": {\n      "pdf": "ask" // sometimes\n    }\n  }\n}\n',
    },
    loaded: [
      ["docx", "deny"],
      ["pdf", "ask"],
    ],
    call: enable("pdf"),
    old: {
      "opencode.json": '{\n  "permission": { "skill": { "docx": "deny", "pdf": "deny" } }\n}\n',
      "opencode.jsonc": '{\n  "permission": {\n    "skill": {\n      "pdf": "ask" // sometimes\n    }\n  }\n}\n',
    },
    new: {
      "opencode.json": '{\n  "permission": { "skill": { "docx": "deny" } }\n}\n',
      // A comment that is not ours stays where it stood.
      "opencode.jsonc": '{\n  "permission": {\n    "skill": {\n      // sometimes\n    }\n  }\n}\n',
    },
    records: { old: [], new: [] },
  },
  "a full journal": {
    ...one,
    arrange: async ({ stateDir }) => {
      await mkdir(stateDir, { recursive: true })
      const lines = Array.from({ length: 1_000 }, (_, i) => `{"kind":"done","change":"c${i}","time":""}\n`)
      await writeFile(join(stateDir, "journal.jsonl"), lines.join(""))
    },
    call: disable("pdf"),
    old: { "opencode.jsonc": ONE },
    new: { "opencode.jsonc": WITH_PDF },
    records: { old: [], new: ["pdf"] },
  },
  "after a crash that left sidecar and closing line unwritten": {
    ...one,
    first: [disable("xlsx")],
    arrange: async ({ configDir, stateDir }) => {
      const journal = join(stateDir, "journal.jsonl")
      const [intent] = (await readFile(journal, "utf8")).split("\n")
      await writeFile(journal, `${intent}\n`)
      await rm(join(configDir, SIDECAR))
      await writeFile(join(configDir, LEFT_BY_CRASH), "{")
    },
    call: disable("pdf"),
    old: { "opencode.jsonc": WITH_XLSX },
    new: { "opencode.jsonc": WITH_BOTH },
    records: { old: ["xlsx"], new: ["pdf", "xlsx"] },
    crashed: true,
  },
}

/** Config and sidecar become relative links. */
async function moveToDotfiles({ root, configDir }: Place): Promise<void> {
  const dotfiles = join(root, "dotfiles")
  await mkdir(dotfiles)
  for (const name of ["opencode.jsonc", SIDECAR]) {
    await rename(join(configDir, name), join(dotfiles, name))
    await symlink(relative(configDir, join(dotfiles, name)), join(configDir, name))
  }
}

export interface State {
  readonly config: "old" | "new" | "mixed" | "other"
  readonly records: "old" | "new" | "other"
  /** Changes in the journal without a closing line. */
  readonly unfinished: number
  /** Temporary files, locks, and backups that the journal does not name. */
  readonly litter: readonly string[]
}

/** What stands in a place after a call. */
export async function stateOf({ root, configDir, stateDir }: Place, write: WholeWrite): Promise<State> {
  const textAt = (path: string) => readFile(path, "utf8").catch(() => null)
  const namesIn = (path: string) => readdir(path).catch((): string[] => [])
  const texts = await Promise.all(
    Object.entries(write.old).map(async ([name, old]) => {
      const text = await textAt(join(configDir, name))
      return text === old ? "old" : text === write.new[name] ? "new" : "other"
    }),
  )
  const [first = "other"] = texts
  const sidecar = JSON.parse((await textAt(join(configDir, SIDECAR))) ?? '{"records":[]}')
  const ids = sidecar.records.map(({ id }: { id: string }) => id).join()
  const journal = ((await textAt(join(stateDir, "journal.jsonl"))) ?? "").split("\n").flatMap(decodeLine)
  const closed = journal.filter(({ kind }) => kind !== "intent").map(({ change }) => change)
  const intents = journal.filter(({ kind }) => kind === "intent")
  const named = intents.flatMap(({ backup }) => backup?.map((path) => basename(path)) ?? [])
  return {
    config: texts.every((text) => text === first) ? first : texts.includes("other") ? "other" : "mixed",
    records: ids === write.records.new.join() ? "new" : ids === write.records.old.join() ? "old" : "other",
    unfinished: intents.filter(({ change }) => !closed.includes(change)).length,
    litter: [
      ...[...(await namesIn(configDir)), ...(await namesIn(join(root, "dotfiles")))].filter(
        (name) => !["opencode.json", "opencode.jsonc", SIDECAR].includes(name),
      ),
      ...(await namesIn(stateDir)).filter((name) => !["backups", "journal.jsonl", "locks"].includes(name)),
      ...(await namesIn(join(stateDir, "locks"))),
      ...(await namesIn(join(stateDir, "backups"))).filter((name) => !/^2020/.test(name) && !named.includes(name)),
    ],
  }
}

function decodeLine(line: string): { kind: string; change: string; backup?: string[] }[] {
  try {
    return [JSON.parse(line)]
  } catch {
    return []
  }
}

/** What a dead process left counts for nothing once it is old; nobody waits for that here. */
export async function ageLeftovers({ stateDir }: Place): Promise<void> {
  const past = new Date(Date.now() - 60_000)
  for (const directory of [stateDir, join(stateDir, "backups"), join(stateDir, "locks")])
    for (const name of await readdir(directory).catch(() => []))
      if (/\.(lock|tmp)$/.test(name)) await utimes(join(directory, name), past, past)
}
