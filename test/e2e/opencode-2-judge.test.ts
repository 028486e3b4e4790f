/** Configs that the tool edited, before a V2 server that runs: it merges and decides as the tool foresaw. */
import { readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { afterEach, expect, it } from "vitest"
import { arrayOf, rule, type Session, start, stop } from "../actions/opencode-2/harness.ts"
import { type Preview, startPreview } from "../hosts/opencode-2/preview.ts"
import { type Effect, like } from "../hosts/opencode-2/rules.ts"

const AGENTS = ["build", "plan", "explore"]
const GLOBAL = "config/opencode"
const element = (id: string, effect: string, action = "skill") => JSON.stringify({ ...rule(id, effect), action })

type Call = [action: "disable" | "enable", id: string, input?: object]
interface Case {
  name: string
  files: Record<string, string>
  calls: Call[]
  skills?: string[]
  /** Effects for build, plan and explore afterwards, by id. */
  expected: Record<string, string>
}

const CASES: Case[] = [
  {
    name: "a file of our own",
    files: {},
    calls: [["disable", "a"]],
    expected: { a: "deny deny deny", b: "allow allow deny" },
  },
  {
    name: "rules behind others, one of them asking",
    files: { [`${GLOBAL}/opencode.jsonc`]: `{\n  "permissions": [\n    ${element("c", "deny")}, // c\n  ],\n}\n` },
    calls: [
      ["disable", "a"],
      ["disable", "b", { effect: "ask" }],
    ],
    expected: { a: "deny deny deny", b: "ask ask ask", c: "deny deny deny" },
  },
  {
    name: "an exact allow behind a broad deny",
    files: { [`${GLOBAL}/opencode.json`]: arrayOf(["?", "deny"], ["long", "ask"]) },
    skills: ["a", "b", "long"],
    calls: [["enable", "a"]],
    expected: { a: "allow allow allow", b: "deny deny deny", long: "ask ask ask" },
  },
  {
    name: "a rule that moves to the later file",
    files: {
      [`${GLOBAL}/opencode.json`]: arrayOf(["a", "deny"], ["b", "ask"]),
      [`${GLOBAL}/opencode.jsonc`]: `{"permissions": [${element("*", "allow")}]}`,
    },
    calls: [["disable", "a"]],
    expected: { a: "deny deny deny", b: "allow allow allow" },
  },
  {
    name: "a rule changed in place",
    files: { [`${GLOBAL}/opencode.json`]: arrayOf(["*", "ask"], ["a", "allow"], ["b", "allow"]) },
    calls: [["disable", "a"]],
    expected: { a: "deny deny deny", b: "allow allow allow", c: "ask ask ask" },
  },
  {
    name: "rules of agents, in a document and in a file",
    files: {
      [`${GLOBAL}/opencode.json`]: `{\n  "permissions": [],\n  "agents": {"plan": {"permissions": [${element("a", "allow")}]}}\n}\n`,
      [`${GLOBAL}/agents/build.md`]: "---\npermissions:\n  - {action: skill, resource: b, effect: ask}\n---\n",
    },
    calls: [
      ["disable", "a"],
      ["disable", "b"],
    ],
    expected: { a: "deny allow deny", b: "ask deny deny" },
  },
  {
    name: "layers of the project",
    files: {
      [`${GLOBAL}/opencode.json`]: arrayOf(["c", "ask"]),
      "opencode.json": arrayOf(["c", "deny"]),
      "project/opencode.json": arrayOf(["b", "allow"]),
      "project/.opencode/opencode.jsonc": arrayOf(["c", "allow"]),
    },
    calls: [["disable", "a"]],
    expected: { a: "deny deny deny", b: "allow allow allow", c: "allow allow allow" },
  },
  {
    name: "patterns of actions",
    files: {
      [`${GLOBAL}/opencode.json`]: `{"permissions": [${element("c", "deny", "sk*")}, ${element("b", "ask", "*")}, ${element("a", "deny", "s?ill")}]}`,
    },
    calls: [
      ["disable", "b"],
      ["enable", "a"],
    ],
    expected: { a: "allow allow allow", b: "deny deny deny", c: "deny deny deny" },
  },
  {
    name: "ids that look like something else",
    files: {},
    skills: ["10", "a b", "ünï", "{x}", "~", "constructor", 'quo"te', "b"],
    calls: ["10", "a b", "ünï", "{x}", "~", "constructor", 'quo"te'].map((id): Call => ["disable", id]),
    expected: Object.fromEntries([
      ...["10", "a b", "ünï", "{x}", "~", "constructor", 'quo"te'].map((id) => [id, "deny deny deny"]),
      ["b", "allow allow deny"],
    ]),
  },
  {
    name: "comments, tabs, CRLF and trailing commas",
    files: {
      [`${GLOBAL}/opencode.jsonc`]: `{\r\n\t/* head */\r\n\t"permissions": [ // mine\r\n\t\t${element("a", "deny")}, // a\r\n\t\t// nothing\r\n\t],\r\n\t"share": "manual",\r\n}\r\n`,
    },
    calls: [
      ["disable", "b"],
      ["enable", "a"],
      ["disable", "c", { effect: "ask" }],
    ],
    expected: { a: "allow allow deny", b: "deny deny deny", c: "ask ask ask" },
  },
  {
    name: "rules taken out of both files",
    files: {
      [`${GLOBAL}/opencode.json`]: arrayOf(["a", "deny"], ["b", "ask"]),
      [`${GLOBAL}/opencode.jsonc`]: arrayOf(["c", "deny"], ["a", "ask"]),
    },
    calls: [["enable", "a"]],
    expected: { a: "allow allow deny", b: "ask ask ask", c: "deny deny deny" },
  },
  {
    name: "an array that is lost beside a key of OpenCode 1",
    files: { [`${GLOBAL}/opencode.json`]: `{"provider": {}, "permissions": [${element("b", "deny")}]}` },
    calls: [["disable", "a"]],
    expected: { a: "deny deny deny", b: "allow allow deny" },
  },
  {
    name: "the map, and an array in the later file",
    files: {
      [`${GLOBAL}/opencode.json`]: '{"permission": {"skill": {"*": "ask", "a": "allow"}}, "tools": {"skill": true}}',
      [`${GLOBAL}/opencode.jsonc`]: arrayOf(["c", "deny"]),
    },
    calls: [
      ["disable", "a"],
      ["disable", "b"],
    ],
    expected: { a: "deny deny deny", b: "deny deny deny", c: "deny deny deny" },
  },
  {
    name: "what was disabled and enabled again",
    files: { [`${GLOBAL}/opencode.json`]: arrayOf(["b", "ask"]) },
    calls: [
      ["disable", "a"],
      ["disable", "c"],
      ["enable", "c"],
      ["enable", "a"],
    ],
    expected: { a: "allow allow deny", b: "ask ask ask", c: "allow allow deny" },
  },
]

let preview: Preview | undefined
afterEach(async () => {
  stop()
  await preview?.stop()
  preview = undefined
})

const EFFECT_OF: Record<string, Effect> = { available: "allow", ask: "ask", disabled: "deny" }
type Effects = Record<string, Record<string, Effect>>

/** What every agent has now, by id and agent, as the tool says. */
async function effectsNow(session: Session, ids: readonly string[]): Promise<Effects> {
  const found: Effects = {}
  for (const id of ids) {
    const { agents } = await session.inspect(id)
    const states = agents.filter((agent) => AGENTS.includes(agent.id))
    found[id] = Object.fromEntries(states.map((agent) => [agent.id, EFFECT_OF[agent.state] ?? "ask"]))
  }
  return found
}

/** Makes one change, after a rehearsal. Returns the effects that the rehearsal foretold. */
async function change(session: Session, ids: readonly string[], [action, id, input]: Call): Promise<Effects> {
  const foretold = await effectsNow(session, ids)
  const rehearsal = await session.call(action, { id, ...input, dryRun: true })
  expect(rehearsal.ok).toBe(true)
  for (const { agents, ids: changed, after } of rehearsal.impact)
    for (const one of changed)
      for (const agent of agents) {
        const effects = foretold[one]
        if (effects && AGENTS.includes(agent)) effects[agent] = after
      }
  expect(await session.call(action, { id, ...input })).toMatchObject({ ok: true, verification: { method: "host" } })
  return foretold
}

const wording = ({ action, resource, effect }: { action: string; resource: string; effect: string }) =>
  `${action} ${resource} ${effect}`
/** The host's own rules for everything differ between builds; they are left out. */
const isOurs = ({ action, resource }: { action: string; resource: string }) => action !== "*" || resource !== "*"

/** The rules that match, by id and agent, in order, as the tool traces them. */
async function tracesOf(session: Session, ids: readonly string[]): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {}
  for (const id of ids)
    for (const agent of AGENTS) {
      const { rules, caller } = await session.inspect(id, { agent })
      const traced = caller.trace.flatMap((index) => rules[index] ?? [])
      found[`${id} ${agent}`] = traced.filter(isOurs).map(wording)
    }
  return found
}

/** Every config and agent file below the sandbox, as it stands. */
function filesOf(root: string): Record<string, string> {
  const names = readdirSync(root, { recursive: true, withFileTypes: true })
  const paths = names
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
  const wanted = paths.filter((path) => /(^|\/)opencode\.jsonc?$|\/agents?\//.test(path) && !path.startsWith("state/"))
  return Object.fromEntries(wanted.map((path) => [path, readFileSync(join(root, path), "utf8")]))
}

it.each(CASES)("$name", async ({ files, calls, skills = ["a", "b", "c"], expected }) => {
  const session = await start({ build: "beta", files, skills })
  const ids = Object.keys(expected)
  let foretold: Effects = {}
  for (const call of calls) foretold = await change(session, ids, call)
  const traces = await tracesOf(session, ids)
  const edited = filesOf(session.host.root)
  stop()
  preview = await startPreview({ files: edited })

  const verdicts: Effects = {}
  const merged: Record<string, string[]> = {}
  const agents = await preview.agents()
  for (const id of ids) {
    const effects: Record<string, Effect> = {}
    for (const agent of AGENTS) {
      effects[agent] = await preview.verdict(agent, id)
      const permissions = agents.find((one) => one.id === agent)?.permissions ?? []
      const matching = permissions.filter((one) => like(one.action, "skill") && like(one.resource, id))
      merged[`${id} ${agent}`] = matching.filter(isOurs).map(wording)
    }
    verdicts[id] = effects
  }
  expect(merged).toEqual(traces)
  expect(verdicts).toEqual(foretold)
  const told = Object.entries(verdicts).map(([id, effects]) => [id, AGENTS.map((agent) => effects[agent]).join(" ")])
  expect(Object.fromEntries(told)).toEqual(expected)
})
