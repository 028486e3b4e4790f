/** What `list` counts, for any agents and skills, also where the call before met others. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { type NaiveRule, naiveEffect } from "../core/reference.ts"
import { validated } from "../tool/validated.ts"
import { GENERATIONS, type GivenAgent, openGiven } from "./given-host.ts"

const IDS = ["pdf", "pdf-forms", "docx", "a/b", "x"]
const rule = fc.tuple(
  fc.constantFrom("skill", "*", "bash"),
  fc.constantFrom("*", "pdf", "pdf*", "*x", "a\\b", "d?cx", "nobody"),
  fc.constantFrom("allow", "ask", "deny"),
) as fc.Arbitrary<NaiveRule>
const agent = fc.record({ hidden: fc.boolean(), rules: fc.array(rule, { maxLength: 5 }) })
/** The caller comes first; others come, go and change. */
const world = fc.record({
  agents: fc.array(agent, { minLength: 1, maxLength: 4 }),
  ids: fc.shuffledSubarray(IDS, { minLength: 1 }),
})

const NAMES = ["build", "plan", "reviewer", "writer"]
const STATE = { allow: "available", ask: "ask", deny: "disabled" } as const

interface Counts {
  readonly available: number
  readonly ask: number
  readonly disabled: number
}

interface Summary extends Counts {
  readonly total: number
  readonly diverged: number
  readonly agents: readonly (Counts & { readonly id: string; readonly tokens: number })[]
}

function countsOf(states: readonly string[]): Counts {
  const of = (state: string) => states.filter((one) => one === state).length
  return { available: of("available"), ask: of("ask"), disabled: of("disabled") }
}

const configOf = (agents: readonly GivenAgent[]): string =>
  JSON.stringify({
    agents: Object.fromEntries(
      agents.map(({ id, rules = [] }) => [
        id,
        { permissions: rules.map(([action, resource, effect]) => ({ action, resource, effect })) },
      ]),
    ),
  })

describe.each(GENERATIONS)("%s", (generation) => {
  test("counts every skill for every agent, whatever the calls before have met", async () => {
    const host = openGiven(generation, { skills: [], agents: [{ id: "build" }] })
    try {
      await fc.assert(
        fc.asyncProperty(fc.array(world, { minLength: 1, maxLength: 3 }), async (worlds) => {
          // The last world twice: once with the others behind it, once when nothing has changed.
          for (const { agents, ids } of [...worlds, ...worlds.slice(-1)]) {
            const named = agents.map((one, i): GivenAgent => ({ ...one, id: NAMES[i] ?? "" }))
            if (generation === "opencode-1") host.appoint(named)
            else {
              // What no file accounts for would be waited for on this host.
              host.appoint(named.map((one) => ({ ...one, rules: [] })))
              host.write(configOf(named))
            }
            host.register(ids.map((id) => ({ id, name: id, path: `/s/${id}/SKILL.md`, description: `Does ${id}.` })))
            const { summary } = validated(await host.call({ action: "list", limit: 0 })) as unknown as {
              summary: Summary
            }
            const states = named.map(({ rules = [] }) => ids.map((id) => STATE[naiveEffect(rules, id)]))
            const own = states[0] ?? []
            const diverged = ids.filter((_, i) =>
              named.some(({ hidden }, agent) => !hidden && states[agent]?.[i] !== own[i]),
            )
            expect(summary).toMatchObject({ total: ids.length, ...countsOf(own), diverged: diverged.length })
            expect(
              summary.agents.map(({ id, available, ask, disabled }) => ({ id, available, ask, disabled })),
            ).toEqual(named.map(({ id }, i) => ({ id, ...countsOf(states[i] ?? []) })))
            for (const { id, tokens } of summary.agents) {
              const { skills } = validated(await host.call({ action: "list", limit: 500, agent: id }))
              const paid = (skills as { tokens: number }[]).reduce((sum, row) => sum + row.tokens, 0)
              expect([id, tokens]).toEqual([id, paid])
            }
          }
        }),
        { numRuns: 50, seed: 6 },
      )
    } finally {
      host.stop()
    }
  })
})
