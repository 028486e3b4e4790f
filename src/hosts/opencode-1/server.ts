import { homedir } from "node:os"
import type { Hooks, Plugin } from "@opencode-ai/plugin"
import { guarded, once } from "../../actions/answered.ts"
import { defaultConfigDirectory } from "../../files/locations.ts"
import { FIELD_NAMES, hostInputSchema, TOOL_DESCRIPTION, TOOL_NAME } from "../../tool/input-schema.ts"
import { isRecord } from "../values.ts"
import type { Get } from "./host.ts"
import { loadedAtStart, type Places } from "./layers.ts"

type ToolDefinition = NonNullable<Hooks["tool"]>[string]

const callModule = once(() => import("./call.ts"))

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
    const { text } = await guarded({ generation: "opencode-1", version: null }, args, async () => {
      const { call } = await callModule()
      return call({ get, places, loaded, options }, args, context)
    })
    return text
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
