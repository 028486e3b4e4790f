/** What the real OpenCode 1 makes of layered configs, and what the plugin foresees: the same rules, in the same order. */
import { readFile, symlink } from "node:fs/promises"
import { join } from "node:path"
import { beforeAll, describe, expect, test } from "vitest"
import { readConfigText } from "../../src/core/config-text.ts"
import { readDocument } from "../../src/core/document.ts"
import { compileRuleset, decide, speaksOfSkills } from "../../src/core/evaluate.ts"
import { attribute, modelOpenCode1 } from "../../src/core/predict.ts"
import type { Effect, Rule } from "../../src/core/rule.ts"
import { documentsOf } from "../../src/hosts/documents.ts"
import { globalSources, higherSources } from "../../src/hosts/opencode-1/layers.ts"
import { inEnvironment } from "../hosts/environment.ts"
import { debugAgent, type Env, hostAvailable } from "../hosts/opencode-1/host.ts"
import { createSandbox, offlineConfigDir, type Sandbox } from "../hosts/opencode-1/sandbox.ts"

/** Action, resource, effect. */
type Row = readonly [action: string, resource: string, effect: Effect]

const ruleOf = ([action, resource, effect]: Row): Rule => ({ action, resource, effect })
const rowOf = ({ action, resource, effect }: Rule): Row => [action, resource, effect]
const skill = (...rows: [resource: string, effect: Effect][]): Row[] => rows.map((row) => ["skill", ...row])

async function rulesOnHost(sandbox: Sandbox, agent: string, env: Env = {}): Promise<Row[]> {
  const { exitCode, json, stderr } = await debugAgent(sandbox, agent, { env })
  if (exitCode !== 0) throw new Error(`the host ended with ${exitCode}:\n${stderr}`)
  const { permission } = json as { permission: { permission: string; pattern: string; action: Effect }[] }
  return (
    permission
      // The host puts some of these behind the user's.
      .filter((rule) => rule.permission !== "external_directory")
      .map((rule) => [rule.permission, rule.pattern, rule.action])
  )
}

/** What the host gives an agent before anything of the user's, without the sandbox's root. */
const defaults = new Map<string, Row[]>()
const AGENTS = ["build", "plan", "explore", "general"]

const withoutRoot = (rows: readonly Row[], { root }: Sandbox): Row[] =>
  rows.map(([action, resource, effect]) => [action, resource.replace(root.slice(1), ""), effect])

/** A custom agent starts as `general` does, without the rule that one has of its own. */
const defaultsOf = (agent: string): Row[] =>
  defaults.get(agent) ?? (defaults.get("general") ?? []).filter(([action]) => action !== "todowrite")

/** What stands behind the host's own rules, which have to be there unchanged. */
function tailOf(rules: readonly Row[], agent: string, sandbox: Sandbox): Row[] {
  const { length } = defaultsOf(agent)
  expect(withoutRoot(rules.slice(0, length), sandbox)).toEqual(defaultsOf(agent))
  return rules.slice(length)
}

describe.skipIf(!hostAvailable)("merged rules on OpenCode 1", () => {
  beforeAll(async () => {
    await using sandbox = await createSandbox()
    for (const agent of AGENTS) defaults.set(agent, withoutRoot(await rulesOnHost(sandbox, agent), sandbox))
    expect(defaults.get("build")?.[0]).toEqual(["*", "*", "allow"])
    expect(defaults.get("build")?.filter(([action]) => action === "skill")).toEqual([])
  })

  interface GlobalCase {
    name: string
    /** Global files by name; a project file starts with `project/`. Text as it is, anything else as JSON. */
    files: Record<string, unknown>
    rules: Row[]
    effects?: Record<string, Effect>
  }
  const permission = (value: unknown) => ({ permission: value })
  const skills = (value: unknown) => permission({ skill: value })

  test.concurrent.each<GlobalCase>([
    {
      name: "three global files, later wins, key keeps its first place",
      files: {
        "config.json": skills({ a: "deny", x: "allow" }),
        "opencode.json": skills({ b: "deny", x: "ask" }),
        "opencode.jsonc": skills({ c: "deny", x: "deny" }),
      },
      rules: skill(["a", "deny"], ["x", "deny"], ["b", "deny"], ["c", "deny"]),
    },
    {
      name: "string then object: the string is lost",
      files: { "opencode.json": skills("deny"), "opencode.jsonc": skills({ c: "deny" }) },
      rules: skill(["c", "deny"]),
    },
    {
      name: "object then string: the object is lost",
      files: { "opencode.json": skills({ c: "deny" }), "opencode.jsonc": skills("allow") },
      rules: skill(["*", "allow"]),
    },
    {
      name: "string permission then object",
      files: { "opencode.json": permission("ask"), "opencode.jsonc": skills({ c: "deny" }) },
      rules: [
        ["*", "*", "ask"],
        ["skill", "c", "deny"],
      ],
    },
    {
      name: "object then string permission: star comes last and wins",
      files: { "opencode.json": skills({ c: "deny" }), "opencode.jsonc": permission("ask") },
      rules: [
        ["skill", "c", "deny"],
        ["*", "*", "ask"],
      ],
    },
    {
      name: "project overrides a value at the global place",
      files: {
        "opencode.jsonc": skills({ "*": "allow", a: "deny" }),
        "project/opencode.json": skills({ "*": "deny" }),
      },
      rules: skill(["*", "deny"], ["a", "deny"]),
    },
    {
      name: "project adds a star after a global deny",
      files: { "opencode.jsonc": skills({ a: "deny" }), "project/opencode.json": skills({ "*": "ask" }) },
      rules: skill(["a", "deny"], ["*", "ask"]),
    },
    {
      name: "last match wins in written order",
      files: { "opencode.jsonc": skills({ a: "deny", "*": "allow" }) },
      rules: skill(["a", "deny"], ["*", "allow"]),
      effects: { a: "allow" },
    },
    {
      name: "star permission key after skill",
      files: { "opencode.jsonc": permission({ skill: { a: "deny" }, "*": "ask" }) },
      rules: [
        ["skill", "a", "deny"],
        ["*", "*", "ask"],
      ],
      effects: { a: "ask" },
    },
    {
      name: "star permission key before skill",
      files: { "opencode.jsonc": permission({ "*": "ask", skill: { a: "deny" } }) },
      rules: [
        ["*", "*", "ask"],
        ["skill", "a", "deny"],
      ],
      effects: { a: "deny" },
    },
    {
      name: "a pattern as permission name",
      files: { "opencode.jsonc": permission({ "sk*": "deny" }) },
      rules: [["sk*", "*", "deny"]],
      effects: { a: "deny" },
    },
    {
      name: "empty skill map",
      files: { "opencode.jsonc": skills({}) },
      rules: [],
      effects: { a: "allow" },
    },
    {
      name: "integer-like keys first",
      files: { "opencode.jsonc": '{"permission":{"skill":{"b":"deny","2":"deny","1":"ask"}}}' },
      rules: skill(["1", "ask"], ["2", "deny"], ["b", "deny"]),
    },
    {
      name: "duplicate key: last value, first place",
      files: { "opencode.jsonc": '{"permission":{"skill":{"a":"deny","*":"allow","a":"ask"}}}' },
      rules: skill(["a", "ask"], ["*", "allow"]),
      effects: { a: "allow" },
    },
  ])("$name", async ({ files, rules, effects = {} }) => {
    await using sandbox = await createSandbox()
    const layers: ReturnType<typeof readDocument>[] = []
    for (const [name, content] of Object.entries(files)) {
      const text = typeof content === "string" ? content : JSON.stringify(content)
      const inProject = name.startsWith("project/")
      await (inProject ? sandbox.projectFile(name.slice("project/".length), text) : sandbox.config(name, text))
      layers.push(
        readDocument(
          readConfigText(text, () => undefined),
          inProject ? "project" : "global",
          name,
        ),
      )
    }
    const all = await rulesOnHost(sandbox, "build")
    expect(tailOf(all, "build", sandbox)).toEqual(rules)
    expect(modelOpenCode1(layers, sandbox.home).tail("build").map(rowOf)).toEqual(rules)
    for (const [id, effect] of Object.entries(effects))
      expect(decide(compileRuleset(all.map(ruleOf)), id).effect).toBe(effect)
  })

  interface LayerCase {
    name: string
    /** By path: `config/` is the global folder, else below the sandbox's root (`project/`, `home/`, …). */
    files: Record<string, unknown>
    /** `ROOT` stands for the sandbox's root. */
    env?: Record<string, string>
    /** Links by path, to a path. */
    links?: Record<string, string>
    agent?: string
    /** The directory that the host works in. */
    directory?: string
    /** Makes this directory a repository. */
    repository?: string
    /** The rules that can speak of skills. `ROOT` as above. */
    rules: Row[]
  }
  const agentFile = (head: string, eol = "\n") => ["---", ...head.split("\n"), "---", "Text.", ""].join(eol)

  test.concurrent.each<LayerCase>([
    {
      name: "$OPENCODE_CONFIG lies over the global files, below the project",
      files: {
        "config/opencode.jsonc": skills({ a: "deny", b: "deny", c: "deny" }),
        "extra/mine.jsonc": '{"permission": {"skill": {"b": "ask", "c": "ask", "d": "ask"}}, /* mine */}',
        "project/opencode.json": skills({ c: "allow" }),
      },
      env: { OPENCODE_CONFIG: "ROOT/extra/mine.jsonc" },
      rules: skill(["a", "deny"], ["b", "ask"], ["c", "allow"], ["d", "ask"]),
    },
    {
      name: "project files of a repository, from its root down; what lies above it counts nothing",
      files: {
        "opencode.json": skills({ above: "deny" }),
        "repo/opencode.json": skills({ a: "deny", b: "deny" }),
        "repo/opencode.jsonc": skills({ b: "ask", c: "ask" }),
        "repo/deep/opencode.json": skills({ c: "allow", d: "deny" }),
        "repo/deep/down/opencode.jsonc": skills({ d: "ask" }),
      },
      repository: "repo",
      directory: "repo/deep/down",
      rules: skill(["a", "deny"], ["b", "ask"], ["c", "allow"], ["d", "ask"]),
    },
    {
      name: "project files without a repository",
      files: {
        "opencode.json": skills({ a: "deny", b: "deny" }),
        "project/opencode.json": skills({ b: "ask", c: "ask" }),
        "project/opencode.jsonc": skills({ c: "allow" }),
      },
      rules: skill(["a", "deny"], ["b", "ask"], ["c", "allow"]),
    },
    {
      name: ".opencode of project and parent lie over all project files, the outer over the inner",
      files: {
        "repo/opencode.json": skills({ a: "deny", b: "deny", c: "deny" }),
        "repo/.opencode/opencode.json": skills({ a: "ask", b: "ask" }),
        "repo/deep/.opencode/opencode.jsonc": skills({ a: "allow", c: "ask" }),
        "repo/deep/opencode.json": skills({ a: "deny", b: "deny", c: "deny" }),
      },
      repository: "repo",
      directory: "repo/deep",
      rules: skill(["a", "ask"], ["b", "ask"], ["c", "ask"]),
    },
    {
      name: "~/.opencode lies over .opencode",
      files: {
        "project/.opencode/opencode.json": skills({ a: "deny", b: "deny" }),
        "home/.opencode/opencode.json": skills({ b: "ask", c: "ask" }),
        "home/.opencode/opencode.jsonc": skills({ c: "allow" }),
      },
      rules: skill(["a", "deny"], ["b", "ask"], ["c", "allow"]),
    },
    {
      name: "a project below the home directory: ~/.opencode is read once",
      files: {
        "home/opencode.json": skills({ a: "deny" }),
        "home/.opencode/opencode.json": skills({ a: "ask", b: "ask" }),
        "home/code/.opencode/opencode.json": skills({ b: "deny", c: "deny" }),
        "home/code/p/opencode.json": skills({ c: "ask", d: "ask" }),
      },
      directory: "home/code/p",
      rules: skill(["a", "ask"], ["c", "deny"], ["d", "ask"], ["b", "ask"]),
    },
    {
      name: "$OPENCODE_CONFIG_DIR lies over ~/.opencode, its config.json is not read",
      files: {
        "home/.opencode/opencode.json": skills({ a: "deny", b: "deny" }),
        "extra/opencode.json": skills({ b: "ask", c: "deny" }),
        "extra/opencode.jsonc": skills({ c: "ask" }),
        "extra/config.json": skills({ d: "deny" }),
        "extra/agents/build.md": agentFile("permission:\n  skill:\n    e: deny"),
      },
      env: { OPENCODE_CONFIG_DIR: "ROOT/extra" },
      rules: skill(["a", "deny"], ["b", "ask"], ["c", "ask"], ["e", "deny"]),
    },
    {
      name: "$OPENCODE_CONFIG_DIR that names the global folder: its files come again, over the project's",
      files: {
        "config/opencode.json": skills({ a: "deny" }),
        "project/opencode.json": skills({ a: "allow", b: "ask" }),
        "project/.opencode/opencode.json": skills({ b: "deny" }),
      },
      env: { OPENCODE_CONFIG_DIR: "ROOT/config/opencode" },
      rules: skill(["a", "deny"], ["b", "deny"]),
    },
    {
      name: "$OPENCODE_CONFIG_CONTENT lies over all files",
      files: {
        "config/opencode.json": skills({ a: "deny", b: "deny" }),
        "home/.opencode/opencode.json": skills({ b: "deny" }),
      },
      env: { OPENCODE_CONFIG_CONTENT: '{"permission": {"skill": {"b": "ask", /* all */ "*": "allow"}},}' },
      rules: skill(["a", "deny"], ["b", "ask"], ["*", "allow"]),
    },
    {
      name: "$OPENCODE_PERMISSION lies over everything",
      files: { "config/opencode.json": skills({ a: "deny", b: "deny" }) },
      env: {
        OPENCODE_CONFIG_CONTENT: JSON.stringify(skills({ b: "ask", c: "ask" })),
        OPENCODE_PERMISSION: '{"skill": {"c": "allow", "d": "deny"}, "sk*": "ask"}',
      },
      rules: [...skill(["a", "deny"], ["b", "ask"], ["c", "allow"], ["d", "deny"]), ["sk*", "*", "ask"]],
    },
    {
      name: "$OPENCODE_PERMISSION is plain JSON without references",
      files: {},
      env: { OPENCODE_PERMISSION: '{"skill": {"{env:TEAM}x": "deny"}}', TEAM: "red" },
      rules: skill(["{env:TEAM}x", "deny"]),
    },
    {
      name: "`__proto__` is a key of strict JSON and of YAML, not of a config",
      files: {
        "config/opencode.json": '{"permission": {"skill": {"__proto__": "deny", "a": "deny"}}}',
        "config/agents/build.md": agentFile("permission:\n  skill:\n    __proto__: ask\n    b: ask"),
      },
      env: { OPENCODE_PERMISSION: '{"skill": {"__proto__": "allow"}}' },
      rules: skill(["a", "deny"], ["__proto__", "allow"], ["__proto__", "ask"], ["b", "ask"]),
    },
    {
      name: "$OPENCODE_PERMISSION with a comma too many counts nothing",
      files: { "config/opencode.json": skills({ a: "deny" }) },
      env: { OPENCODE_PERMISSION: '{"skill": {"b": "deny",}}' },
      rules: skill(["a", "deny"]),
    },
    {
      name: "$OPENCODE_PERMISSION that is a string counts nothing",
      files: { "config/opencode.json": skills({ a: "deny" }) },
      env: { OPENCODE_PERMISSION: '"ask"' },
      rules: skill(["a", "deny"]),
    },
    {
      name: "$OPENCODE_DISABLE_PROJECT_CONFIG drops the project's files and folders only",
      files: {
        "config/opencode.json": skills({ a: "deny" }),
        "project/opencode.json": skills({ a: "allow" }),
        "project/.opencode/opencode.json": skills({ a: "ask" }),
        "project/.opencode/agents/build.md": agentFile("permission:\n  skill: ask"),
        "home/.opencode/opencode.json": skills({ b: "ask" }),
      },
      env: { OPENCODE_DISABLE_PROJECT_CONFIG: "1" },
      rules: skill(["a", "deny"], ["b", "ask"]),
    },
    {
      name: "an agent twice in one file: the last counts",
      files: {
        "config/opencode.json":
          '{"agent": {"build": {"permission": {"skill": {"a": "deny"}}}, "build": {"permission": {"skill": {"b": "ask"}}}}}',
      },
      rules: skill(["b", "ask"]),
    },
    {
      name: "tools of any layer lie below the merged permission",
      files: {
        "config/opencode.json": { tools: { "sk*": true }, ...skills({ a: "deny" }) },
        "project/opencode.json": { tools: { skill: false } },
      },
      rules: [
        ["sk*", "*", "allow"],
        ["skill", "a", "deny"],
      ],
    },
    {
      name: "tools alone",
      files: { "config/opencode.json": { tools: { skill: false, bash: true } } },
      rules: [["skill", "*", "deny"]],
    },
    {
      name: "tools in an agent: its permission in the same layer replaces them name by name",
      files: {
        "config/opencode.json": {
          ...skills({ a: "deny" }),
          agent: { build: { tools: { skill: false, "s*": true }, permission: { skill: { b: "ask" } } } },
        },
        "project/opencode.json": { agent: { build: { permission: { skill: { c: "deny" } } } } },
      },
      rules: [...skill(["a", "deny"], ["b", "ask"], ["c", "deny"]), ["s*", "*", "allow"]],
    },
    {
      name: "tools in an agent lie over its permission of a lower layer",
      files: {
        "config/opencode.json": { agent: { build: { permission: { skill: { b: "ask" } } } } },
        "project/opencode.json": { agent: { build: { tools: { skill: true } } } },
      },
      rules: skill(["*", "allow"]),
    },
    {
      name: "tools in an agent, nothing over them",
      files: { "config/opencode.json": { agent: { plan: { tools: { skill: false } } } } },
      agent: "plan",
      rules: [["skill", "*", "deny"]],
    },
    {
      name: "mode lies over agent, of whatever layer",
      files: {
        "config/opencode.json": { mode: { build: { permission: { skill: { a: "deny", b: "deny" } } } } },
        "project/opencode.json": { agent: { build: { permission: { skill: { b: "ask", c: "ask" } } } } },
      },
      rules: skill(["b", "deny"], ["c", "ask"], ["a", "deny"]),
    },
    {
      name: "a mode that is no agent yet",
      files: { "config/opencode.json": { mode: { mine: { permission: { skill: { a: "deny" } } } } } },
      agent: "mine",
      rules: skill(["a", "deny"]),
    },
    {
      name: "modes/*.md",
      files: {
        "config/modes/mine.md": agentFile("permission:\n  skill:\n    a: deny"),
        "config/mode/build.md": agentFile("permission:\n  skill:\n    a: ask"),
      },
      agent: "mine",
      rules: skill(["a", "deny"]),
    },
    {
      name: "modes/*.md lie where agents/*.md of their folder lie: content goes over them",
      files: { "config/mode/build.md": agentFile("permission:\n  skill:\n    a: ask\n    b: ask") },
      env: { OPENCODE_CONFIG_CONTENT: JSON.stringify({ agent: { build: skills({ a: "deny", c: "deny" }) } }) },
      rules: skill(["a", "deny"], ["b", "ask"], ["c", "deny"]),
    },
    {
      name: "modes/*.md under agents/*.md of a later folder, and under the key mode",
      files: {
        "config/modes/build.md": agentFile("permission:\n  skill:\n    a: ask\n    b: ask\n    c: ask"),
        "project/.opencode/agents/build.md": agentFile("permission:\n  skill:\n    b: deny"),
        "project/opencode.json": { mode: { build: skills({ c: "deny" }) } },
      },
      rules: skill(["a", "ask"], ["b", "deny"], ["c", "deny"]),
    },
    {
      name: "agents/*.md of a new agent, after the top-level rules",
      files: {
        "config/opencode.json": skills({ a: "deny", b: "deny" }),
        "config/agents/writer.md": agentFile(
          'description: Writes\npermission:\n  skill:\n    "a": allow\n    "doc-*": ask\n  bash: deny',
        ),
      },
      agent: "writer",
      rules: skill(["a", "deny"], ["b", "deny"], ["a", "allow"], ["doc-*", "ask"]),
    },
    {
      name: "agent/ as well as agents/, in folders",
      files: {
        "config/agent/team/writer.md": agentFile("permission:\n  skill: ask"),
        "project/.opencode/agents/team/writer.md": agentFile("permission:\n  skill:\n    a: deny"),
      },
      agent: "team/writer",
      rules: skill(["a", "deny"]),
    },
    {
      name: "a name in the frontmatter renames the agent",
      files: {
        "config/agents/writer.md": agentFile("name: author\npermission:\n  skill:\n    a: deny"),
        "config/opencode.json": {
          agent: {
            author: { permission: { skill: { a: "ask", b: "ask" } } },
            writer: { permission: { skill: "deny" } },
          },
        },
      },
      agent: "author",
      rules: skill(["a", "deny"], ["b", "ask"]),
    },
    {
      name: "the same agent as JSON and as Markdown, global and project",
      files: {
        "config/opencode.json": { agent: { writer: { permission: { skill: { a: "deny", b: "deny", c: "deny" } } } } },
        "config/agents/writer.md": agentFile("permission:\n  skill:\n    b: ask\n    d: ask"),
        "project/opencode.json": { agent: { writer: { permission: { skill: { b: "allow", c: "allow" } } } } },
        "project/.opencode/agents/writer.md": agentFile("permission:\n  skill:\n    d: allow"),
      },
      agent: "writer",
      rules: skill(["a", "deny"], ["b", "ask"], ["c", "allow"], ["d", "allow"]),
    },
    {
      name: "an agent's permission as a string, under a map and over one",
      files: {
        "config/opencode.json": { agent: { writer: { permission: "ask" }, build: { permission: { skill: "deny" } } } },
        "config/agents/writer.md": agentFile("permission:\n  skill:\n    a: deny"),
      },
      agent: "writer",
      rules: [
        ["*", "*", "ask"],
        ["skill", "a", "deny"],
      ],
    },
    {
      name: "a native agent, overridden in JSON",
      files: {
        "config/opencode.json": {
          ...skills({ a: "deny" }),
          agent: { explore: { permission: { skill: { "*": "ask", b: "allow" } } } },
        },
      },
      agent: "explore",
      rules: skill(["a", "deny"], ["*", "ask"], ["b", "allow"]),
    },
    {
      name: "a native agent, overridden in Markdown with CRLF",
      files: {
        "config/opencode.json": skills({ a: "deny" }),
        "config/agents/plan.md": agentFile("description: Plans\npermission:\n  skill:\n    a: ask", "\r\n"),
      },
      agent: "plan",
      rules: skill(["a", "deny"], ["a", "ask"]),
    },
    {
      name: "a description with a colon, which is no YAML: the host mends it",
      files: {
        "config/agents/writer.md": agentFile("description: Use it: always\npermission:\n  skill:\n    a: deny"),
      },
      agent: "writer",
      rules: skill(["a", "deny"]),
    },
    {
      name: "the same in CRLF, with a name",
      files: {
        "config/agents/build.md": agentFile(
          "name: author\ndescription: Use it: always # so\npermission:\n  skill: ask",
          "\r\n",
        ),
      },
      agent: "author",
      rules: skill(["*", "ask"]),
    },
    {
      name: "a head that cannot be mended says nothing",
      files: {
        "config/agents/writer.md": agentFile('description: "Use it": always\npermission:\n  skill:\n    a: deny'),
      },
      agent: "writer",
      rules: [],
    },
    {
      name: "a key that stands twice in a head: it says nothing",
      files: { "config/agents/writer.md": agentFile("permission:\n  skill:\n    a: deny\n    a: ask") },
      agent: "writer",
      rules: [],
    },
    {
      name: "anchors and merge keys in a head",
      files: {
        "config/agents/writer.md": agentFile(
          "shared: &shared\n  a: deny\n  b: ask\n  d: ask\npermission:\n  skill:\n    d: deny\n    <<: *shared\n    b: allow",
        ),
        "config/agents/reader.md": agentFile("shared: &shared\n  a: deny\npermission:\n  skill: *shared"),
      },
      agent: "writer",
      rules: skill(["d", "deny"], ["a", "deny"], ["b", "allow"]),
    },
    {
      name: "the home directory in patterns",
      files: {
        "config/opencode.json": {
          ...skills({ "~/x": "deny", "~": "ask", "$HOME/y": "deny", "a~/x": "deny" }),
          agent: { build: { permission: { skill: { $HOMEy: "ask" } } } },
        },
      },
      rules: skill(
        ["ROOT/home/x", "deny"],
        ["ROOT/home", "ask"],
        ["ROOT/home/y", "deny"],
        ["a~/x", "deny"],
        ["ROOT/homey", "ask"],
      ),
    },
    {
      name: "references in keys and values",
      files: {
        "config/opencode.json":
          '{"permission": {"skill": {"{env:TEAM}": "deny", "b": "{file:./effect}", "{env:NONE}c": "ask"}}}',
        "config/effect": "ask\n",
        "config/opencode.jsonc": '{\n  // {file:./missing}\n  "permission": {"skill": {"{file:~/name}": "deny"}}\n}',
        "home/name": 'my "own"\n',
        "project/opencode.json": '{"agent": {"{env:WHO}": {"permission": {"skill": {"{file:../deep}": "ask"}}}}}',
        deep: "d",
      },
      env: { TEAM: "red", WHO: "build" },
      rules: skill(["red", "deny"], ["b", "ask"], ["c", "ask"], ['my "own"', "deny"], ["d", "ask"]),
    },
    {
      name: "a reference in a reference: variables are replaced first, in the whole text",
      files: {
        "config/opencode.json": '{"permission": {"skill": {"{file:{env:WHERE}/name}": "deny", "{env:WHAT}": "ask"}}}',
        "config/name": "a",
        "config/other": "{env:WHERE}",
      },
      env: { WHERE: "ROOT/config/opencode", WHAT: "{file:./other}" },
      rules: skill(["a", "deny"], ["{env:WHERE}", "ask"]),
    },
    {
      name: "byte order mark, CRLF, comments, trailing commas; an empty file",
      files: {
        "config/config.json": "",
        "config/opencode.json": '\uFEFF{\r\n  // skills\r\n  "permission": {"skill": {"a": "deny",},},\r\n}\r\n',
        "config/opencode.jsonc": '{"permission": /* again */ {"skill": {"a": "ask"}}}',
      },
      rules: skill(["a", "ask"]),
    },
    {
      name: "links to a config and to a folder of agents",
      files: {
        "dotfiles/opencode.json": skills({ a: "deny" }),
        "dotfiles/agents/writer.md": agentFile("permission:\n  skill:\n    a: ask"),
      },
      links: { "config/opencode.json": "dotfiles/opencode.json", "config/agents": "dotfiles/agents" },
      agent: "writer",
      rules: skill(["a", "deny"], ["a", "ask"]),
    },
    {
      name: "integer-like names of agents' rules and of permissions",
      files: {
        "config/opencode.json": skills({ b: "deny", "7": "ask" }),
        "config/agents/writer.md": agentFile("permission:\n  skill:\n    z: deny\n    10: ask\n    9: deny"),
      },
      agent: "writer",
      rules: skill(["7", "ask"], ["b", "deny"], ["9", "deny"], ["10", "ask"], ["z", "deny"]),
    },
    {
      name: "every layer at once",
      files: {
        "config/config.json": skills({ k1: "deny", s: "deny" }),
        "config/opencode.json": skills({ k2: "deny", s: "ask" }),
        "config/opencode.jsonc": skills({ k3: "deny", s: "allow" }),
        "extra/explicit.json": skills({ k4: "deny", s: "deny" }),
        "project/opencode.json": skills({ k5: "deny", s: "ask" }),
        "project/opencode.jsonc": skills({ k6: "deny", s: "allow" }),
        "project/.opencode/opencode.json": skills({ k7: "deny", s: "deny" }),
        "home/.opencode/opencode.json": skills({ k8: "deny", s: "ask" }),
        "extra/dir/opencode.json": skills({ k9: "deny", s: "allow" }),
      },
      env: {
        OPENCODE_CONFIG: "ROOT/extra/explicit.json",
        OPENCODE_CONFIG_DIR: "ROOT/extra/dir",
        OPENCODE_CONFIG_CONTENT: JSON.stringify(skills({ k10: "deny", s: "deny" })),
        OPENCODE_PERMISSION: '{"skill": {"k11": "deny", "s": "ask"}}',
      },
      rules: skill(
        ["k1", "deny"],
        ["s", "ask"],
        ...Array.from({ length: 10 }, (_, i): [string, Effect] => [`k${i + 2}`, "deny"]),
      ),
    },
  ])("$name", async ({ files, env = {}, links = {}, agent = "build", directory, repository, rules }) => {
    await using sandbox = await createSandbox()
    const within = (path: string) => path.replace(/^config\//, "config/opencode/")
    const at = (path: string) => join(sandbox.root, within(path))
    const placed = (text: string) => text.replace("ROOT", sandbox.root)
    for (const [name, content] of Object.entries(files))
      await sandbox.file(within(name), typeof content === "string" ? content : JSON.stringify(content))
    for (const [name, target] of Object.entries(links)) await symlink(at(target), at(name))
    if (repository) await sandbox.repository(repository)
    const variables = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, placed(value)]))
    if (variables.OPENCODE_CONFIG_DIR) await offlineConfigDir(variables.OPENCODE_CONFIG_DIR)
    // The places as the host names them to a plugin.
    await sandbox.config("plugins/places.ts", placesPlugin(at("places.json")))

    const host = { ...sandbox, project: directory ? at(directory) : sandbox.project }
    const real = (await rulesOnHost(host, agent, variables)).map(ruleOf)
    const named = JSON.parse(await readFile(at("places.json"), "utf8"))
    expect(named).toEqual({ directory: host.project, worktree: repository ? at(repository) : "/" })

    const tail = await foreseen({ ...sandbox.env, ...variables }, agent, {
      ...named,
      home: sandbox.home,
      configDirectory: sandbox.configDir,
    })
    const literal = rules.map(([action, resource, effect]): Row => [action, placed(resource), effect])
    expect(tailOf(real.map(rowOf), agent, sandbox).filter((row) => speaksOfSkills(ruleOf(row)))).toEqual(literal)
    expect(tail.map(rowOf)).toEqual(literal)
    expect(attribute(real, tail, defaults.has(agent)).base).not.toBeNull()
  })
})

const placesPlugin = (file: string) => `
  import { writeFileSync } from "node:fs"
  const server = async ({ directory, worktree }) => {
    writeFileSync(${JSON.stringify(file)}, JSON.stringify({ directory, worktree }))
    return {}
  }
  export default { id: "places", server }`

type Places = Parameters<typeof higherSources>[0]

/** The tail that the plugin would foresee inside a host with this environment. */
const foreseen = (env: Env, agent: string, places: Places) =>
  inEnvironment(env, async () => {
    const sources = [...(await globalSources(places.configDirectory)), ...(await higherSources(places))]
    return modelOpenCode1(await documentsOf(sources), places.home).tail(agent)
  })
