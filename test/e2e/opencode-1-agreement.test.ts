/** The model and the real OpenCode 1 on generated configs: the same rules for every agent, the same verdict for every skill. */
import fc from "fast-check"
import { describe, expect, inject, type TestContext, test } from "vitest"
import type { Effect, Rule } from "../../src/core/rule.ts"
import { opencode1 } from "../../src/hosts/opencode-1/host.ts"
import { loadedAtStart } from "../../src/hosts/opencode-1/layers.ts"
import { plainOf } from "../core/handwriting.ts"
import { inEnvironment } from "../hosts/environment.ts"
import { SKILLS } from "../hosts/generated.ts"
import { config1, type GeneratedConfig1 } from "../hosts/opencode-1/generated.ts"
import { debugAgent, hostAvailable, startHost } from "../hosts/opencode-1/host.ts"
import { createSandbox, offlineConfigDir } from "../hosts/opencode-1/sandbox.ts"
import { startScriptedModel } from "../hosts/opencode-1/scripted-model.ts"
import { type Verdict, verdictsOf } from "../hosts/opencode-1/verdicts.ts"
import { decisionsIn, effectsIn, type Inspected, Ledger, numberFrom, ofSkills, toolSays } from "./agreement.ts"
import { pluginEntry } from "./packed.ts"

/** Other seeds and numbers to look for more. */
const SEED = numberFrom("AGREEMENT_SEED", 40)
/** Configs whose skills are loaded; and those of which only the rules are compared, at a quarter of the time. */
const LOADED = numberFrom("AGREEMENT_CONFIGS", 20)
const RULES_ONLY = numberFrom("AGREEMENT_RULES_ONLY", 20)
/** The first of them have the packed plugin, which a model calls. */
const WITH_PLUGIN = 4

const DENIED = ["explore", "compaction", "title", "summary"]
const rule = (effect: Effect): Rule => ({ action: "*", resource: "*", effect })
const baseOf = (agent: string) => (DENIED.includes(agent) ? [rule("allow"), rule("deny")] : [rule("allow")])

const ledger = new Ledger([], (agent) => [baseOf(agent)])

interface HostAgent {
  readonly name: string
  readonly permission: readonly { readonly permission: string; readonly pattern: string; readonly action: Effect }[]
}
const rulesOf = ({ permission }: HostAgent): Rule[] =>
  permission.map((one) => ({ action: one.permission, resource: one.pattern, effect: one.action }))

/** A host that runs with a config, and what it and the tool say of it. */
async function enter({ onTestFinished }: TestContext, config: GeneratedConfig1, plugin: boolean) {
  const sandbox = await createSandbox()
  onTestFinished(() => sandbox.remove())
  for (const [index, name] of SKILLS.entries()) await sandbox.skill(name, { dir: `skill-${index}` })
  for (const [path, text] of Object.entries(config.files)) await sandbox.file(path, text)
  if (config.repository) await sandbox.repository(".")
  const model = await startScriptedModel()
  onTestFinished(() => model.stop())
  const content = {
    ...model.provider,
    ...(plugin && { plugin: [pluginEntry(inject("tarball"))] }),
    ...(plainOf(config.content) as object),
  }
  const env: Record<string, string> = {
    ...Object.fromEntries(Object.entries(config.env).map(([key, value]) => [key, value.replace("ROOT", sandbox.root)])),
    OPENCODE_CONFIG_CONTENT: JSON.stringify(content),
  }
  if (env.OPENCODE_CONFIG_DIR) await offlineConfigDir(env.OPENCODE_CONFIG_DIR)
  const host = await startHost(sandbox, { model, env })
  onTestFinished(() => host.stop())

  const agents = await host.get<HostAgent[]>("/agent")
  const places = {
    directory: sandbox.project,
    worktree: config.repository ? sandbox.root : "/",
    home: sandbox.home,
    configDirectory: sandbox.configDir,
  }
  const said = await inEnvironment({ ...sandbox.env, ...env }, async () => {
    const port = opencode1({
      get: (url) => host.get(url),
      places,
      loaded: await loadedAtStart(places),
      version: "1.18.34",
      caller: { agent: "build", session: null },
      options: { dialect: "auto", writes: "agent", protect: [] },
      ask: async () => "unanswered",
    })
    return toolSays(port, SKILLS)
  })
  return { sandbox, model, host, env, rules: new Map(agents.map((agent) => [agent.name, rulesOf(agent)])), said }
}

type World = Awaited<ReturnType<typeof enter>>

/** Natives of each kind, and all that the config adds. */
const loaders = ({ rules }: World): string[] =>
  [...rules.keys()].filter((agent) => !["general", "title", "summary"].includes(agent))

/** The packed plugin, asked by a model in the host, says what the host does. */
async function expectPluginToAgree(world: World, caller: string, verdicts: ReadonlyMap<string, Verdict[]>) {
  const { host, model } = world
  const session = await host.createSession()
  const agents = [...verdicts.keys()]
  const calls = [
    ...agents.map((agent) => ({ action: "list", agent, limit: 100 })),
    ...SKILLS.map((id) => ({ action: "inspect", id })),
  ]
  model.reply({ tools: calls.map((args) => ({ name: "skill_management", args })) })
  await host.prompt(session, { agent: caller, text: "Look." })
  const answers = (await host.toolParts(session, "skill_management")).map(({ output }) => JSON.parse(output ?? ""))
  expect(answers.map(({ ok, action }) => [ok, action])).toEqual(calls.map(({ action }) => [true, action]))
  const lists = answers.slice(0, agents.length).map(effectsIn)
  const inspected = answers.slice(agents.length).map((answer: Inspected) => decisionsIn(answer))
  for (const [index, agent] of agents.entries()) {
    const effects = Object.fromEntries((verdicts.get(agent) ?? []).map(({ skill, effect }) => [skill, effect]))
    const listed = Object.fromEntries(SKILLS.map((skill) => [skill, lists[index]?.get(skill)]))
    const shown = Object.fromEntries(SKILLS.map((skill, i) => [skill, inspected[i]?.get(agent)?.effect]))
    expect({ agent, listed, shown }).toEqual({ agent, listed: effects, shown: effects })
  }
}

/** `debug agent` is a process of its own that reads the same files. */
async function expectDebugToAgree({ sandbox, env, rules }: World) {
  for (const [agent, real] of rules) {
    if (!["build", "explore", "writer"].includes(agent)) continue
    const { json } = await debugAgent(sandbox, agent, { env })
    expect([agent, ofSkills(rulesOf(json as HostAgent))]).toEqual([agent, ofSkills(real)])
  }
}

const configs = fc.sample(config1, { seed: SEED, numRuns: LOADED + RULES_ONLY })
const called: string[] = []

describe.skipIf(!hostAvailable)("agreement with OpenCode 1", () => {
  test.concurrent.for(configs.map((config, index) => ({ config, index })))(
    "config $index",
    async ({ config, index }, context) => {
      const world = await enter(context, config, index < WITH_PLUGIN)
      const verdicts = new Map<string, Verdict[]>()
      let caller: string | undefined
      for (const agent of index < LOADED ? loaders(world) : []) {
        verdicts.set(agent, await verdictsOf(world, agent, SKILLS))
        if (world.model.last().toolNames.includes("skill_management")) caller ??= agent
      }
      const found = ledger.compare(world.said, { rules: world.rules, verdicts }, world.sandbox.home)
      expect(found, JSON.stringify(config, null, 2)).toEqual([])
      if (index < 2) await expectDebugToAgree(world)
      if (index >= WITH_PLUGIN || caller === undefined) return
      called.push(caller)
      await expectPluginToAgree(world, caller, verdicts)
    },
  )

  test("the counts", () => {
    console.log(ledger.report("OpenCode 1.18.34"))
    console.log(`  the packed plugin was called by ${called.join(", ")}`)
    const { verdicts, agents, accounted, disagreements } = ledger.counts
    expect(disagreements).toBe(0)
    expect(verdicts).toBeGreaterThanOrEqual(1_000)
    expect(accounted / agents).toBeGreaterThan(0.98)
    expect(called.length).toBeGreaterThanOrEqual(3)
  })
})
