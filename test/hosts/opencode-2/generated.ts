/** Configs for OpenCode 2: documents of either generation and of both at once, agents in JSON and Markdown. */
import fc from "fast-check"
import type { Value } from "../../core/handwriting.ts"
import {
  agentsOf,
  agentText,
  documentText,
  filesOf,
  type GeneratedConfig,
  permission,
  permissions,
  sections,
  tools,
} from "../generated.ts"

const NAMES = ["build", "build", "plan", "explore", "general", "title", "writer", "writer", "reviewer", "team/lead"]

const flag = fc.boolean()
/** Now and then a section that is none: the host loses the document, or does not look there. */
const orNone = (section: fc.Arbitrary<Value>): fc.Arbitrary<Value> =>
  fc.oneof({ weight: 40, arbitrary: section }, { weight: 1, arbitrary: fc.constantFrom<Value>("never", 7) })
const rules = { map: orNone(permission()), list: orNone(permissions()), tools: orNone(tools) }

const map = { permission: [85, rules.map], tools: [20, rules.tools], disable: [12, flag] } as const
const list = { permissions: [90, rules.list], disabled: [12, flag] } as const
const both = { ...map, ...list, permission: [40, rules.map], permissions: [60, rules.list] } as const
const more = {
  description: [40, fc.constantFrom<Value>("Writes.", "Use it: always")],
  mode: [20, fc.constantFrom<Value>("primary", "subagent", "all")],
  hidden: [8, flag],
} as const
const older = { temperature: [15, fc.constant<Value>(0.5)], name: [10, fc.constant<Value>("build")] } as const

const agent = {
  map: sections({ ...map, ...more, ...older }),
  list: sections({ ...list, ...more }),
  any: fc.oneof(
    sections({ ...map, ...more, ...older }),
    sections({ ...list, ...more }),
    sections({ ...both, ...more }),
  ),
}
const head = fc.oneof(
  sections({ ...list, ...more }),
  sections({ ...map, ...more, ...older }),
  sections({ ...both, ...more, ...older }),
)

const maps = { permission: [70, rules.map], tools: [15, rules.tools] } as const
const lists = { permissions: [75, rules.list] } as const
const $schema = [30, fc.constant<Value>("https://opencode.ai/config.json")] as const
const text = documentText(
  fc.oneof(
    sections({
      $schema,
      ...maps,
      agent: [40, agentsOf(NAMES, agent.map)],
      mode: [15, agentsOf(NAMES, agent.map)],
    }),
    sections({ $schema, ...lists, agents: [45, agentsOf(NAMES, agent.list)] }),
    sections({
      $schema,
      permission: [30, rules.map],
      tools: [10, rules.tools],
      permissions: [70, rules.list],
      agent: [15, agentsOf(NAMES, agent.any)],
      agents: [40, agentsOf(NAMES, agent.any)],
      username: [20, fc.constant<Value>("somebody")],
      snapshot: [10, fc.constant<Value>(false)],
    }),
  ),
)
const markdown = agentText(head)

export const config2: fc.Arbitrary<GeneratedConfig> = filesOf({
  "config/opencode/config.json": [15, text],
  "config/opencode/opencode.json": [55, text],
  "config/opencode/opencode.jsonc": [55, text],
  "config/opencode/agents/writer.md": [25, markdown],
  "config/opencode/agent/team/lead.md": [15, markdown],
  "config/opencode/modes/reviewer.md": [10, markdown],
  "config/opencode/agents/build.md": [15, markdown],
  "opencode.json": [25, text],
  "project/opencode.json": [30, text],
  "project/opencode.jsonc": [25, text],
  "project/.git/HEAD": [30, fc.constant("ref: refs/heads/main\n")],
  ".opencode/opencode.jsonc": [15, text],
  "project/.opencode/opencode.json": [25, text],
  "project/.opencode/opencode.jsonc": [15, text],
  "project/.opencode/agents/writer.md": [15, markdown],
  "project/.opencode/agent/plan.md": [15, markdown],
}).map((files) => ({ files, env: {} }))
