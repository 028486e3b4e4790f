import { readFileSync } from "node:fs"
import { extname } from "node:path"
import { CASES, type Case } from "../test/cases/cases.ts"

/** The situations in the order of a reader's likely questions; those that are not named here follow. */
const ORDER = [
  ..."allowed-by-default denied-by-name later-pattern-wins later-key-wins ask-for-everything tools-off".split(" "),
  ..."project-overrides from-the-environment agent-in-config agent-in-markdown agent-without-skills".split(" "),
  ..."denied-by-the-host no-description autoinvoke-off denied-and-mentioned".split(" "),
  ..."markdown-array-ignored markdown-key-mix document-key-mix from-another-plugin".split(" "),
  ..."two-files-one-id not-registered".split(" "),
]

const rank = ({ name }: Case): number => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length)

/** The explanation page: every case of `test/cases` with its files and what the tool says of it. */
export function casesPage(): string {
  const cases = [...CASES].sort((a, b) => rank(a) - rank(b))
  return `<!-- Made by \`npm run generate\` from test/cases; edit it there. -->

# Why is my skill not showing?

Ask the tool: \`{"action": "inspect", "id": "pdf"}\`. Below are situations that users meet, each with the files that
make it and the tool's \`conclusion\`. The whole answers stand in \`test/cases\` of the repository, where a test gets
them anew: from the real OpenCode 1, and from a stand-in of OpenCode 2.

${cases.map(section).join("\n\n")}
`
}

function section(given: Case): string {
  const { title, text, host, call, files, env = {}, showSkills = false } = given
  const shown = files.filter(([path]) => showSkills || !path.endsWith("/SKILL.md"))
  const variables = Object.entries(env).map(([name, value]) => block("sh", `${name}='${value}'`))
  return [
    `## ${title}`,
    text,
    ...shown.map(([path, content]) => `\`${userPath(path)}\`\n\n${block(language(path), content)}`),
    ...variables,
    `\`${JSON.stringify(call)}\` on ${host === "opencode-1" ? "OpenCode 1" : "OpenCode 2"}:`,
    ...sayings(JSON.parse(readFileSync(given.answerFile, "utf8"))),
  ].join("\n\n")
}

interface Answer {
  readonly conclusion?: string
  readonly warnings: readonly string[]
  readonly error?: { readonly message: string; readonly hint?: string }
  readonly skill?: { readonly duplicates: readonly string[] }
  readonly reachability?: object
}

function sayings({ conclusion, warnings, error, skill, reachability }: Answer): string[] {
  const words = [conclusion, error?.message, error?.hint, ...warnings].flatMap((line) => line ?? [])
  const duplicates = skill && skill.duplicates.length > 0 ? { duplicates: skill.duplicates } : {}
  return [
    ...words.map((line) => `> ${line}`),
    ...(reachability ? [`\`${JSON.stringify({ ...duplicates, reachability })}\``] : []),
  ]
}

const userPath = (path: string): string => path.replace(/^home\//, "~/").replace(/^project\//, "~/project/")

const language = (path: string): string => extname(path).slice(1)

const block = (kind: string, text: string): string => `\`\`\`${kind}\n${text.trimEnd()}\n\`\`\``
