/** The model and a V2 server that runs on generated configs: the same rules for every agent, the same verdict for every skill. */
import fc from "fast-check"
import { expect, type TestContext, test } from "vitest"
import { modelOpenCode2, READINGS } from "../../src/core/predict.ts"
import type { Effect, Rule } from "../../src/core/rule.ts"
import { opencode2 } from "../../src/hosts/opencode-2/host.ts"
import { inEnvironment } from "../hosts/environment.ts"
import { type GeneratedConfig, SKILLS } from "../hosts/generated.ts"
import { config2 } from "../hosts/opencode-2/generated.ts"
import { startPreview } from "../hosts/opencode-2/preview.ts"
import {
  type Divergence,
  Ledger,
  numberFrom,
  ofSkills,
  type Said,
  sameRules,
  toolSays,
  type Verdict,
} from "./agreement.ts"

/** Other seeds and numbers to look for more; the known divergences hold for any. */
const SEED = numberFrom("AGREEMENT_SEED", 40)
const CONFIGS = numberFrom("AGREEMENT_CONFIGS", 36)

const NATIVE = ["build", "plan", "general", "explore", "compaction", "title", "summary"]
const DENIED = ["explore", "compaction", "title", "summary"]
const rule = (effect: Effect): Rule => ({ action: "*", resource: "*", effect })
/**
 * An agent that a config adds starts with nothing here, and so does a native one that was disabled and is mentioned
 * again; on live builds with the same `allow` as the others (a known divergence, see docs/reference/hosts.md).
 */
function basesOf(agent: string, { documents }: Pick<Said, "documents">): Rule[][] {
  if (!NATIVE.includes(agent)) return [[]]
  const own = DENIED.includes(agent) ? [rule("allow"), rule("deny")] : [rule("allow")]
  const disabled = documents.some(({ agents }) => agents.some((one) => one.name === agent && one.disabledBy.length > 0))
  return disabled ? [own, []] : [own]
}

const GLOBAL = "config/opencode"

interface Example extends Divergence {
  readonly config: GeneratedConfig
  /** What the model foresees for `build`, and the host does not have. */
  readonly foreseen: Rule
}

const DIVERGENCES: readonly Example[] = [
  {
    reason: "the preview does not read $OPENCODE_CONFIG and $OPENCODE_CONFIG_CONTENT",
    explains: ({ real, said, agent }) => {
      const documents = said.documents.filter(({ layer }) => layer !== "explicit" && layer !== "content")
      if (documents.length === said.documents.length) return false
      const tails = READINGS.map((reading) => modelOpenCode2(documents, reading).tail(agent))
      return basesOf(agent, { documents }).some((base) => tails.some((tail) => sameRules(real, [...base, ...tail])))
    },
    config: {
      files: { "extra/explicit.json": '{"permission": {"skill": {"a": "deny"}}}' },
      env: {
        OPENCODE_CONFIG: "ROOT/extra/explicit.json",
        OPENCODE_CONFIG_CONTENT: '{"permission": {"skill": {"b": "deny"}}}',
      },
    },
    foreseen: { action: "skill", resource: "a", effect: "deny" },
  },
  {
    reason: "the preview does not replace {env:…} and {file:…}",
    explains: ({ real, predicted }) =>
      real.length === predicted.length &&
      predicted.some((one) => one.secret) &&
      predicted.every((one, index) => {
        const there = real[index]
        return there && (one.secret ? /^\{(env|file):/.test(there.resource) : sameRules([there], [one]))
      }),
    config: {
      files: { [`${GLOBAL}/opencode.json`]: '{"permission": {"skill": {"{env:TEAM}": "deny"}}}' },
      env: { TEAM: "lark*" },
    },
    foreseen: { action: "skill", resource: "lark*", effect: "deny" },
  },
]

const ledger = new Ledger(DIVERGENCES, basesOf)

async function enter({ onTestFinished }: TestContext, { files, env }: GeneratedConfig) {
  const preview = await startPreview({ files, env })
  onTestFinished(() => preview.stop())
  const said = await inEnvironment(preview.env, () => {
    const skills = SKILLS.map((id) => ({ id, name: id, description: `About ${id}.` }))
    const port = opencode2({
      lists: { agents: () => preview.agents(), skills: async () => skills },
      directory: preview.project,
      worktree: "/",
      version: null,
      caller: { agent: "build", session: null },
      options: { dialect: "auto", writes: "agent", protect: [] },
    })
    return toolSays(port, SKILLS)
  })
  const rules = new Map((await preview.agents()).map(({ id, permissions }) => [id, permissions]))
  return { preview, said, rules }
}

const configs = fc.sample(config2, { seed: SEED, numRuns: CONFIGS })

test.concurrent.for(configs.map((config, index) => ({ config, index })))(
  "config $index",
  async ({ config }, context) => {
    const { preview, said, rules } = await enter(context, config)
    const verdicts = new Map<string, Verdict[]>()
    for (const agent of rules.keys()) {
      const own: Verdict[] = []
      for (const skill of SKILLS) own.push({ skill, effect: await preview.verdict(agent, skill) })
      verdicts.set(agent, own)
    }
    const found = ledger.compare(said, { rules, verdicts }, preview.env.HOME ?? "")
    expect(found, JSON.stringify(config, null, 2)).toEqual([])
  },
)

test.concurrent.for(DIVERGENCES)("known divergence: $reason", async ({ config, explains, foreseen }, context) => {
  const { said, rules } = await enter(context, config)
  const real = ofSkills(rules.get("build") ?? [])
  const [predicted = []] = ledger.predictions(said, "build")
  expect(predicted).toContainEqual(expect.objectContaining(foreseen))
  expect(real).not.toContainEqual(foreseen)
  expect(said.differing).toContain("build")
  expect(explains({ real, predicted, said, agent: "build" })).toBe(true)
})

test("the counts", () => {
  console.log(ledger.report("the OpenCode 2 preview 1.18.18"))
  const { verdicts, agents, accounted, disagreements } = ledger.counts
  expect(disagreements).toBe(0)
  expect(verdicts).toBeGreaterThanOrEqual(1_000)
  expect(accounted / agents).toBeGreaterThan(0.95)
})
