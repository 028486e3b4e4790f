import { join, relative } from "node:path"
import type { Effect, HostRule } from "./rules.ts"

export type Build = "beta" | "2.0"

export interface HostAgent {
  id: string
  name: string
  mode: "primary" | "subagent" | "all"
  hidden: boolean
  description?: string
  permissions: HostRule[]
}

const rule = (action: string, resource: string, effect: Effect): HostRule => ({ action, resource, effect })

/** Rules that every agent starts with ("Rules": recorded on a live V2 build, July 2026, duplicates included). */
export function defaultRules(env: Record<string, string>): HostRule[] {
  return [
    rule("*", "*", "allow"),
    rule("external_directory", "*", "ask"),
    rule("*", "*", "allow"),
    ...ownDirectories(env),
    rule("question", "*", "deny"),
    rule("plan_enter", "*", "deny"),
    rule("plan_exit", "*", "deny"),
    rule("read", "*", "allow"),
    rule("read", "*.env", "ask"),
    rule("read", "*.env.*", "ask"),
    rule("read", "*.env.example", "allow"),
  ]
}

/** The native agents as recorded on a live V2 build of July 2026 ("What decides the design" 4, "Rules"). */
export function nativeAgents(env: Record<string, string>, project: string, build: Build): HostAgent[] {
  const plans = join(env.XDG_DATA_HOME ?? "", "opencode/plans")
  const agent = (id: string, mode: HostAgent["mode"], hidden: boolean, description: string, own: HostRule[]) => ({
    id,
    name: id.charAt(0).toUpperCase() + id.slice(1),
    mode,
    hidden,
    ...(description && { description }),
    permissions: [...defaultRules(env), ...own],
  })
  const nothing = [rule("*", "*", "deny")]
  return [
    agent("build", "primary", false, "The default agent. Executes tools based on configured permissions.", [
      rule("question", "*", "allow"),
      rule("plan_enter", "*", "allow"),
    ]),
    agent("plan", "primary", false, "Plan mode. Disallows all edit tools.", [
      rule("question", "*", "allow"),
      rule("plan_exit", "*", "allow"),
      rule("external_directory", join(plans, "*"), "allow"),
      rule("edit", "*", "deny"),
      rule("edit", ".opencode/plans/*.md", "allow"),
      rule("edit", join(relative(project, plans), "*.md"), "allow"),
    ]),
    agent("general", "subagent", false, "General-purpose agent for multi-step tasks.", [rule("subagent", "*", "deny")]),
    agent("explore", "subagent", false, "Fast agent specialized for exploring codebases.", [
      rule("*", "*", "deny"),
      rule("grep", "*", "allow"),
      rule("glob", "*", "allow"),
      rule("webfetch", "*", "allow"),
      rule("websearch", "*", "allow"),
      rule("read", "*", "allow"),
      rule("subagent", "*", "deny"),
      ...ownDirectories(env),
    ]),
    agent("compaction", "primary", true, "", build === "beta" ? nothing : []),
    agent("title", "primary", true, "", nothing),
    agent("summary", "primary", true, "", nothing),
  ]
}

function ownDirectories(env: Record<string, string>): HostRule[] {
  return [
    rule("external_directory", "*", "ask"),
    rule("external_directory", join(env.XDG_DATA_HOME ?? "", "opencode/shell/*/*"), "allow"),
    rule("external_directory", join(env.TMPDIR ?? "", "opencode/*"), "allow"),
  ]
}
