/** What the real host does with skills: a model loads them, requests are answered, and the host logs which rule it took. */
import { setTimeout as sleep } from "node:timers/promises"
import type { Host, ToolState } from "./host.ts"
import type { Sandbox } from "./sandbox.ts"
import type { ScriptedModel } from "./scripted-model.ts"

type Effect = "allow" | "ask" | "deny"

export interface Verdict {
  readonly skill: string
  readonly effect: Effect
  /** The rule that the host names; null when the agent has no `skill` tool. */
  readonly rule: { readonly action: string; readonly resource: string; readonly effect: Effect } | null
}

const ANSWER_MS = 120_000
const LOG_MS = 10_000

/** One agent loads all of these in one turn. One agent at a time: the log does not name it. */
export async function verdictsOf(
  { host, model, sandbox }: { host: Host; model: ScriptedModel; sandbox: Sandbox },
  agent: string,
  skills: readonly string[],
): Promise<Verdict[]> {
  const before = { requests: model.requests.length, evaluations: (await evaluations(sandbox)).length }
  const session = await host.createSession()
  model.reply({ tools: skills.map((name) => ({ name: "skill", args: { name } })) })
  const asked = await answering(host, host.prompt(session, { agent, text: "Load them all." }))
  const request = model.requests[before.requests]
  if (!request) throw new Error(`${agent} did not ask the model`)
  if (!request.toolNames.includes("skill")) return skills.map((skill) => ({ skill, effect: "deny", rule: null }))

  const states = await host.toolParts(session, "skill")
  const rules = (await evaluations(sandbox, before.evaluations + skills.length)).slice(before.evaluations)
  return skills.map((skill) => {
    const state = states.find(({ input }) => input.name === skill)
    const evaluated = rules.find((one) => one.skill === skill)
    if (!state || !evaluated) throw new Error(`${agent} never came to load ${skill}`)
    const { action, resource, effect } = evaluated
    return { skill, effect: asked.has(skill) ? "ask" : effectOf(state), rule: { action, resource, effect } }
  })
}

/** Answers each request with `once` until the turn is over; says for which skills there was one. */
async function answering(host: Host, turn: Promise<unknown>): Promise<Set<string>> {
  const asked = new Set<string>()
  let over = false
  const end = turn.finally(() => {
    over = true
  })
  end.catch(() => {})
  for (const until = Date.now() + ANSWER_MS; !over && Date.now() < until; await sleep(25))
    for (const { id, permission, patterns } of await host.permissions()) {
      if (permission === "skill") for (const pattern of patterns) asked.add(pattern)
      await host.replyPermission(id, "once")
    }
  await end
  return asked
}

function effectOf({ status, error = "" }: ToolState): "allow" | "deny" {
  if (status === "completed") return "allow"
  if (error.startsWith("The user has specified a rule which prevents you from using this")) return "deny"
  throw new Error(`neither loaded nor denied: ${status} ${error}`)
}

/** Every decision about a skill that the host logged, in order. The log lags: waits until there are as many as expected. */
async function evaluations(sandbox: Sandbox, expected = 0) {
  for (const until = Date.now() + LOG_MS; ; await sleep(50)) {
    const found = evaluationsIn(await sandbox.readLog())
    if (found.length >= expected || Date.now() > until) return found
  }
}

function evaluationsIn(log: string) {
  const lines = log.split("\n").filter((line) => line.includes("message=evaluated"))
  return lines.map(fieldsOf).flatMap(({ permission, pattern: skill, ...rule }) => {
    const { "action.permission": action, "action.pattern": resource, "action.action": effect } = rule
    if (permission !== "skill" || skill === undefined) return []
    if (action === undefined || resource === undefined || effect === undefined) throw new Error("a line without a rule")
    return [{ skill, action, resource, effect: effect as Effect }]
  })
}

const fieldsOf = (line: string): Record<string, string> =>
  Object.fromEntries(
    [...line.matchAll(/(\S+?)=("(?:[^"\\]|\\.)*"|\S*)/g)].map(([, key = "", value = ""]) => [
      key,
      value.startsWith('"') ? JSON.parse(value) : value,
    ]),
  )
