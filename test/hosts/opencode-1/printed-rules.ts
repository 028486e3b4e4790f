// The rules that the real OpenCode 1 prints for an agent, as the naive reference reads them.
import { expect } from "vitest"
import type { Effect, NaiveRule } from "../../core/reference.ts"
import { debugAgent, type Env } from "./host.ts"
import type { Sandbox } from "./sandbox.ts"

/** Of a host that starts now: its rules for an agent, or why there are none. */
export async function printedRules(
  sandbox: Sandbox,
  agent: string,
  env: Env = {},
): Promise<readonly NaiveRule[] | "config refused" | "no such agent"> {
  const { exitCode, json, stderr } = await debugAgent(sandbox, agent, { env })
  if (exitCode !== 0) {
    if (/Configuration is invalid|is not valid JSON/.test(stderr)) return "config refused"
    if (stderr.includes(`Agent ${agent} not found`)) return "no such agent"
    throw new Error(`the host ended with ${exitCode}:\n${stderr}`)
  }
  const { permission } = json as { permission: { permission: string; pattern: string; action: Effect }[] }
  return permission.map(({ permission, pattern, action }) => [permission, pattern, action])
}

/** The same rules in the same order, and one for this skill. */
export function expectOneMore(before: unknown, after: unknown, id: string, effect: Effect): void {
  if (!Array.isArray(before) || !Array.isArray(after)) throw new Error(`rules before: ${before}, after: ${after}`)
  const at = after.findIndex(([action, resource]) => action === "skill" && resource === id)
  expect(after[at]).toEqual(["skill", id, effect])
  expect(after.toSpliced(at, 1)).toEqual(before)
}
