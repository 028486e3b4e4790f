import { homedir } from "node:os"
import { basename, dirname } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import {
  type Caller,
  type Host,
  type HostAgent,
  type HostSkill,
  HostUnavailable,
  type Observation,
  type PluginOptions,
} from "../../actions/ports.ts"
import { attribute, type Model, modelOpenCode2, READINGS } from "../../core/predict.ts"
import { isEffect, type Rule } from "../../core/rule.ts"
import { cacheDirectory, stateDirectory } from "../../files/locations.ts"
import { observation } from "../observation.ts"
import { isRecord, text } from "../values.ts"
import { GLOBAL_NAMES, globalDirectory, globalSources, higherSources } from "./layers.ts"

/** The parts of the plugin context that are used; a bare array or `{location, data}` is accepted from both. */
export interface Lists {
  agents(): Promise<unknown>
  skills(): Promise<unknown>
}

/** A global edit shows in the host's lists 0.6 to 0.75 s later (measured); longer than this nobody waits, in ms. */
const RELOAD_WAIT_MS = 3_000
const POLL_MS = 100

/** OpenCode 2 as one call of the tool sees it. */
export function opencode2(given: {
  readonly lists: Lists
  readonly directory: string
  readonly worktree: string
  readonly version: string | null
  readonly caller: Caller
  readonly options: PluginOptions
}): Host {
  const home = process.env.HOME || homedir()
  const configDirectory = globalDirectory(home)
  return {
    generation: "opencode-2",
    version: given.version,
    caller: given.caller,
    options: given.options,
    directory: given.directory,
    worktree: given.worktree,
    home,
    cacheDirectory: cacheDirectory(process.env, home),
    configDirectory,
    configDirectories: [configDirectory],
    stateDirectory: stateDirectory(process.env, home),
    globalNames: GLOBAL_NAMES,
    preferredNames: ["opencode.jsonc", "opencode.json"],
    reloads: true,
    agents: async () => (await readAgents(given.lists)) ?? [],
    observe: () => observeSettled(given.lists, configDirectory, given.directory),
  }
}

/** While a reload is under way host and files differ; then both are read again, for as long as a reload may take. */
async function observeSettled(lists: Lists, configDirectory: string, directory: string): Promise<Observation> {
  const end = Date.now() + RELOAD_WAIT_MS
  for (;;) {
    const { seen, settled } = await observeOnce(lists, configDirectory, directory)
    if (settled || Date.now() >= end) return seen
    await delay(POLL_MS)
  }
}

async function observeOnce(lists: Lists, configDirectory: string, directory: string) {
  const [agents, skills] = await Promise.all([readAgents(lists), readSkills(lists)])
  if (!agents && !skills) throw new HostUnavailable("both")
  if (!skills) throw new HostUnavailable("skills")
  const globals = await globalSources(configDirectory)
  const higher = await higherSources(configDirectory, directory)
  const as = (reading: (typeof READINGS)[number]) =>
    observation({
      agents: agents ?? [],
      skills,
      configDirectory,
      globalNames: GLOBAL_NAMES,
      globals,
      higher,
      model: (layers) => modelOpenCode2(layers, reading),
      loaded: null,
    })
  const readings = READINGS.map(as)
  const best = readings.map((seen) => ({ seen, differing: differing(agents ?? [], seen.loaded) }))
  best.sort((a, b) => a.differing - b.differing)
  const [first] = best
  if (!first) throw new Error("a host is read in one way at least")
  return { seen: first.seen, settled: first.differing === 0 }
}

const differing = (agents: readonly HostAgent[], model: Model): number =>
  agents.filter((agent) => attribute(agent.rules, model.tail(agent.id), agent.native).base === null).length

const dataOf = (list: unknown): unknown => (isRecord(list) ? list.data : list)

/** The host does not say which agents are its own; these are, on every build seen. */
const NATIVE_AGENTS = ["build", "plan", "general", "explore", "compaction", "title", "summary"]

async function readAgents(lists: Lists): Promise<HostAgent[] | null> {
  const data = dataOf(await lists.agents().catch(() => null))
  if (!Array.isArray(data)) return null
  return data.filter(isRecord).flatMap((agent) => {
    const id = text(agent.id) ?? text(agent.name)
    if (id === null || !Array.isArray(agent.permissions)) return []
    return [
      {
        id,
        mode: text(agent.mode) ?? "all",
        hidden: agent.hidden === true,
        native: NATIVE_AGENTS.includes(id),
        rules: agent.permissions.filter(isRecord).flatMap(decodeRule),
      },
    ]
  })
}

function decodeRule(rule: Record<string, unknown>): Rule[] {
  const action = text(rule.action)
  const resource = text(rule.resource)
  const effect = rule.effect
  return action !== null && resource !== null && isEffect(effect) ? [{ action, resource, effect }] : []
}

/** The place of a skill is called `path` in 2.0 and `location` in the betas. */
async function readSkills(lists: Lists): Promise<HostSkill[] | null> {
  const data = dataOf(await lists.skills().catch(() => null))
  if (!Array.isArray(data)) return null
  return data.filter(isRecord).map((skill): HostSkill => {
    const id = text(skill.id)
    const location = text(skill.path) ?? text(skill.location)
    const path = location?.startsWith("/") && !location.startsWith("/builtin/") ? location : null
    const autoinvoke = skill.autoinvoke
    return {
      id: id ?? (path ? idFromPath(path) : null),
      name: text(skill.name),
      idFrom: id === null ? "path" : "registry",
      path,
      location,
      description: text(skill.description),
      autoinvoke: typeof autoinvoke === "boolean" ? autoinvoke : null,
      content: text(skill.content),
    }
  })
}

/** `<root>/a/SKILL.md` and `<root>/a.md` are both `a` (measured on a live V2 build, July 2026). */
const idFromPath = (path: string): string =>
  /^skill\.md$/i.test(basename(path)) ? basename(dirname(path)) : basename(path).replace(/\.md$/i, "")
