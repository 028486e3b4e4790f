import { setTimeout as delay } from "node:timers/promises"
import type { ToolContext } from "@opencode-ai/plugin"
import type { Answered } from "../../actions/answered.ts"
import type { Reply } from "../../actions/ports.ts"
import { run } from "../../actions/run.ts"
import { TOOL_NAME } from "../../tool/input-schema.ts"
import { decodeOptions } from "../options.ts"
import type { Sources } from "../sources.ts"
import { isRecord, text } from "../values.ts"
import { type Get, opencode1 } from "./host.ts"
import type { Places } from "./layers.ts"

/** What stays the same for every call of one plugin instance. */
interface Instance {
  readonly get: Get
  readonly places: Places
  readonly loaded: Sources
  readonly options: unknown
}

export async function call({ options, ...given }: Instance, input: unknown, context: ToolContext): Promise<Answered> {
  const { get, loaded } = given
  const health = await get("/global/health").catch(() => null)
  const host = opencode1({
    ...given,
    version: isRecord(health) ? text(health.version) : null,
    caller: { agent: context.agent, session: context.sessionID, signal: context.abort },
    options: decodeOptions(options, [...loaded.globals, ...loaded.higher]),
    ask: (resources) => askUser(context, resources),
  })
  return run(host, input)
}

/** How long a user may think before the call comes back without an answer, in ms. */
const ANSWER_MS = 120_000

/** The host evaluates the caller's merged rules once more and shows its own dialogue; a refusal is thrown (1.18.34). */
async function askUser(context: ToolContext, resources: readonly string[]): Promise<Reply> {
  const done = new AbortController()
  const patience = delay(ANSWER_MS, "unanswered" as const, { signal: done.signal }).catch(() => "unanswered" as const)
  const asked = context.ask({ permission: TOOL_NAME, patterns: [...resources], always: [], metadata: {} }).then(
    () => "allowed" as const,
    () => "rejected" as const,
  )
  const reply = await Promise.race([asked, patience])
  done.abort()
  return reply
}
