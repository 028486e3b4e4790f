// Any sequence of our changes and of other people's keeps the laws, and undoing all of ours leaves only theirs.
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type NaiveRule, naiveConfig, naiveEffect, naiveTail1 } from "../core/reference.ts"
import { createRecorded } from "../hosts/opencode-1/recorded.ts"
import { validated } from "../tool/validated.ts"

const settings = { numRuns: Number(process.env.SEQUENCE_RUNS ?? 12), seed: Number(process.env.SEQUENCE_SEED ?? 7) }

const SKILLS = ["docx", "pdf", "pdf-forms", "xlsx"] as const
const UNKNOWN = "zz-not-installed"
const AGENTS: Readonly<Record<string, readonly NaiveRule[]>> = {
  build: [["*", "*", "allow"]],
  explore: [
    ["*", "*", "allow"],
    ["*", "*", "deny"],
  ],
}

const CONFIGS: Readonly<Record<string, string>> = {
  map: '{\n  // mine\n  "model": "a/b",\n  "permission": {\n    "bash": "ask",\n    "skill": {\n      "x-*": "ask", // some\n      "docx": "deny"\n    }\n  },\n  "theme": "dark"\n}\n',
  pattern: '{\n  "permission": { "skill": { "*": "allow", "pdf*": "deny" } },\n  "theme": "dark"\n}\n',
  string: '{ "theme": "dark",\n  "permission": { "skill": "ask" } }',
  "one line": '{"theme":"dark","permission":{"skill":{"pdf":"ask","xlsx":"deny"}}}',
  "no section": '{\r\n\t"theme": "dark",\r\n\t"share": "disabled", // never\r\n}\r\n',
}

/** What others do to the file meanwhile, away from our rules. */
const FOREIGN: Readonly<Record<string, (text: string) => string>> = {
  "a line above": (text) => `// seen\n${text}`,
  "a line below": (text) => `${text}\n// later`,
  "another theme": (text) => text.replace('"dark"', '"light"'),
}

type Step =
  | { readonly call: object; readonly targets: readonly string[] }
  | { readonly foreign: string }
  | { readonly undo: number }

const id = fc.constantFrom(...SKILLS)
const ids = fc.uniqueArray(id, { minLength: 1, maxLength: 3 })
const effect = fc.constantFrom("deny", "ask")
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ id, effect }).map((of) => ({ call: { action: "disable", ...of }, targets: [of.id] })),
  },
  { weight: 3, arbitrary: id.map((of) => ({ call: { action: "enable", id: of }, targets: [of] })) },
  { weight: 2, arbitrary: ids.map((of) => ({ call: { action: "disable", ids: of }, targets: of })) },
  { weight: 1, arbitrary: ids.map((of) => ({ call: { action: "enable", ids: of }, targets: of })) },
  {
    weight: 1,
    arbitrary: fc.constant({
      call: { action: "disable", match: "pdf*", rule: "pattern" },
      targets: ["pdf", "pdf-forms"],
    }),
  },
  { weight: 1, arbitrary: fc.constant({ call: { action: "reconcile" }, targets: [] }) },
  { weight: 2, arbitrary: fc.nat(5).map((undo) => ({ undo })) },
  { weight: 2, arbitrary: fc.constantFrom(...Object.keys(FOREIGN)).map((foreign) => ({ foreign })) },
)

const effectsOf = (text: string) =>
  Object.fromEntries(
    Object.entries(AGENTS).flatMap(([agent, base]) => {
      const rules = [...base, ...naiveTail1([naiveConfig(text)], agent)]
      return [...SKILLS, UNKNOWN].map((skill) => [`${agent} ${skill}`, naiveEffect(rules, skill)])
    }),
  )

async function run(config: string, steps: readonly Step[]): Promise<void> {
  const loaded = naiveTail1([naiveConfig(config)], "build")
  const host = createRecorded({ loaded: { rules: loaded } })
  try {
    for (const skill of SKILLS) host.skill(skill)
    const path = host.config("opencode.jsonc", config)
    const read = () => readFileSync(path, "utf8")
    await host.load()
    const call = async (input: object) => validated(await host.call(input))
    let foreign = config
    const ours: string[] = []

    for (const step of steps) {
      const before = read()
      if ("foreign" in step) {
        const edit = FOREIGN[step.foreign] ?? ((text) => text)
        writeFileSync(path, edit(before))
        foreign = edit(foreign)
        continue
      }
      const named = "undo" in step ? ours.at(-1 - step.undo) : undefined
      if ("undo" in step && named === undefined) continue
      const input = "undo" in step ? { action: "undo", change: named } : step.call
      let answer = await call(input)
      if (answer.error?.code === "plan_required") {
        expect(read()).toBe(before)
        answer = await call({ ...input, plan: Object(answer.plan).token })
      }
      const says = JSON.stringify({ config, steps, input, answer })
      if (!answer.ok || !answer.changed) expect(read(), says).toBe(before)
      if (answer.ok && typeof answer.change === "string") ours.push(answer.change)
      if ("targets" in step && answer.ok) {
        const [was, is] = [effectsOf(before), effectsOf(read())]
        for (const [key, value] of Object.entries(is))
          if (!step.targets.some((target) => key.endsWith(` ${target}`))) expect(value, `${key} ${says}`).toBe(was[key])
        // `enable` is content with a broad `ask` that stood there before; a second one asks for more.
        const asking = JSON.stringify(answer.targets).includes('"after":"ask"')
        const again = await call({ ...input, dryRun: true })
        if (Object(input).action !== "enable" || !asking) expect(again, says).toMatchObject({ ok: true, diff: "" })
      }
    }

    for (const change of ours.toReversed()) {
      const answer = await call({ action: "undo", change })
      const known = answer.ok || answer.error?.code === "nothing_to_undo"
      expect(known, JSON.stringify({ config, steps, change, answer, text: read() })).toBe(true)
    }
    expect(read(), JSON.stringify({ config, steps })).toBe(foreign)
    expect(existsSync(join(host.configDir, "skill_management.state.json"))).toBe(false)
  } finally {
    host.stop()
  }
}

describe("sequences of changes", () => {
  it.each(Object.keys(CONFIGS))("in a config with %s", { timeout: 300_000 }, async (name) => {
    const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 7 }), (steps) =>
      run(CONFIGS[name] ?? "", steps),
    )
    await fc.assert(property, settings)
  })
})
