/** Real configs: what the real OpenCode 1 loads, it loads after the packed plugin's edit, with that one effect more. */
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest"
import { type NaiveRule, naiveConfig, naiveEffect } from "../core/reference.ts"
import { type CorpusFile, corpusFiles, hasCorpus, writeReferences } from "../corpus.ts"
import { debugAgent, hostAvailable } from "../hosts/opencode-1/host.ts"
import { expectOneMore, printedRules } from "../hosts/opencode-1/printed-rules.ts"
import { createSandbox, type Sandbox } from "../hosts/opencode-1/sandbox.ts"
import { pluginEntry } from "./packed.ts"

const CALLER = "caller"
/** A config may leave no model, and none of the host's own agents: these are there anyway. Nothing listens at the address. */
const content = {
  enabled_providers: ["none"],
  disabled_providers: [],
  provider: {
    none: {
      npm: "@ai-sdk/openai-compatible",
      options: { baseURL: "http://127.0.0.1:1/v1", apiKey: "x" },
      models: { none: { tool_call: true } },
    },
  },
  agent: { [CALLER]: { mode: "primary" } },
}
const env = { OPENCODE_CONFIG_CONTENT: JSON.stringify(content) }
/** All calls share one cache, so that the plugin is installed once. */
const envOfCall = {
  OPENCODE_CONFIG_CONTENT: JSON.stringify({ ...content, plugin: [pluginEntry(inject("tarball"))] }),
  XDG_CACHE_HOME: "",
}
const FILE = "opencode.jsonc"
const ID = "tidy-desk"

const counts = { files: 0, "loaded before": 0, edited: 0, "loaded after": 0, "as predicted": 0 }
/** Names of files, by who refused them. */
const refused: Record<string, string[]> = { "by the host, before": [] }
const refuse = (why: string, { label }: CorpusFile) => {
  refused[why] = [...(refused[why] ?? []), label]
}

/** `build`, unless the config disables it; null where the host refuses the config. */
async function firstAgent(sandbox: Sandbox): Promise<{ agent: string; rules: readonly NaiveRule[] } | null> {
  for (const agent of ["build", CALLER]) {
    const rules = await printedRules(sandbox, agent, env)
    if (rules === "config refused") return null
    if (rules !== "no such agent") return { agent, rules }
  }
  throw new Error("not even the agent that was added is left")
}

/** An agent whose own rules the config states, if there is one. */
function ownAgent(text: string): string | undefined {
  const { agent } = naiveConfig(text) as { agent?: Record<string, { permission?: unknown; disable?: boolean } | null> }
  return Object.entries(agent ?? {}).find(([, own]) => own?.permission && !own.disable)?.[0]
}

async function call(sandbox: Sandbox, agent: string, params: object) {
  const options = { tool: "skill_management", params, env: envOfCall }
  const { exitCode, json, stdout, stderr } = await debugAgent(sandbox, agent, options)
  if (exitCode !== 0) throw new Error(`the host ended with ${exitCode}:\n${stdout}${stderr}`)
  return JSON.parse((json as { result: { output: string } }).result.output)
}

describe.skipIf(!hostAvailable || !hasCorpus)("real configs on OpenCode 1", () => {
  let first: Sandbox
  beforeAll(async () => {
    first = await createSandbox()
    envOfCall.XDG_CACHE_HOME = join(first.root, "cache")
    expect(await call(first, "build", { action: "list" })).toMatchObject({ ok: true })
  })
  afterAll(() => first?.remove())

  test.concurrent.each(hasCorpus ? corpusFiles() : [])("$label", async (file) => {
    counts.files++
    await using sandbox = await createSandbox()
    await tryOut(sandbox, file)
  })

  test("all of them", () => {
    console.table(counts)
    console.log("refused", refused)
    expect(Object.values(refused).flat()).toHaveLength(counts.files - counts.edited)
    expect(counts).toMatchObject({ "loaded after": counts.edited, "as predicted": counts.edited })
  })
})

async function tryOut(sandbox: Sandbox, file: CorpusFile): Promise<void> {
  // The host adds a rule for each skill's folder, in no fixed order: one is enough.
  await sandbox.skill(ID)
  writeReferences(file.text, sandbox)
  await sandbox.config(FILE, file.bytes)
  const found = await firstAgent(sandbox)
  if (!found) return refuse("by the host, before", file)
  counts["loaded before"]++
  const { agent, rules } = found
  // The host puts `$schema` into a config that lacks it.
  const text = await sandbox.readConfig(FILE)
  const other = ownAgent(text)
  const otherRules = other === undefined ? null : await printedRules(sandbox, other, env)

  const action = naiveEffect(rules, ID) === "deny" ? "enable" : "disable"
  const answer = await call(sandbox, agent, { action, id: ID })
  if (!answer.ok) {
    refuse(`by the tool: ${answer.error.code}`, file)
    expect(await sandbox.readConfig(FILE)).toBe(text)
    return
  }
  counts.edited++
  expect(answer).toMatchObject({ changed: true, unpredicted: [] })
  expect(await sandbox.readConfig(FILE)).not.toBe(text)

  const wished = action === "disable" ? "deny" : "allow"
  const after = await printedRules(sandbox, agent, env)
  if (typeof after === "string") throw new Error(after)
  counts["loaded after"]++
  expectOneMore(rules, after, ID, wished)
  expect([answer.after, naiveEffect(after, ID)]).toEqual([wished, wished])
  if (other !== undefined && Array.isArray(otherRules)) {
    const now = await printedRules(sandbox, other, env)
    expectOneMore(otherRules, now, ID, wished)
    const hit = answer.impact.find(({ agents }: { agents: string[] }) => agents.includes(other))
    expect(naiveEffect(now as NaiveRule[], ID)).toBe(hit?.after ?? naiveEffect(otherRules, ID))
  }
  counts["as predicted"]++
}
