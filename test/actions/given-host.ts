/**
 * Hosts in memory with any registry and any agents, for worlds that no disk could hold. Each call finds a host that has
 * just started on the files; an agent's rules are its own and what the naive reference makes of the global file.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import type { Host } from "../../src/actions/ports.ts"
import { run } from "../../src/actions/run.ts"
import { opencode1 } from "../../src/hosts/opencode-1/host.ts"
import { globalSources, higherSources } from "../../src/hosts/opencode-1/layers.ts"
import { opencode2 } from "../../src/hosts/opencode-2/host.ts"
import { type NaiveRule, naiveConfig } from "../core/reference.ts"
import { KINDS, makePlace } from "./reference-host.ts"

export interface GivenSkill {
  readonly id: string | null
  readonly name?: string
  readonly description?: string
  readonly path?: string
}

export interface GivenAgent {
  readonly id: string
  readonly mode?: string
  readonly hidden?: boolean
  /** The host's own share, before the configuration's. */
  readonly rules?: readonly NaiveRule[]
  /** Behind the configuration's: nothing accounts for them. */
  readonly foreign?: readonly NaiveRule[]
}

export interface Given {
  readonly skills: readonly GivenSkill[]
  readonly agents?: readonly GivenAgent[]
  /** The global `opencode.jsonc`. */
  readonly config?: string
  /** Other files, by their path below the config directory. */
  readonly files?: Readonly<Record<string, string>>
  readonly options?: Partial<Host["options"]>
  readonly caller?: string
}

export const GENERATIONS = ["opencode-1", "opencode-2"] as const
type Generation = (typeof GENERATIONS)[number]

const NATIVE = ["build", "plan", "general", "explore", "compaction", "title", "summary"]
const DENIED = ["explore", "compaction", "title", "summary"]
const ALLOW: NaiveRule = ["*", "*", "allow"]
const DENY: NaiveRule = ["*", "*", "deny"]

/** The agents of a fresh home. */
export const SEVEN: readonly GivenAgent[] = NATIVE.map((id) => ({
  id,
  hidden: ["compaction", "title", "summary"].includes(id),
  rules: DENIED.includes(id) ? [ALLOW, DENY] : [ALLOW],
}))

export function openGiven(generation: Generation, given: Given) {
  const kind = KINDS.find((one) => one.generation === generation)
  if (!kind) throw new Error("both generations are played")
  const place = makePlace()
  const { home, project, configDir } = place
  const file = join(configDir, "opencode.jsonc")
  const text = () => (existsSync(file) ? readFileSync(file, "utf8") : "{}")
  for (const [name, content] of Object.entries({
    ...(given.config && { "opencode.jsonc": given.config }),
    ...given.files,
  })) {
    mkdirSync(dirname(join(configDir, name)), { recursive: true })
    writeFileSync(join(configDir, name), content)
  }
  let { skills, agents = SEVEN } = given

  const rulesOf = ({ id, rules = [ALLOW], foreign = [] }: GivenAgent) => [
    ...rules,
    ...kind.tail(naiveConfig(text()), id),
    ...foreign,
  ]
  const common = {
    version: generation === "opencode-1" ? "1.18.34" : "2.0.8",
    caller: { agent: given.caller ?? given.agents?.[0]?.id ?? SEVEN[0]?.id ?? null, session: "ses_1" },
    options: { dialect: "auto", writes: "agent", protect: [], ...given.options },
  } as const

  async function start(): Promise<Host> {
    if (generation === "opencode-2") {
      const lists = {
        agents: async () =>
          agents.map((agent) => ({
            ...agent,
            permissions: rulesOf(agent).map(([action, resource, effect]) => ({ action, resource, effect })),
          })),
        skills: async () => skills,
      }
      return opencode2({ ...common, lists, directory: project, worktree: project })
    }
    const routes: Record<string, unknown> = {
      "/agent": agents.map((agent) => ({
        ...agent,
        name: agent.id,
        native: NATIVE.includes(agent.id),
        permission: rulesOf(agent).map(([permission, pattern, action]) => ({ permission, pattern, action })),
      })),
      "/skill": skills.map(({ id, path, description }) => ({ name: id, location: path, description })),
      "/command": [],
    }
    const places = { directory: project, worktree: project, home, configDirectory: configDir }
    const loaded = { globals: await globalSources(configDir), higher: await higherSources(places) }
    return opencode1({ ...common, get: async (url) => routes[url], places, loaded, ask: async () => "unanswered" })
  }

  return {
    configDir,
    text,
    write: (content: string) => writeFileSync(file, content),
    clear: () => rmSync(file, { force: true }),
    register(others: readonly GivenSkill[]) {
      skills = others
    },
    appoint(others: readonly GivenAgent[]) {
      agents = others
    },
    start,
    call: async (input: object) => run(await start(), input),
    stop: place.remove,
  }
}
