import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { PluginInput, ToolContext } from "@opencode-ai/plugin"
import type { Rule } from "../../src/core/rule.ts"
import { built } from "./built.ts"

export interface Installation {
  readonly skills: readonly { readonly name: string; readonly location: string; readonly description: string }[]
  /** One for each agent. */
  readonly rulesets: readonly (readonly Rule[])[]
  readonly config: string
}

interface Answer {
  readonly [field: string]: unknown
}

export interface OpenHost extends AsyncDisposable {
  readonly configFile: string
  call(input: Record<string, unknown>): Promise<Answer>
}

/** An OpenCode 1 in memory, in a home of its own on disk: it has read the config, and runs the built plugin. */
export async function openHost({ skills, rulesets, config }: Installation): Promise<OpenHost> {
  const root = mkdtempSync(join(tmpdir(), "skill-management-bench-"))
  const project = join(root, "project")
  const configDirectory = join(root, "config", "opencode")
  for (const path of [project, configDirectory]) mkdirSync(path, { recursive: true })
  const environment = { ...process.env }
  const state = { XDG_STATE_HOME: join(root, "state"), XDG_CACHE_HOME: join(root, "cache") }
  Object.assign(process.env, { HOME: root, XDG_CONFIG_HOME: join(root, "config"), ...state })
  const configFile = join(configDirectory, "opencode.jsonc")
  writeFileSync(configFile, config)
  // Parsed, as what a real host answers is: strings that were put together in memory are slower to read.
  const routes: Record<string, unknown> = JSON.parse(
    JSON.stringify({
      "/skill": skills,
      "/agent": rulesets.map((rules, i) => ({
        name: `agent-${i}`,
        mode: "primary",
        permission: rules.map(({ action, resource, effect }) => ({
          permission: action,
          pattern: resource,
          action: effect,
        })),
      })),
    }),
  )
  const client = { _client: { get: async ({ url }: { url: string }) => ({ data: routes[url] }) } }
  const { default: plugin } = (await import(built("index"))) as typeof import("../../src/index.ts")
  const { tool } = await plugin.server({ client, directory: project, worktree: project } as unknown as PluginInput)
  const context = { agent: "agent-0", sessionID: "session" } as ToolContext
  return {
    configFile,
    call: async (input) => JSON.parse(textOf(await tool?.skill_management?.execute(input, context))),
    async [Symbol.asyncDispose]() {
      process.env = environment
      rmSync(root, { recursive: true, force: true })
    },
  }
}

const textOf = (result: string | { readonly output: string } | undefined): string =>
  typeof result === "string" ? result : (result?.output ?? "")
