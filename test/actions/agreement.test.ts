// `list`, `inspect` and the host say the same, for every agent and every skill.
import { afterEach, describe, expect, it } from "vitest"
import { lastMatch } from "../hosts/opencode-2/rules.ts"
import { HOSTS, type OpenHost } from "./both-hosts.ts"

const STATES = { allow: "available", ask: "ask", deny: "disabled" } as const
const AGENTS = ["build", "plan", "general", "explore", "compaction", "title", "summary"]
const RULES: [string, string, "allow" | "ask" | "deny"][] = [
  ["skill", "pdf*", "deny"],
  ["skill", "pdf", "ask"],
  ["skill", "docx", "deny"],
]
const DENIED = ["explore", "compaction", "title", "summary"]

describe.each(HOSTS)("agreement on $name", ({ open }) => {
  let host: OpenHost
  afterEach(() => host.stop())

  it("of list, inspect and the last rule that matches", async () => {
    const skill = Object.fromEntries(RULES.map(([, pattern, effect]) => [pattern, effect]))
    host = await open({
      files: { "opencode.json": JSON.stringify({ permission: { skill } }) },
      loaded: { rules: RULES },
    })
    const base = (agent: string) => [
      { action: "*", resource: "*", effect: "allow" as const },
      ...(DENIED.includes(agent) ? [{ action: "*", resource: "*", effect: "deny" as const }] : []),
    ]
    const own = RULES.map(([action, resource, effect]) => ({ action, resource, effect }))
    for (const agent of AGENTS) {
      const list = JSON.parse((await host.call({ action: "list", agent })).text)
      expect(list.skills.length).toBeGreaterThan(2)
      for (const { id, state } of list.skills) {
        const effect = lastMatch([...base(agent), ...own], "skill", id) ?? "ask"
        expect([agent, id, state]).toEqual([agent, id, STATES[effect]])
        const inspect = JSON.parse((await host.call({ action: "inspect", id, agent })).text)
        expect([inspect.caller.id, inspect.caller.state]).toEqual([agent, state])
        expect(inspect.agents.find((view: { id: string }) => view.id === agent).state).toBe(state)
      }
    }
  })
})
