// A real OpenCode 1 in a sandbox with the packed plugin, and a model that calls its tool.
import type { TestContext } from "vitest"
import { type Host, startHost, type ToolState } from "../hosts/opencode-1/host.ts"
import { createSandbox, type Sandbox } from "../hosts/opencode-1/sandbox.ts"
import { type ScriptedModel, startScriptedModel, type ToolCall } from "../hosts/opencode-1/scripted-model.ts"

export interface Answer {
  ok: boolean
  notices: { code: string; data?: Record<string, unknown> }[]
  skills: { id: string; state: string; pending?: string; description: string | null; path: string | null }[]
  error?: { code: string; data?: Record<string, unknown> }
  next: { why: string; input: Record<string, unknown> }[]
  [field: string]: unknown
}

export class Setting {
  readonly sandbox: Sandbox
  readonly model: ScriptedModel
  readonly host: Host
  readonly skills: readonly string[]
  constructor(sandbox: Sandbox, model: ScriptedModel, host: Host, skills: readonly string[]) {
    this.sandbox = sandbox
    this.model = model
    this.host = host
    this.skills = skills
  }

  /** The model makes these calls in one turn; returns their states. */
  async turn(tool: string, calls: readonly object[], agent = "build"): Promise<ToolState[]> {
    const session = await this.host.createSession()
    this.model.reply({ tools: calls.map((args): ToolCall => ({ name: tool, args })) })
    await this.host.prompt(session, { agent, text: "Go on." })
    return this.host.toolParts(session, tool)
  }

  /** What the model is told in answer to a call of the tool; in a session of its own, unless one is given. */
  async call(args: object, agent = "build", session?: string): Promise<Answer> {
    this.model.reply({ tools: [{ name: "skill_management", args }] })
    await this.host.prompt(session ?? (await this.host.createSession()), { agent, text: "Go on." })
    return this.answer()
  }

  /** The last answer of the tool that the model saw. */
  answer(): Answer {
    return JSON.parse(this.model.last().toolResults.at(-1)?.content ?? "")
  }

  async load(name: string): Promise<ToolState> {
    const [state, ...more] = await this.turn("skill", [{ name }])
    if (!state || more.length > 0) throw new Error("the skill tool was not called once")
    return state
  }

  /** The skills of ours that a new prompt lists. */
  async listed(): Promise<string[]> {
    const session = await this.host.createSession()
    await this.host.prompt(session, { agent: "build", text: "Hello." })
    const { system } = this.model.last()
    return this.skills.filter((name) => system.includes(`<name>${name}</name>`))
  }
}

/** Starts a host with this global config and these skills; all of it goes when the test ends. */
export async function begin(
  { onTestFinished }: TestContext,
  config: string,
  skills: readonly string[],
  more: (sandbox: Sandbox) => Promise<unknown> = async () => {},
): Promise<Setting> {
  const sandbox = await createSandbox()
  onTestFinished(() => sandbox.remove())
  await sandbox.config("opencode.jsonc", config)
  for (const name of skills) await sandbox.skill(name)
  await more(sandbox)
  const model = await startScriptedModel()
  onTestFinished(() => model.stop())
  const host = await startHost(sandbox, { model })
  onTestFinished(() => host.stop())
  return new Setting(sandbox, model, host, skills)
}
