import { guarded, once } from "../../actions/answered.ts"
import { hostOutputSchema } from "../../tool/answer-schema.ts"
import { hostInputSchema, TOOL_DESCRIPTION, TOOL_NAME } from "../../tool/input-schema.ts"
import { isRecord, text } from "../values.ts"
import type { Lists } from "./host.ts"

/** The part of the plugin context that is used. An OpenCode 1 process hands over another one, without these. */
export interface Context {
  readonly tool: { transform(change: (editor: { add(tool: object): void }) => void): unknown }
  readonly lists: Lists
  readonly options: unknown
  readonly location: unknown
  readonly version: string | null
}

/**
 * The OpenCode 2 entry. OpenCode 1.18.34 calls it too, with a context that has no `tool` and no `agent.list`: there
 * it does nothing. The lists are empty while this runs, so they are read when the tool is called.
 */
export async function setup(given: unknown): Promise<void> {
  const context = decodeContext(given)
  if (!context) return
  await context.tool.transform((editor) =>
    editor.add({
      name: TOOL_NAME,
      description: TOOL_DESCRIPTION,
      input: hostInputSchema,
      // Late betas stop every session without it; 2.0 passes over it.
      jsonSchema: hostInputSchema,
      output: hostOutputSchema,
      options: { codemode: false },
      execute: (input: unknown, call: unknown) => execute(context, input, call),
    }),
  )
}

const callModule = once(() => import("./call.ts"))

async function execute(context: Context, input: unknown, given: unknown) {
  const { answer, text: shown } = await guarded(
    { generation: "opencode-2", version: context.version },
    input,
    async () => {
      const { call } = await callModule()
      return call(context, input, given)
    },
  )
  // A list with one text item works on every build; `output` needs the declared schema.
  return { output: answer, content: [{ type: "text", text: shown }] }
}

function decodeContext(given: unknown): Context | null {
  if (!isRecord(given)) return null
  const [tool, agent, skill] = [given.tool, given.agent, given.skill].map((part) => Object(part))
  const transform = tool.transform
  if (typeof transform !== "function" || typeof agent.list !== "function" || typeof skill?.list !== "function")
    return null
  const app = given.app
  return {
    tool: { transform: (change) => transform.call(tool, change) },
    lists: { agents: async () => agent.list(), skills: async () => skill.list() },
    options: given.options,
    location: given.location,
    version: isRecord(app) ? text(app.version) : null,
  }
}
