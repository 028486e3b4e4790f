/**
 * Hosts in memory that have just started on one global file, with rulesets by the naive reference: a model that differs
 * from it shows as a wrong prediction. `write` makes what was planned real, as a commit does on a disk without faults.
 */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Node, type ParseError, parseTree } from "jsonc-parser"
import type { Host } from "../../src/actions/ports.ts"
import { rehearse } from "../../src/actions/rehearse.ts"
import { run } from "../../src/actions/run.ts"
import type { Draft } from "../../src/core/plan-all.ts"
import { encodeSidecar, type SidecarRecord } from "../../src/core/sidecar.ts"
import { opencode1 } from "../../src/hosts/opencode-1/host.ts"
import { globalSources, higherSources } from "../../src/hosts/opencode-1/layers.ts"
import { opencode2 } from "../../src/hosts/opencode-2/host.ts"
import { AGENTS } from "../core/plan-world.ts"
import {
  type Effect,
  type NaiveRule,
  naiveConfig,
  naiveEffect,
  naiveMatch,
  naiveTail1,
  naiveTail2,
} from "../core/reference.ts"
import { pointEnvironment } from "../hosts/opencode-1/recorded.ts"
import { documentRules } from "../hosts/opencode-2/rules.ts"

export type Obj = Record<string, unknown>
export const objectOf = (value: unknown): Obj =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {}

/** The root of a text that holds an object, and nothing wrong. */
export function parsed(text: string): Node | undefined {
  const errors: ParseError[] = []
  const tree = parseTree(text.replace(/^\ufeff/, " "), errors, { allowTrailingComma: true })
  return errors.length === 0 && tree?.type === "object" ? tree : undefined
}

export interface Kind {
  readonly name: string
  readonly generation: "opencode-1" | "opencode-2"
  /** Its global files, in load order. */
  readonly names: readonly string[]
  /** The rules that a config puts behind an agent's own defaults. */
  readonly tail: (config: Obj, agent: string) => readonly NaiveRule[]
}

const NAMES = ["opencode.json", "opencode.jsonc"]
export const KINDS: readonly Kind[] = [
  {
    name: "OpenCode 1",
    generation: "opencode-1",
    names: ["config.json", ...NAMES],
    tail: (config, agent) => naiveTail1([config], agent),
  },
  {
    name: "OpenCode 2.0",
    generation: "opencode-2",
    names: NAMES,
    tail: (config, agent) => naiveTail2([config], agent),
  },
  {
    name: "OpenCode 2 beta",
    generation: "opencode-2",
    names: NAMES,
    tail: (config, id) => {
      const { rules, agents } = documentRules(config, "beta")
      const own = agents.filter((agent) => agent.id === id).flatMap((agent) => agent.rules)
      return [...rules, ...own].map(({ action, resource, effect }) => [action, resource, effect])
    },
  },
]

export interface Agent {
  readonly id: string
  readonly inReach: boolean
  /** Those that can speak about skills. */
  readonly rules: readonly NaiveRule[]
}
export type Effects = Readonly<Record<string, Effect>>

export type Action = "disable" | "enable"
export type Planned =
  | { readonly kind: "change"; readonly plan: Draft; readonly records: readonly SidecarRecord[] }
  | { readonly kind: "unchanged" }
  | { readonly kind: "refused"; readonly code: string }

/** A directory for such hosts, with this process's environment in it until `remove`. */
export function makePlace() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "reference-host-")))
  const [home, project, configDir] = [join(root, "home"), join(root, "project"), join(root, "config", "opencode")]
  for (const path of [home, project, configDir]) mkdirSync(path, { recursive: true })
  const restore = pointEnvironment({
    HOME: home,
    XDG_CONFIG_HOME: join(root, "config"),
    XDG_STATE_HOME: join(root, "state"),
    XDG_CACHE_HOME: join(root, "cache"),
  })
  const remove = () => {
    restore()
    rmSync(root, { recursive: true, force: true })
  }
  return { home, project, configDir, remove }
}

/** The naive reference takes its time; many agents have the same rules, and a text comes back again and again. */
const agentsRead = new Map<string, readonly Agent[]>()
const effectsFound = new Map<string, Effects>()

export function referenceHost(
  kind: Kind,
  place: ReturnType<typeof makePlace>,
  name: string,
  skills: readonly string[],
) {
  const { home, project, configDir } = place
  const file = join(configDir, name)
  const sidecar = join(configDir, "skill_management.state.json")
  const text = () => readFileSync(file, "utf8")

  async function start(): Promise<Host> {
    const agents = allAgents(kind, text()).map(({ own, ...agent }) => ({ ...agent, mode: "all", rules: own }))
    const caller = { agent: agentsOf(kind, text()).find(({ inReach }) => inReach)?.id ?? null, session: null }
    const common = { version: null, caller, options: { dialect: "auto", writes: "agent", protect: [] } } as const
    if (kind.generation === "opencode-2") {
      const permissions = (rules: readonly NaiveRule[]) =>
        rules.map(([action, resource, effect]) => ({ action, resource, effect }))
      const lists = {
        agents: async () => agents.map(({ rules, ...agent }) => ({ ...agent, permissions: permissions(rules) })),
        skills: async () => skills.map((id) => ({ id, path: `/skills/${id}/SKILL.md` })),
      }
      return opencode2({ ...common, lists, directory: project, worktree: project })
    }
    const permission = (rules: readonly NaiveRule[]) =>
      rules.map(([permission, pattern, action]) => ({ permission, pattern, action }))
    const routes: Record<string, unknown> = {
      "/agent": agents.map(({ id, rules, ...agent }) => ({ ...agent, name: id, permission: permission(rules) })),
      "/skill": skills.map((skill) => ({ name: skill, location: `/skills/${skill}/SKILL.md` })),
    }
    const places = { directory: project, worktree: project, home, configDirectory: configDir }
    const loaded = { globals: await globalSources(configDir), higher: await higherSources(places) }
    return opencode1({ ...common, get: async (url) => routes[url], places, loaded, ask: async () => "unanswered" })
  }

  return {
    text,
    agents: (of = text()) => agentsOf(kind, of),
    /** What each agent may do with each of these skills. */
    effects: (ids: readonly string[], of = text()): Readonly<Record<string, Effects>> =>
      Object.fromEntries(agentsOf(kind, of).map(({ id, rules }) => [id, effectsUnder(rules, ids)])),
    async plan(action: Action, id: string): Promise<Planned> {
      const found = await rehearse(await start(), { action, id })
      if ("code" in found) return { kind: "refused", code: found.code }
      const { draft } = found
      if (draft.targets.every(({ reason }) => reason === null)) return { kind: "unchanged" }
      return { kind: "change", plan: draft, records: draft.records }
    },
    write({ plan, records }: Extract<Planned, { kind: "change" }>): void {
      for (const change of plan.changes) {
        if (change.file.path !== file || change.before !== text()) throw new Error("planned on another text")
        writeFileSync(file, change.after ?? "")
      }
      if (records.length > 0) writeFileSync(sidecar, encodeSidecar(records))
      else rmSync(sidecar, { force: true })
    },
    /** The whole tool, disk and all. */
    call: async (action: Action, id: string) => (await run(await start(), { action, id })).answer,
  }
}

const agentsOf = (kind: Kind, text: string): readonly Agent[] => {
  const key = `${kind.name}\n${text}`
  const found = agentsRead.get(key) ?? allAgents(kind, text).map(withSkillRules)
  agentsRead.set(key, found)
  return found
}

const withSkillRules = ({ id, hidden, deniedByHost, own }: ReturnType<typeof allAgents>[number]): Agent => ({
  id,
  inReach: !hidden && !deniedByHost,
  rules: own.filter(([action]) => naiveMatch(action, "skill")),
})

/** The host's own agents and those of the config, each with all its rules. */
function allAgents(kind: Kind, text: string) {
  const config = parsed(text) ? naiveConfig(text) : {}
  const sections = [config.agent, config.mode, config.agents]
    .flatMap((agents) => Object.entries(objectOf(agents)))
    .map(([id, own]) => ({ id, ...objectOf(own) }) as { id: string } & Obj)
  const gone = sections.filter(({ disable, disabled }) => disable === true || disabled === true).map(({ id }) => id)
  const native = NATIVE.map((agent) => ({ ...agent, native: true }))
  const custom = sections
    .filter(({ id }) => !NATIVE.some((agent) => agent.id === id))
    .map(({ id, hidden }) => ({ id, hidden: hidden === true, native: false, deniedByHost: false, base: DEFAULT }))
  const all = new Map([...native, ...custom].map((agent) => [agent.id, agent]))
  return [...all.values()]
    .filter(({ id }) => !gone.includes(id))
    .map(({ base, ...agent }) => ({ ...agent, own: [...base, ...kind.tail(config, agent.id)] }))
}

const DEFAULT: readonly NaiveRule[] = [["*", "*", "allow"]]
const NATIVE = [...AGENTS, { id: "general", hidden: false, deniedByHost: false, base: DEFAULT }]

function effectsUnder(rules: readonly NaiveRule[], ids: readonly string[]): Effects {
  const key = JSON.stringify([rules, ids])
  const found = effectsFound.get(key) ?? Object.fromEntries(ids.map((id) => [id, naiveEffect(rules, id)]))
  effectsFound.set(key, found)
  return found
}
