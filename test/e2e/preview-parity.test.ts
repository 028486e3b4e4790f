/** The stand-in's merged permissions against a V2 server that runs: same files, same `skill` effects. */
import { afterEach, expect, it } from "vitest"
import { type Preview, startPreview } from "../hosts/opencode-2/preview.ts"
import { lastMatch } from "../hosts/opencode-2/rules.ts"
import { makeSandbox } from "../hosts/opencode-2/sandbox.ts"
import { createStandin, type Standin } from "../hosts/opencode-2/standin.ts"

const AGENTS = ["build", "plan", "explore"]
const SKILLS = ["a", "b", "c", "pdf", "pdf-1", "10", "~/x", "other"]
const GLOBAL = "config/opencode"
type Files = Record<string, string>

const CONFIGS: Record<string, Files> = {
  "no config": {},
  "both global files": {
    [`${GLOBAL}/opencode.json`]: '{"permission": {"skill": {"a": "deny", "b": "ask"}}}',
    [`${GLOBAL}/opencode.jsonc`]: '{"permission": {"skill": {"a": "ask"}}, /* trailing */ }',
    [`${GLOBAL}/config.json`]: '{"permission": {"skill": {"c": "deny"}}}',
  },
  "project over global, .opencode over project, outer before inner": {
    [`${GLOBAL}/opencode.jsonc`]: '{"permission": {"skill": {"a": "deny", "b": "deny", "c": "deny", "pdf": "deny"}}}',
    ".opencode/opencode.json": '{"permission": {"skill": {"c": "allow", "pdf": "ask"}}}',
    "opencode.json": '{"permission": {"skill": {"a": "allow"}}}',
    "project/opencode.json": '{"permission": {"skill": {"a": "ask", "b": "ask", "c": "ask"}}}',
    "project/.opencode/opencode.jsonc": '{"permission": {"skill": {"b": "allow", "pdf": "allow"}}}',
    "project/.git/HEAD": "ref: refs/heads/main\n",
  },
  "array dialect, last match wins": {
    [`${GLOBAL}/opencode.json`]: `{"permissions": [
      {"action": "skill", "resource": "a", "effect": "deny"},
      {"action": "skill", "resource": "*", "effect": "ask"},
      {"action": "sk*", "resource": "pdf*", "effect": "deny"},
      {"action": "skill", "resource": "pdf-?", "effect": "allow"},
      {"action": "*", "resource": "b", "effect": "allow"}]}`,
  },
  "map dialect, integer-like keys first": {
    [`${GLOBAL}/opencode.json`]:
      '{"permission": {"skill": {"1*": "deny", "10": "ask", "pdf*": "deny"}, "*": "ask", "skill*": {"c": "deny"}}}',
  },
  "map and array in one document": {
    [`${GLOBAL}/opencode.json`]:
      '{"permissions": [{"action": "skill", "resource": "b", "effect": "deny"}], "permission": {"skill": {"a": "deny"}}}',
  },
  "a V1 key beside the array": {
    [`${GLOBAL}/opencode.json`]:
      '{"server": {}, "permissions": [{"action": "skill", "resource": "b", "effect": "deny"}]}',
  },
  "tools are lowest": {
    [`${GLOBAL}/opencode.json`]: '{"permission": {"skill": {"a": "allow"}}, "tools": {"skill": false}}',
  },
  "one malformed element": {
    [`${GLOBAL}/opencode.json`]:
      '{"permissions": [{"action": "skill", "resource": "a", "effect": "deny"}, {"action": "skill", "effect": "deny"}]}',
    [`${GLOBAL}/opencode.jsonc`]: '{"permission": {"skill": {"b": "deny"}}}',
  },
  "broken syntax": {
    [`${GLOBAL}/opencode.json`]: '{"permission": {"skill": {"a": "deny"}}',
    [`${GLOBAL}/opencode.jsonc`]: '{"permission": {"skill": {"b": "deny"}}}',
  },
  "agents in V2 documents and files": {
    [`${GLOBAL}/opencode.json`]: `{"agents": {
      "build": {"permissions": [{"action": "skill", "resource": "a", "effect": "deny"}]},
      "explore": {"permissions": [{"action": "skill", "resource": "pdf*", "effect": "allow"}]}}}`,
    [`${GLOBAL}/opencode.jsonc`]:
      '{"agents": {"build": {"permissions": [{"action": "skill", "resource": "a", "effect": "ask"}]}}}',
    [`${GLOBAL}/agents/build.md`]: "---\npermissions:\n  - {action: skill, resource: b, effect: deny}\n---\n",
    [`${GLOBAL}/agent/build.md`]: "---\npermissions:\n  - {action: skill, resource: b, effect: ask}\n---\n",
    [`${GLOBAL}/agents/plan.md`]:
      "---\ntemperature: 0.1\npermissions:\n  - {action: skill, resource: a, effect: deny}\n---\n",
    "project/opencode.json": `{"permissions": [{"action": "skill", "resource": "*", "effect": "ask"}],
      "agents": {"build": {"permissions": [{"action": "skill", "resource": "b", "effect": "allow"}]}}}`,
    "project/.opencode/agents/build.md": "---\npermissions:\n  - {action: skill, resource: c, effect: deny}\n---\n",
  },
  "agents in V1 documents and files": {
    [`${GLOBAL}/opencode.json`]: `{"agent": {
      "build": {"tools": {"skill": false}, "permission": {"skill": {"a": "deny"}}},
      "plan": {"tools": {"skill": false}},
      "explore": {"permission": {"skill": "ask"}}},
      "agents": {"build": {"permissions": [{"action": "skill", "resource": "b", "effect": "deny"}]}}}`,
    [`${GLOBAL}/agents/plan.md`]: "---\npermission:\n  skill:\n    pdf: allow\n---\n",
  },
  "no home directory in skill patterns": {
    [`${GLOBAL}/opencode.json`]: '{"permission": {"skill": {"~/x": "deny", "$HOME/x": "ask"}}}',
  },
}

let standin: Standin | undefined
let preview: Preview | undefined
afterEach(async () => {
  standin?.stop()
  await preview?.stop()
  standin = preview = undefined
})

async function start(files: Files, build: "beta" | "2.0" = "beta", env: Record<string, string> = {}) {
  standin = createStandin({ build, env })
  for (const [name, text] of Object.entries(files)) makeSandbox({ root: standin.root }).write(name, text)
  await standin.load({ id: "idle", setup: () => {} })
  preview = await startPreview({ files, env })
  return { standin, preview }
}

async function effectOf(host: Standin, agent: string, skill: string) {
  const rules = (await host.agents()).data.find((one) => one.id === agent)?.permissions
  return lastMatch(rules ?? [], "skill", skill)
}

it.each(Object.entries(CONFIGS))("same effects: %s", async (_, files) => {
  const hosts = await start(files)
  const ours: Record<string, string> = {}
  const theirs: Record<string, string> = {}
  for (const agent of AGENTS)
    for (const skill of SKILLS) {
      ours[`${agent} ${skill}`] = await effectOf(hosts.standin, agent, skill)
      theirs[`${agent} ${skill}`] = await hosts.preview.verdict(agent, skill)
    }
  expect(ours).toEqual(theirs)
})

interface Divergence {
  reason: string
  files: Files
  build?: "2.0"
  env?: Record<string, string>
  ask: [agent: string, skill: string]
  standin: string
  preview: string
}
const DIVERGENCES: Divergence[] = [
  {
    reason: "custom agents have no default rule on the preview",
    files: { [`${GLOBAL}/opencode.json`]: '{"agents": {"mine": {"description": "d"}}}' },
    ask: ["mine", "a"],
    standin: "allow",
    preview: "ask",
  },
  {
    reason: "later 2.0 sources read map and array of one document, the preview loses the array",
    files: {
      [`${GLOBAL}/opencode.json`]:
        '{"permission": {"skill": {"a": "ask"}}, "permissions": [{"action": "skill", "resource": "a", "effect": "deny"}]}',
    },
    build: "2.0",
    ask: ["build", "a"],
    standin: "deny",
    preview: "ask",
  },
  {
    reason: "later 2.0 sources skip a malformed element, the preview loses the document",
    files: {
      [`${GLOBAL}/opencode.json`]: '{"permissions": [{"action": "skill", "resource": "a", "effect": "deny"}, {}]}',
    },
    build: "2.0",
    ask: ["build", "a"],
    standin: "deny",
    preview: "allow",
  },
  {
    reason: "the preview does not read $OPENCODE_CONFIG_CONTENT (nor $OPENCODE_CONFIG)",
    files: {},
    env: { OPENCODE_CONFIG_CONTENT: '{"permission": {"skill": {"a": "deny"}}}' },
    ask: ["build", "a"],
    standin: "deny",
    preview: "allow",
  },
  {
    reason: "the preview does not substitute {env:X}",
    files: { [`${GLOBAL}/opencode.json`]: '{"permission": {"skill": {"{env:TEAM}": "deny"}}}' },
    env: { TEAM: "red" },
    ask: ["build", "red"],
    standin: "deny",
    preview: "allow",
  },
]

it.each(DIVERGENCES)("known divergence: $reason", async ({ files, build, env, ask, ...expected }) => {
  const hosts = await start(files, build, env)
  const found = { standin: await effectOf(hosts.standin, ...ask), preview: await hosts.preview.verdict(...ask) }
  expect(found).toEqual({ standin: expected.standin, preview: expected.preview })
})
