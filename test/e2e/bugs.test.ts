// Public bug reports about what a host does: the packed plugin on the real OpenCode 1, and a reader beside a writer.
import { existsSync, readFileSync } from "node:fs"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { setImmediate as nextTurn } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, inject, type TestContext, test, vi } from "vitest"
import { put } from "../actions/both-hosts.ts"
import { toolCalls } from "../bugs/calls.ts"
import { CASES } from "../bugs/cases.ts"
import { skillRules } from "../bugs/config-text.ts"
import { bugsAvailable, configTexts, layOut, readCalls } from "../bugs/corpus.ts"
import { report } from "../bugs/report.ts"
import { lookAt, type Opened, runCalls } from "../bugs/run.ts"
import { type Host, hostAvailable, startHost } from "../hosts/opencode-1/host.ts"
import { createSandbox, offlineConfigDir, type Sandbox } from "../hosts/opencode-1/sandbox.ts"
import { type ScriptedModel, startScriptedModel } from "../hosts/opencode-1/scripted-model.ts"
import { startPreview } from "../hosts/opencode-2/preview.ts"
import { type Effect, lastMatch } from "../hosts/opencode-2/rules.ts"
import { runChild } from "../process/run-child.ts"
import { makePlace } from "../process/world.ts"
import { pluginEntry } from "./packed.ts"

const PLUGIN = { plugin: [pluginEntry(inject("tarball"))] }

interface Place {
  readonly sandbox: Sandbox
  readonly configDir: string
  readonly model: ScriptedModel
}

/** A case in a home of its own, without a host yet. All share one cache, so that the plugin is installed once. */
async function layOutFor(id: string, cache: string, { onTestFinished }: TestContext): Promise<Place> {
  const fresh = await createSandbox()
  onTestFinished(() => fresh.remove())
  const { root, home } = fresh
  layOut(id, root)
  const calls = readCalls(id)
  const configDir = join(home, ".config", "opencode")
  const project = join(root, calls.find(({ cwd }) => cwd)?.cwd ?? "project")
  await offlineConfigDir(configDir)
  if (existsSync(join(project, ".opencode"))) await offlineConfigDir(join(project, ".opencode"))
  const { XDG_CONFIG_HOME: _, OPENCODE_DISABLE_EXTERNAL_SKILLS: __, ...env } = fresh.env
  const model = await startScriptedModel()
  onTestFinished(() => model.stop())
  return { sandbox: { ...fresh, project, env: { ...env, XDG_CACHE_HOME: cache } }, configDir, model }
}

/** Starts the host, and waits until it has written what it writes at its start: `$schema`, and a `.gitignore`. */
async function begin({ sandbox, configDir, model }: Place, config: object): Promise<Host> {
  const host = await startHost(sandbox, {
    model,
    env: { OPENCODE_CONFIG_CONTENT: JSON.stringify({ ...model.provider, ...config }) },
  })
  await settled(host, configDir).catch(async (error) => {
    await host.stop()
    throw error
  })
  return host
}

async function settled(host: Host, configDir: string): Promise<void> {
  await host.get("/agent")
  await vi.waitFor(() => expect(existsSync(join(configDir, ".gitignore"))).toBe(true), { timeout: 30_000 })
}

interface HostAgent {
  name: string
  permission: { permission: string; pattern: string; action: Effect }[]
}

async function open(id: string, place: Place, { onTestFinished }: TestContext): Promise<Opened> {
  const { sandbox, configDir, model } = place
  const where = { root: sandbox.root, configDir }
  const calls = readCalls(id)
  for (const { id: skill } of calls.flatMap(toolCalls))
    if (skill !== undefined && !existsSync(join(configDir, "skills", skill)))
      put(join(configDir, "skills", skill, "SKILL.md"), `---\nname: ${skill}\ndescription: About ${skill}.\n---\n`)
  if (calls.some(({ plugin_load }) => plugin_load)) await (await begin(place, {})).stop()
  const before = lookAt(where)
  const host = await begin(place, PLUGIN)
  onTestFinished(() => host.stop())
  if (calls.some(({ plugin_load }) => plugin_load)) expect(lookAt(where), "the load writes nothing").toEqual(before)

  async function turn(tool: string, args: object, agent: string) {
    const session = await host.createSession()
    model.reply({ tools: [{ name: tool, args }] })
    await host.prompt(session, { agent, text: "Go on." })
    return host.toolParts(session, tool)
  }
  return {
    ...where,
    async call(input) {
      await turn("skill_management", input, "build")
      return { text: model.last().toolResults.at(-1)?.content ?? "" }
    },
    async reload() {
      await host.restart()
      await settled(host, configDir)
    },
    /** The host's rules under the last-match rule, and where they do not ask, what its `skill` tool does. */
    async effect(agent, skill) {
      const agents = await host.get<HostAgent[]>("/agent")
      const rules = agents.find(({ name }) => name === agent)?.permission ?? []
      const effect = lastMatch(
        rules.map((rule) => ({ action: rule.permission, resource: rule.pattern, effect: rule.action })),
        "skill",
        skill,
      )
      if (effect === "ask") return effect
      const [state] = await turn("skill", { name: skill }, agent)
      expect(state?.status ?? "error", `${agent} loads ${skill}`).toBe(effect === "allow" ? "completed" : "error")
      return effect
    },
  }
}

const onHost = Object.entries(CASES).flatMap(([id, runs]) =>
  runs.filter(({ on }) => on === "real").map((run) => ({ id, run, name: id })),
)
const NO_START = { id: "B11", name: "B11: OpenCode 1 does not start on layers" }
const READER = { id: "B53", name: "B53: a reader never sees half a file" }

describe.skipIf(!hostAvailable || !bugsAvailable)("bug reports on a real host", () => {
  let first: Sandbox
  const passed = new Set<string>()
  beforeAll(async () => {
    first = await createSandbox()
    const model = await startScriptedModel()
    try {
      // Installs the plugin.
      await (await begin({ sandbox: first, configDir: first.configDir, model }, PLUGIN)).stop()
    } finally {
      await model.stop()
    }
  })
  afterAll(async () => {
    report([...onHost, NO_START, READER], passed)
    await first?.remove()
  })

  test.concurrent.for(onHost)("$name", async ({ id, run, name }, context) => {
    const place = await layOutFor(id, join(first.root, "cache"), context as TestContext)
    const opened = await open(id, place, context as TestContext)
    await runCalls(opened, readCalls(id).flatMap(toolCalls), run)
    if (id === "B55") {
      const warnings = async () => (await place.sandbox.readLog()).match(/duplicate skill name" name=handoff/g)
      await vi.waitFor(async () => expect(await warnings()).toHaveLength(2), { timeout: 30_000, interval: 200 })
    }
    passed.add(name)
  })

  test.concurrent(NO_START.name, async (context) => {
    const place = await layOutFor("B11", join(first.root, "cache"), context)
    const before = lookAt({ root: place.sandbox.root, configDir: place.configDir })
    await expect(begin(place, PLUGIN)).rejects.toThrow(/Configuration is invalid at .*\n.* got \[.* permission/)
    expect(lookAt({ root: place.sandbox.root, configDir: place.configDir }).files).toEqual(before.files)
    passed.add(NO_START.name)
  })

  test(READER.name, async ({ onTestFinished }) => {
    const place = await makePlace({})
    onTestFinished(() => rm(place.root, { recursive: true, force: true }))
    layOut("B53", place.root)
    const env = { ...place.env, XDG_CONFIG_HOME: join(place.root, "home/.config") }
    const calls = readCalls("B53")
    const repeat = calls[0]?.loop ?? 0
    let writing = true
    const writer = runChild(
      { ...place, env },
      { skills: ["alpha", "flip"], loaded: [["alpha", "deny"]], calls: calls.flatMap(toolCalls), repeat },
    ).finally(() => {
      writing = false
    })
    const path = join(place.root, "home/.config/opencode/opencode.jsonc")
    const seen = new Map<string, number>()
    for (; writing; await nextTurn())
      for (let i = 0; i < 100; i++) {
        const text = readFileSync(path, "utf8")
        seen.set(text, (seen.get(text) ?? 0) + 1)
      }
    const { stderr, answers } = await writer
    expect(stderr).toBe("")
    expect(answers.map(({ ok, changed }) => ok && changed)).toEqual(Array(2 * repeat).fill(true))
    expect([...seen.keys()].map(skillRules).sort()).toEqual([["alpha deny"], ["alpha deny", "flip deny"]])
    console.info(`${answers.length} writes, read ${[...seen.values()].join(" and ")} times in its two forms`)
    passed.add(READER.name)
  })
})

/** Agent, skill and effect; then the skills that the server registers besides its own. */
const JUDGED: { id: string; verdicts?: [agent: string, skill: string, effect: Effect][]; skills?: string[] }[] = [
  {
    id: "B15",
    verdicts: [
      ["build", "unallowed-skill", "deny"],
      ["build", "allowed-skill", "allow"],
    ],
  },
  {
    id: "B17",
    verdicts: [
      ["build", "alpha", "allow"],
      ["build", "beta", "ask"],
      ["team/tester", "alpha", "deny"],
    ],
  },
  {
    id: "B21",
    verdicts: [
      ["build", "one", "allow"],
      ["build", "two", "deny"],
      ["build", "three", "deny"],
    ],
  },
  { id: "B61", skills: ["flat", "plur", "sing"] },
  { id: "B63", skills: ["good-one", "good-two"] },
]

// What the cases expect of the stand-in is what a server says that runs.
test.skipIf(!hostAvailable || !bugsAvailable).each(JUDGED)(
  "$id on the preview of OpenCode 2",
  async ({ id, verdicts = [], skills }) => {
    const files = Object.entries(configTexts(id)).map(([path, text]) => [`config/opencode/${path}`, text])
    const preview = await startPreview({ files: Object.fromEntries(files) })
    try {
      for (const [agent, skill, effect] of verdicts)
        expect([agent, skill, await preview.verdict(agent, skill)]).toEqual([agent, skill, effect])
      // The registry fills after the agents are there.
      if (skills)
        await expect
          .poll(async () => (await preview.skills()).sort(), { timeout: 30_000, interval: 200 })
          .toEqual(["customize-opencode", ...skills])
    } finally {
      await preview.stop()
    }
  },
)
