import { homedir } from "node:os"
import { setTimeout as delay } from "node:timers/promises"
import type { Hooks, Plugin } from "@opencode-ai/plugin"
import type { Reply } from "../../actions/ports.ts"
import { run } from "../../actions/run.ts"
import { defaultConfigDirectory } from "../../files/locations.ts"
import { FIELD_NAMES, hostInputSchema, TOOL_DESCRIPTION, TOOL_NAME } from "../../tool/input-schema.ts"
import { decodeOptions } from "../options.ts"
import { isRecord, text } from "../values.ts"
import { type Get, loadedAtStart, opencode1 } from "./host.ts"
import type { Places } from "./layers.ts"

type ToolDefinition = NonNullable<Hooks["tool"]>[string]
type ToolContext = Parameters<ToolDefinition["execute"]>[1]

/** The OpenCode 1 entry. Measured on 1.18.34: `client._client.get` reaches every route, `{data}` is what it says. */
export const server: Plugin = async (input, options) => {
  const get = routes(input.client)
  // Not asked of the host: a route that is called while it loads its plugins waits for itself.
  const home = homedir()
  const places: Places = {
    directory: input.directory,
    worktree: input.worktree,
    home,
    configDirectory: defaultConfigDirectory(process.env, home),
  }
  const loaded = await loadedAtStart(places)
  const execute: ToolDefinition["execute"] = async (args, context) => {
    const health = await get("/global/health").catch(() => null)
    const host = opencode1({
      get,
      places,
      loaded,
      version: isRecord(health) ? text(health.version) : null,
      caller: { agent: context.agent, session: context.sessionID, signal: context.abort },
      options: decodeOptions(options, [...loaded.globals, ...loaded.higher]),
      ask: (resources) => askUser(context, resources),
    })
    return (await run(host, args)).text
  }
  return {
    tool: { [TOOL_NAME]: { description: TOOL_DESCRIPTION, args: plainArguments(), execute } },
    "tool.definition": async (definition, output) => {
      // Arguments given as plain schemas are all shown as required; the whole schema is not. The field is missing
      // from the published types, and from hosts before 1.18.10.
      if (definition.toolID === TOOL_NAME && "jsonSchema" in output) output.jsonSchema = hostInputSchema
    },
  }
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

/** The host takes plain JSON Schemas where its types name zod's. */
function plainArguments(): ToolDefinition["args"] {
  return Object.fromEntries(
    FIELD_NAMES.map((name) => [name, hostInputSchema.properties[name]]),
  ) as ToolDefinition["args"]
}

function routes(client: unknown): Get {
  const raw = isRecord(client) || typeof client === "object" ? Reflect.get(Object(client), "_client") : undefined
  return async (url) => {
    const answer: unknown = await Reflect.get(Object(raw), "get").call(raw, { url })
    return isRecord(answer) ? answer.data : null
  }
}
