import { answerSchema } from "../src/tool/answer-schema.ts"
import { ACTIONS, FIELD_NAMES, FIELDS, inputSchema } from "../src/tool/input-schema.ts"
import { warningOf } from "../src/tool/notices.ts"
import { ERROR_CODES, NOTICE_CODES, REASONS } from "../src/tool/vocabulary.ts"
import { casesPage } from "./cases-page.ts"

/** Every file that follows from another: the published schemas, the tables in the reference, the page of cases. */
export function generated(): ReadonlyMap<string, string> {
  return new Map([
    ["schema/input.schema.json", json(inputSchema)],
    ["schema/answer.schema.json", json(answerSchema)],
    ["docs/reference/input.md", inputPage()],
    ["docs/reference/codes.md", codesPage()],
    ["docs/explanation/why-is-my-skill-not-showing.md", casesPage()],
  ])
}

const json = (schema: object): string => `${JSON.stringify(schema, null, 2)}\n`

const MADE = "<!-- Made by `npm run generate` from src/tool; edit it there. -->"

function inputPage(): string {
  const rows = FIELD_NAMES.map((name) => {
    const { schema, usedBy } = FIELDS[name]
    return `| \`${name}\` | ${typeText(schema)} | ${schema.description} | ${name === "action" ? "all" : usedBy.join(", ")} |`
  })
  return `${MADE}

# Input

One tool, \`skill_management\`, one flat object. Actions: ${ACTIONS.map((action) => `\`${action}\``).join(", ")}.

| field | type | meaning | used by |
|---|---|---|---|
${rows.join("\n")}

- \`null\` counts as absent. Strings hold no control characters.
- \`inspect\` needs \`id\` or \`name\`. \`disable\` and \`enable\` need exactly one of: \`id\` or \`name\`; \`ids\`; \`match\` or
  \`where\`, which narrow each other. \`id\` and \`name\` together must name the same skill.
- Reading actions pass over fields that they do not use, with the notice \`field_ignored\`, and over unknown ones with
  \`field_unknown\`. Writing ones refuse both with \`invalid_input\`: a mistyped \`dryrun\` must never become a write.
  \`agent\` on \`disable\` or \`enable\` answers \`scope_unsupported\` with the rule to paste by hand.
- \`match\` and \`where.path\` are patterns in the hosts' language: \`*\` any run, \`?\` one UTF-16 unit, the whole value.
- \`where\`: ${whereText()}; \`finding\` for \`reconcile\`, the others for skills.

The schema is [schema/input.schema.json](../../schema/input.schema.json). Hosts get a lenient form of it, one flat
object that lets \`null\` and unknown fields through, so that the answer to a mistake is ours and says what to do.
`
}

function whereText(): string {
  const { properties } = FIELDS.where.schema
  return Object.entries(properties)
    .map(
      ([name, schema]) =>
        `\`${name}\`${"enum" in schema ? ` (${schema.enum.map((word) => `\`${word}\``).join(", ")})` : ""}`,
    )
    .join(", ")
}

function typeText(schema: {
  type: string
  maxLength?: number
  minimum?: number
  maximum?: number
  enum?: readonly string[]
}): string {
  if (schema.enum) return schema.enum.map((word) => `\`${word}\``).join(" \\| ")
  if (schema.maxLength) return `string ≤ ${schema.maxLength}`
  if (schema.maximum) return `${schema.type} ${schema.minimum}–${schema.maximum}`
  return schema.type
}

function codesPage(): string {
  const words = (list: readonly string[]) => list.map((word) => `\`${word}\``).join(" ")
  const notices = NOTICE_CODES.map((code) => `| \`${code}\` | ${warningOf({ code, data: EXAMPLE })} |`)
  return `${MADE}

# Codes

The lists are closed. What an error means and what to do stands in [problems.md](problems.md).

## Errors

${words(ERROR_CODES)}

## Reasons

${words(REASONS)}

## Notices

Each stands in \`notices\` with its data, and as an English sentence in \`warnings\`, in the same order.

| code | the sentence, with example data |
|---|---|
${notices.join("\n")}
`
}

const EXAMPLE = {
  field: "dryrun",
  nearest: "dryRun",
  agent: "build",
  agents: ["explore"],
  id: "a*",
  reason: "EACCES",
  changes: ["20260101T000000000Z-00c0ffee"],
  files: ["opencode.json", "opencode.jsonc"],
  winner: "`{skill, pdf, allow}` in `~/work/opencode.json` line 9 wins for explore",
  help: "change `~/work/opencode.json` line 9: a project's rules come after the global ones",
  ids: ["pdf"],
  shown: 40,
  total: 120,
}
