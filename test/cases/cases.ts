/**
 * Situations that users meet. Each folder here holds one: `case.md` says what it is about, `home` and `project` are the
 * user's files, `call.json` is the call, `answer.json` is the answer, which a person has read.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"

export interface Case {
  readonly name: string
  readonly title: string
  readonly text: string
  readonly host: "opencode-1" | "opencode-2"
  /** OpenCode 2 only: the build that is played, and the version that it tells. */
  readonly build?: "beta" | "2.0"
  readonly version?: string
  readonly env?: Readonly<Record<string, string>>
  /** The skills' files belong to the story. */
  readonly showSkills?: boolean
  readonly call: Readonly<Record<string, unknown>>
  /** The user's files, by path below `home` or `project`. */
  readonly files: readonly (readonly [path: string, text: string])[]
  readonly answerFile: string
}

const CONFIG = "home/.config/opencode"

export const CASES: readonly Case[] = readdirSync(import.meta.dirname, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => readCase(name))

function readCase(name: string): Case {
  const folder = join(import.meta.dirname, name)
  const [title = "", text = ""] = readFileSync(join(folder, "case.md"), "utf8").split(/\n\n([\s\S]*)/)
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((path) => /^(home|project)\//.test(path))
    .sort()
  return {
    ...JSON.parse(readFileSync(join(folder, "call.json"), "utf8")),
    name,
    title: title.replace(/^# /, ""),
    text: text.trim(),
    files: paths.map((path) => [path, readFileSync(join(folder, path), "utf8")] as const),
    answerFile: join(folder, "answer.json"),
  }
}

interface Place {
  readonly configDir: string
  readonly project: string
}

/** Puts the user's files where a host looks for them. */
export function layOut({ name }: Case, { configDir, project }: Place): void {
  const folder = join(import.meta.dirname, name)
  for (const [from, to] of [
    [CONFIG, configDir],
    ["project", project],
  ] as const) {
    if (!existsSync(join(folder, from))) continue
    mkdirSync(dirname(to), { recursive: true })
    cpSync(join(folder, from), to, { recursive: true })
  }
}

/** An answer as its user would see it. */
export const tidy = (text: string, { configDir, project }: Place): string =>
  `${text.replaceAll(configDir, "~/.config/opencode").replaceAll(project, "~/project")}\n`
