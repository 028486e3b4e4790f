import { existsSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import {
  type Caller,
  type Host,
  type HostAgent,
  type HostSkill,
  HostUnavailable,
  type Observation,
  type PluginOptions,
  type UserReach,
} from "../../actions/ports.ts"
import type { LayerDocument } from "../../core/document.ts"
import { attribute, type Model, modelOpenCode2, READINGS } from "../../core/predict.ts"
import type { Effect } from "../../core/rule.ts"
import { estimateTokens } from "../../core/tokens.ts"
import { cacheDirectory, stateDirectory } from "../../files/locations.ts"
import { layersOf, observation } from "../observation.ts"
import { readRules } from "../rules.ts"
import type { Source } from "../sources.ts"
import { isRecord, text } from "../values.ts"
import { allSources, GLOBAL_NAMES, globalDirectory, globalSources, higherSources } from "./layers.ts"
import { idFromPath, judgeSkill, skillRoots } from "./skills.ts"

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
    observe: () => observeSettled(given.lists, configDirectory, given.directory, given.options),
    userReach: async (_, effect) => mentionOf(given.version, effect),
    skillRoots: async () => {
      const documents = await allSources(given.directory)
      return skillRoots(home, configDirectory, given.directory, documents)
    },
    judgeSkill,
    winnerIsFixed: true,
  }
}

/** The host and the layers at one moment. */
interface Moment {
  readonly agents: readonly HostAgent[]
  readonly skills: readonly HostSkill[]
  readonly globals: readonly Source[]
  readonly higher: readonly Source[]
}

/** Per config directory: the layers that last explained the host, and the last moment that nothing explained. */
const explained = new Map<string, readonly LayerDocument[]>()
const unexplained = new Map<string, string>()

/**
 * While a reload is under way host and files differ; then both are read again, for as long as a reload may take. If
 * they still differ, the host may not have read the files at all: then what it had loaded before explains it. What
 * nothing explains (another plugin's rules, say) is not waited for twice.
 */
async function observeSettled(
  lists: Lists,
  configDirectory: string,
  directory: string,
  { dialect }: PluginOptions,
): Promise<Observation> {
  const end = Date.now() + RELOAD_WAIT_MS
  const key = JSON.stringify([configDirectory, directory])
  const models = (agents: readonly HostAgent[], loaded: readonly LayerDocument[]): [MakeModel, ...MakeModel[]] => {
    const [first, ...others] = bestReadings(agents, loaded)
    // Who asks for one form knows how this host reads it.
    return dialect === "auto" ? [first, ...others] : [first]
  }
  for (;;) {
    const moment = await observeOnce(lists, configDirectory, directory)
    const layers = await layersOf(configDirectory, GLOBAL_NAMES, moment.globals, moment.higher)
    const configJson = existsSync(join(configDirectory, "config.json"))
    const now = layers.documents(new Map())
    const seen = (loaded: readonly LayerDocument[] | null) =>
      observation({ ...moment, configJson, layers, models: models(moment.agents, loaded ?? now), loaded })
    if (differing(moment.agents, now) === 0) {
      explained.set(key, now)
      return seen(null)
    }
    const stamp = JSON.stringify(moment)
    if (Date.now() < end && unexplained.get(key) !== stamp) {
      await delay(POLL_MS)
      continue
    }
    const before = explained.get(key)
    if (before && differing(moment.agents, before) === 0) return seen(before)
    unexplained.set(key, stamp)
    return seen(null)
  }
}

async function observeOnce(lists: Lists, configDirectory: string, directory: string): Promise<Moment> {
  const [agents, skills, globals, higher] = await Promise.all([
    readAgents(lists),
    readSkills(lists),
    globalSources(configDirectory),
    higherSources(configDirectory, directory),
  ])
  if (!agents && !skills) throw new HostUnavailable("both")
  if (!skills) throw new HostUnavailable("skills")
  return { agents: agents ?? [], skills, globals, higher }
}

type MakeModel = (layers: readonly LayerDocument[], action?: string) => Model

/** The readings that explain the host best; more than one as long as no document tells them apart. */
function bestReadings(agents: readonly HostAgent[], loaded: readonly LayerDocument[]): [MakeModel, ...MakeModel[]] {
  const scored = READINGS.map((reading) => {
    const make: MakeModel = (layers, action) => modelOpenCode2(layers, reading, action)
    return { make, far: unexplainedAgents(agents, make(loaded)) }
  })
  const least = Math.min(...scored.map(({ far }) => far))
  const [first, ...others] = scored.filter(({ far }) => far === least).map(({ make }) => make)
  if (!first) throw new Error("a host is read in one way at least")
  return [first, ...others]
}

/** How many agents no reading of these layers explains. */
const differing = (agents: readonly HostAgent[], layers: readonly LayerDocument[]): number =>
  Math.min(...READINGS.map((reading) => unexplainedAgents(agents, modelOpenCode2(layers, reading))))

const unexplainedAgents = (agents: readonly HostAgent[], model: Model): number =>
  agents.filter((agent) => attribute(agent.rules, model.tail(agent.id), agent.native, model.complete).base === null)
    .length

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
        rules: readRules(id, agent.permissions, WORDS),
      },
    ]
  })
}

const WORDS = { action: "action", resource: "resource", effect: "effect" } as const

/** The place of a skill is called `path` in 2.0 and `location` in the betas. */
async function readSkills(lists: Lists): Promise<HostSkill[] | null> {
  const data = dataOf(await lists.skills().catch(() => null))
  if (!Array.isArray(data)) return null
  return data.filter(isRecord).map((skill): HostSkill => {
    const id = text(skill.id)
    const location = text(skill.path) ?? text(skill.location)
    const path = location?.startsWith("/") && !location.startsWith("/builtin/") ? location : null
    const [name, description] = [text(skill.name), text(skill.description)]
    const autoinvoke = skill.autoinvoke
    return {
      id: id ?? (path ? idFromPath(path) : null),
      name,
      idFrom: id === null ? "path" : "registry",
      path,
      location,
      description,
      autoinvoke: typeof autoinvoke === "boolean" ? autoinvoke : null,
      content: text(skill.content),
      tokens: estimateTokens(FRAME, [name ?? id ?? "", description ?? ""]),
    }
  })
}

/** What a listed skill's entry costs a prompt without its name and description: no location (code of the preview). */
const FRAME = 21

/** Older betas refuse a denied skill, 2.0.8 hands over the body and asks no rule (both measured). */
function mentionOf(version: string | null, effect: Effect): UserReach {
  if (effect === "allow") return { mention: true, reasons: [] }
  const [, patch] = /^2\.0\.(\d+)$/.exec(version ?? "") ?? []
  return Number(patch) >= 8
    ? { mention: true, reasons: ["rules_not_asked"] }
    : { mention: null, reasons: ["unmeasured"] }
}
