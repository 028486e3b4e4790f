/** Configs for OpenCode 1: every layer that it reads, the two forms of rules that it knows, agents in JSON and Markdown. */
import fc from "fast-check"
import { type Entries, hand, textOf, type Value } from "../../core/handwriting.ts"
import {
  agentsOf,
  agentText,
  documentText,
  filesOf,
  type GeneratedConfig,
  maybe,
  permission,
  sections,
  tools,
} from "../generated.ts"

const NAMES = "build build plan explore general title compaction writer writer writer reviewer team/lead".split(" ")
const REFERENCES = ["{env:TEAM}", "{file:~/pattern}"]

const flag = fc.boolean()
const shared = {
  permission: [85, permission(...REFERENCES)],
  tools: [20, tools],
  mode: [20, fc.constantFrom<Value>("primary", "subagent", "all")],
  hidden: [8, flag],
  disable: [5, flag],
  temperature: [10, fc.constant<Value>(0.5)],
} as const
const agent = sections({ ...shared, description: [40, fc.constant<Value>("Writes.")] })
const head = sections({
  ...shared,
  description: [60, fc.constantFrom<Value>("Writes.", "Use it: always", "Notes # not a comment")],
  name: [10, fc.constantFrom<Value>("writer", "reviewer", "build")],
})

const document = sections({
  $schema: [40, fc.constant<Value>("https://opencode.ai/config.json")],
  permission: [75, permission(...REFERENCES)],
  tools: [12, tools],
  agent: [35, agentsOf(NAMES, agent)],
  mode: [8, agentsOf(NAMES, agent)],
  username: [30, fc.constant<Value>("somebody")],
})
const text = fc.oneof({ weight: 24, arbitrary: documentText(document) }, { weight: 1, arbitrary: fc.constant("") })
const markdown = agentText(head)

const files = filesOf({
  "config/opencode/config.json": [25, text],
  "config/opencode/opencode.json": [45, text],
  "config/opencode/opencode.jsonc": [60, text],
  "config/opencode/agents/writer.md": [25, markdown],
  "config/opencode/agent/team/lead.md": [15, markdown],
  "config/opencode/modes/reviewer.md": [15, markdown],
  "extra/explicit.jsonc": [30, text],
  // This one counts where the sandbox is a repository.
  "opencode.json": [25, text],
  "project/opencode.json": [30, text],
  "project/opencode.jsonc": [25, text],
  ".opencode/opencode.jsonc": [15, text],
  "project/.opencode/opencode.json": [25, text],
  "project/.opencode/opencode.jsonc": [15, text],
  "project/.opencode/agents/writer.md": [15, markdown],
  "project/.opencode/agent/build.md": [20, markdown],
  "home/.opencode/opencode.json": [20, text],
  "home/.opencode/agents/reviewer.md": [10, markdown],
  "extra/directory/opencode.json": [25, text],
  "extra/directory/agents/plan.md": [15, markdown],
})

/** A layer of its own, in the environment: an object, or what counts for nothing. */
const variable = permission().chain((value) =>
  fc
    .tuple(hand, flag)
    .map(([how, strict]) => textOf(value, { ...how, bom: false, comments: false, trailing: !strict && how.trailing })),
)

export interface GeneratedConfig1 extends GeneratedConfig {
  /** What `$OPENCODE_CONFIG_CONTENT` says beside the model's provider. */
  readonly content: Entries
  /** The sandbox is a repository. */
  readonly repository: boolean
}

export const config1: fc.Arbitrary<GeneratedConfig1> = fc
  .record({
    files,
    content: maybe(35, document),
    variable: maybe(25, variable),
    repository: flag,
    withoutProject: maybe(6, fc.constant("1")),
  })
  .map(({ files, content, variable, repository, withoutProject }) => {
    const has = (path: string) => Object.keys(files).some((name) => name.startsWith(path))
    return {
      files: { ...files, "home/pattern": "*-forms\n" },
      env: {
        TEAM: "lark*",
        ...(has("extra/explicit.jsonc") && { OPENCODE_CONFIG: "ROOT/extra/explicit.jsonc" }),
        ...(has("extra/directory/") && { OPENCODE_CONFIG_DIR: "ROOT/extra/directory" }),
        ...(variable !== null && { OPENCODE_PERMISSION: variable }),
        ...(withoutProject !== null && { OPENCODE_DISABLE_PROJECT_CONFIG: withoutProject }),
      },
      content: content ?? { entries: [] },
      repository,
    }
  })
