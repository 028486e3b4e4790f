// A language model that says what a test tells it to: streaming chat completions on 127.0.0.1.
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export type Turn = { text: string } | { tools: readonly ToolCall[] }

export interface ToolCall {
  name: string
  args: unknown
}

export interface ToolDefinition {
  name: string
  description: string
  /** The JSON Schema the model is shown. */
  parameters: Record<string, unknown>
}

export interface ModelRequest {
  /** The request as sent, parsed. */
  body: Record<string, unknown>
  /** All system messages, joined by a newline. */
  system: string
  tools: ToolDefinition[]
  toolNames: string[]
  /** The results of all tool calls so far, in order. */
  toolResults: { callID: string; content: string }[]
}

export interface ScriptedModel {
  /** The config that makes this the default model: goes into OPENCODE_CONFIG_CONTENT, so that no config file changes. */
  readonly provider: Record<string, unknown>
  /** Every request but those for titles. */
  readonly requests: ModelRequest[]
  /** The last request; throws when there was none. */
  last(): ModelRequest
  /** Queues turns: every request takes one. With an empty queue the model says "done". */
  reply(...turns: Turn[]): void
  /** Decides each turn instead of the queue; `undefined` falls back to it. */
  script(decide: ((request: ModelRequest) => Turn | undefined) | undefined): void
  stop(): Promise<void>
}

interface Message {
  role: string
  content?: unknown
  tool_call_id?: string
}

export async function startScriptedModel(): Promise<ScriptedModel> {
  const requests: ModelRequest[] = []
  const queue: Turn[] = []
  let decide: ((request: ModelRequest) => Turn | undefined) | undefined

  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
    incoming.on("end", () => {
      try {
        const request = parse(JSON.parse(Buffer.concat(chunks).toString("utf8")))
        // The title agent asks without tools, at any time (measured on 1.18.34): it must not take a turn of the script.
        if (request.tools.length === 0 && /^You are a title generator/.test(request.system)) {
          return stream(response, { text: "A title" })
        }
        requests.push(request)
        stream(response, decide?.(request) ?? queue.shift() ?? { text: "done" })
      } catch (error) {
        response.writeHead(400, { "content-type": "application/json" })
        response.end(JSON.stringify({ error: { message: String(error) } }))
      }
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    server.listen(0, "127.0.0.1", resolve)
  })
  server.unref()
  const { port } = server.address() as AddressInfo

  return {
    provider: {
      model: "scripted/model",
      small_model: "scripted/model",
      provider: {
        scripted: {
          npm: "@ai-sdk/openai-compatible",
          options: { baseURL: `http://127.0.0.1:${port}/v1`, apiKey: "none" },
          models: { model: { tool_call: true, limit: { context: 200_000, output: 8_000 } } },
        },
      },
    },
    requests,
    last() {
      const request = requests.at(-1)
      if (!request) throw new Error("the model was not asked")
      return request
    },
    reply: (...turns) => void queue.push(...turns),
    script: (next) => {
      decide = next
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function parse(body: Record<string, unknown>): ModelRequest {
  const messages = (body.messages ?? []) as Message[]
  const tools = ((body.tools ?? []) as { function: ToolDefinition }[]).map((tool) => tool.function)
  return {
    body,
    system: messages
      .filter((message) => message.role === "system")
      .map((message) => textOf(message.content))
      .join("\n"),
    tools,
    toolNames: tools.map((tool) => tool.name),
    toolResults: messages
      .filter((message) => message.role === "tool")
      .map((message) => ({ callID: message.tool_call_id ?? "", content: textOf(message.content) })),
  }
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return ""
  return content.map((part: { text?: string }) => part.text ?? "").join("")
}

let calls = 0

function stream(response: ServerResponse, turn: Turn): void {
  const send = (delta: object, finish: string | null = null) => {
    const choices = [{ index: 0, delta, finish_reason: finish }]
    const chunk = { id: "scripted", object: "chat.completion.chunk", created: 0, model: "model", choices }
    response.write(`data: ${JSON.stringify(chunk)}\n\n`)
  }
  response.writeHead(200, { "content-type": "text/event-stream" })
  if ("text" in turn) {
    send({ role: "assistant", content: turn.text })
    send({}, "stop")
  } else {
    const tool_calls = turn.tools.map(({ name, args }, index) => {
      calls += 1
      return { index, id: `call_${calls}`, type: "function", function: { name, arguments: JSON.stringify(args) } }
    })
    send({ role: "assistant", tool_calls })
    send({}, "tool_calls")
  }
  response.end("data: [DONE]\n\n")
}
