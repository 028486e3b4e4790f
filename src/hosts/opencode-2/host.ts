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
import { Remembered, sameItems } from "../../core/remembered.ts"
import type { Effect } from "../../core/rule.ts"
import { estimateTokens } from "../../core/tokens.ts"
import { cacheDirectory, stateDirectory } from "../../files/locations.ts"
import { listReader, ruleReader } from "../host-list.ts"
import { layersOf, observation } from "../observation.ts"
import type { Sources } from "../sources.ts"
import { isRecord, text } from "../values.ts"
import { GLOBAL_NAMES, globalDirectory, readSources } from "./layers.ts"
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
  /** What stands on disk this moment, where it was read already: for the first look. */
  readonly sources?: Sources
}): Host {
  const home = process.env.HOME || homedir()
  const configDirectory = globalDirectory(home)
  let fresh = given.sources
  const sources = async (): Promise<Sources> => {
    const found = fresh ?? (await readSources(given.directory))
    fresh = undefined
    return found
  }
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
    observe: () => observeSettled(given.lists, sources, configDirectory, given.directory, given.options),
    userReach: async (_, effect) => mentionOf(given.version, effect),
    skillRoots: async () => {
      const { globals, higher } = await readSources(given.directory)
      return skillRoots(home, configDirectory, given.directory, [...globals, ...higher])
    },
    judgeSkill,
    winnerIsFixed: true,
  }
}

/** The host and the layers at one moment. */
interface Moment extends Sources {
  readonly agents: readonly HostAgent[]
  readonly skills: readonly HostSkill[]
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
  sources: () => Promise<Sources>,
  configDirectory: string,
  directory: string,
  { dialect }: PluginOptions,
): Promise<Observation> {
  const end = Date.now() + RELOAD_WAIT_MS
  const key = JSON.stringify([configDirectory, directory])
  const models = (agents: readonly HostAgent[], loaded: readonly LayerDocument[]): [MakeModel, ...MakeModel[]] => {
    const [first, ...others] = bestReadings(readingsOf(agents, loaded))
    // Who asks for one form knows how this host reads it.
    return dialect === "auto" ? [first, ...others] : [first]
  }
  for (;;) {
    const moment = await observeOnce(lists, sources)
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

async function observeOnce(lists: Lists, sources: () => Promise<Sources>): Promise<Moment> {
  const [agents, skills, found] = await Promise.all([readAgents(lists), readSkills(lists), sources()])
  if (!agents && !skills) throw new HostUnavailable("both")
  if (!skills) throw new HostUnavailable("skills")
  return { agents: agents ?? [], skills, ...found }
}

type MakeModel = (layers: readonly LayerDocument[], action?: string) => Model

/** One way to read the layers, and how many agents it does not explain. */
interface Reading {
  readonly make: MakeModel
  readonly unexplained: number
}

interface Readings {
  readonly agents: readonly HostAgent[]
  readonly layers: readonly LayerDocument[]
  readonly readings: readonly Reading[]
}

const lastReadings = new Remembered<"all", Readings>()

/** How well each reading of the layers explains the agents; worked out once for as long as neither changes. */
function readingsOf(agents: readonly HostAgent[], layers: readonly LayerDocument[]): readonly Reading[] {
  const known = lastReadings.get("all")
  if (known && sameItems(known.layers, layers) && sameItems(known.agents.flatMap(factsOf), agents.flatMap(factsOf)))
    return known.readings
  const readings = READINGS.map((reading): Reading => {
    const make: MakeModel = (documents, action) => modelOpenCode2(documents, reading, action)
    return { make, unexplained: unexplainedAgents(agents, make(layers)) }
  })
  return lastReadings.set("all", { agents, layers, readings }).readings
}

const factsOf = ({ id, native, rules }: HostAgent) => [id, native, rules]

/** The readings that explain the host best; more than one as long as no document tells them apart. */
function bestReadings(readings: readonly Reading[]): [MakeModel, ...MakeModel[]] {
  const least = leastOf(readings)
  const [first, ...others] = readings.filter(({ unexplained }) => unexplained === least).map(({ make }) => make)
  if (!first) throw new Error("a host is read in one way at least")
  return [first, ...others]
}

const leastOf = (readings: readonly Reading[]): number => Math.min(...readings.map(({ unexplained }) => unexplained))

/** How many agents no reading of these layers explains. */
const differing = (agents: readonly HostAgent[], layers: readonly LayerDocument[]): number =>
  leastOf(readingsOf(agents, layers))

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
        rules: readRules(id, agent.permissions),
      },
    ]
  })
}

const readRules = ruleReader({ action: "action", resource: "resource", effect: "effect" })

async function readSkills(lists: Lists): Promise<readonly HostSkill[] | null> {
  const data = dataOf(await lists.skills().catch(() => null))
  return Array.isArray(data) ? readRegistry("skills", data) : null
}

/** The place of a skill is called `path` in 2.0 and `location` in the betas. */
const locationOf = (skill: Readonly<Record<string, unknown>>) => text(skill.path) ?? text(skill.location)
const autoinvokeOf = ({ autoinvoke }: Readonly<Record<string, unknown>>) =>
  typeof autoinvoke === "boolean" ? autoinvoke : null

const readRegistry = listReader<HostSkill>(
  (known, skill) =>
    (known.idFrom === "registry" ? known.id : null) === text(skill.id) &&
    known.name === text(skill.name) &&
    known.location === locationOf(skill) &&
    known.description === text(skill.description) &&
    known.autoinvoke === autoinvokeOf(skill),
  (skill) => {
    const id = text(skill.id)
    const location = locationOf(skill)
    const path = location?.startsWith("/") && !location.startsWith("/builtin/") ? location : null
    const [name, description] = [text(skill.name), text(skill.description)]
    return {
      id: id ?? (path ? idFromPath(path) : null),
      name,
      idFrom: id === null ? "path" : "registry",
      path,
      location,
      description,
      autoinvoke: autoinvokeOf(skill),
      tokens: estimateTokens(FRAME, [name ?? id ?? "", description ?? ""]),
    }
  },
)

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
