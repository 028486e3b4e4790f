/** What this tool costs a context, counted by a real tokenizer (o200k_base). */
import { countTokens } from "gpt-tokenizer/encoding/o200k_base"
import { afterEach, describe, expect, it, test } from "vitest"
import { hostInputSchema, TOOL_DESCRIPTION, TOOL_NAME } from "../../src/tool/input-schema.ts"
import { GENERATIONS, type Given, type GivenAgent, openGiven, SEVEN } from "../actions/given-host.ts"
import { createRecorded } from "../hosts/opencode-1/recorded.ts"
import { type Answer, validated } from "./validated.ts"

const tokensIn = (text: string): number => countTokens(text, { disallowedSpecial: new Set() })

const TOOLS = ["invoice", "changelog", "docker", "postgres", "figma", "terraform", "release", "unit-test", "sql", "api"]
const WORKS = ["writer", "review", "migration", "audit", "helper", "cleanup-guide"]

/** Descriptions of 15 to 25 words, no two alike. */
const SENTENCES: readonly ((tool: string, work: string) => string)[] = [
  (tool, work) =>
    `Guides the agent through every ${tool} ${work}, from reading the existing sources to a reviewed result that the team can merge.`,
  (tool, work) =>
    `Use when the user asks for a ${work} of ${tool} files. Checks naming, structure and common mistakes, then proposes small fixes.`,
  (tool, work) =>
    `Creates and updates ${tool} artifacts with scripts instead of by hand; includes templates, validation rules and examples for each ${work}.`,
  (tool, work) =>
    `Explains how this company does ${tool} work: conventions, folder layout, approval steps and who to ask before a ${work} goes live.`,
  (tool, work) =>
    `Runs a ${tool} ${work} in five phases with a checklist. Trigger words: ${tool}, ${work}, "clean this up", "is this right?".`,
]

const ordinary = TOOLS.flatMap((tool, t) =>
  WORKS.flatMap((work, w) =>
    [`${tool}-${work}`, `team-${tool}-${work}`].map((id, i) => ({
      id,
      name: id,
      description:
        SENTENCES[(t + 2 * w + i) % SENTENCES.length]?.(tool.replaceAll("-", " "), work.replaceAll("-", " ")) ?? "",
      path: `/home/maria/.config/opencode/skills/${id}/SKILL.md`,
    })),
  ),
)

const agentNames = ["backend-dev", "code-reviewer", "docs-writer", "release-manager", "security-auditor"]
const agents = (count: number): GivenAgent[] => [...SEVEN, ...agentNames.map((id) => ({ id }))].slice(0, count)

const SECTION = {
  "opencode-1": { permission: { skill: { "sql-*": "ask", "legacy-*": "deny" } } },
  "opencode-2": {
    permissions: [
      { action: "skill", resource: "sql-*", effect: "ask" },
      { action: "skill", resource: "legacy-*", effect: "deny" },
    ],
  },
} as const

it("the worlds are ordinary", () => {
  expect(ordinary).toHaveLength(120)
  for (const { description } of ordinary) {
    const words = description.split(" ").length
    expect([description, words >= 15 && words <= 25]).toEqual([description, true])
  }
})

test("the definition of the tool costs a prompt at most 600 tokens", async () => {
  const host = createRecorded()
  const shown = await host.load()
  host.stop()
  expect(shown).toEqual({ description: TOOL_DESCRIPTION, jsonSchema: hostInputSchema })
  const definition = { name: TOOL_NAME, description: TOOL_DESCRIPTION, parameters: hostInputSchema }
  expect(tokensIn(JSON.stringify(definition))).toBeLessThanOrEqual(600)
})

describe.each(GENERATIONS)("on %s", (generation) => {
  let host: ReturnType<typeof openGiven>
  afterEach(() => host.stop())
  const open = (given: Partial<Given>) => {
    const config = `${JSON.stringify({ $schema: "https://opencode.ai/config.json", ...SECTION[generation] }, null, 2)}\n`
    host = openGiven(generation, { skills: ordinary, config, ...given })
  }
  async function costs(input: object, most: number): Promise<Answer> {
    const reply = await host.call(input)
    const tokens = tokensIn(reply.text)
    expect(tokens).toBeLessThanOrEqual(most)
    return validated(reply)
  }

  it("`list` of 120 skills costs at most 4,500 tokens", async () => {
    open({})
    expect(await costs({ action: "list" }, 4_500)).toMatchObject({ page: { total: 120 } })
  })

  it("the summary for 7 agents costs at most 400", async () => {
    open({})
    const { summary } = await costs({ action: "list", limit: 0 }, 400)
    expect(Object(summary).agents).toHaveLength(7)
  })

  it("`inspect` with 12 agents costs at most 1,000", async () => {
    open({ agents: agents(12) })
    for (const id of ["sql-review", "docker-audit"])
      expect((await costs({ action: "inspect", id }, 1_000)).agents).toHaveLength(12)
  })

  it("a rehearsal of 63 skills over 8 agents costs at most 4,000 as a map and 4,600 as an array, its apply 300", async () => {
    open({ agents: agents(8) })
    const skills = ordinary.slice(0, 63).map((skill) => ({ ...skill, id: `old-${skill.id}` }))
    host.register([...ordinary.slice(63), ...skills])
    const call = { action: "disable", match: "old-*" }
    const rehearsal = await costs(call, generation === "opencode-1" ? 4_000 : 4_600)
    expect(rehearsal).toMatchObject({ error: { code: "plan_required" }, plan: { count: 63 } })
    const applied = await costs(rehearsal.next[0]?.input ?? {}, 300)
    expect(applied).toMatchObject({ ok: true, counts: { targets: 63, changed: 63 } })
  })
})
