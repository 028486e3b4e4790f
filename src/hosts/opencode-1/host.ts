import { homedir } from "node:os"
import { basename } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import {
  type Caller,
  type Host,
  type HostAgent,
  type HostSkill,
  HostUnavailable,
  type PluginOptions,
  type UserReach,
} from "../../actions/ports.ts"
import { modelOpenCode1 } from "../../core/predict.ts"
import { cacheDirectory, stateDirectory } from "../../files/locations.ts"
import { documentsOf } from "../documents.ts"
import { listReader, ruleReader } from "../host-list.ts"
import { layersOf, observation } from "../observation.ts"
import type { Sources } from "../sources.ts"
import { isRecord, text } from "../values.ts"
import { GLOBAL_NAMES, globalSources, higherSources, type Places } from "./layers.ts"
import { promptTokens } from "./prompt.ts"
import { judgeSkill, skillRoots } from "./skills.ts"

/** `client._client.get` of the plugin input: the one way to every route, also under a server password (1.18.34). */
export type Get = (url: string) => Promise<unknown>

/** OpenCode 1 as one call of the tool sees it. */
export function opencode1(given: {
  readonly get: Get
  readonly places: Places
  readonly loaded: Sources
  readonly version: string | null
  readonly caller: Caller
  readonly options: PluginOptions
  readonly ask: NonNullable<Host["ask"]>
}): Host {
  const { places } = given
  const loaded = [...given.loaded.globals, ...given.loaded.higher]
  return {
    generation: "opencode-1",
    version: given.version,
    caller: given.caller,
    options: given.options,
    directory: places.directory,
    worktree: places.worktree,
    home: places.home,
    cacheDirectory: cacheDirectory(process.env, places.home),
    configDirectory: places.configDirectory,
    configDirectories: [places.configDirectory],
    stateDirectory: stateDirectory(process.env, homedir()),
    globalNames: GLOBAL_NAMES,
    preferredNames: ["opencode.jsonc", "opencode.json", "config.json"],
    reloads: false,
    ask: given.ask,
    agents: async () => (await readAgents(given.get)) ?? [],
    observe: async () => {
      const [agents, skills, globals, higher] = await Promise.all([
        readAgents(given.get),
        readSkills(given.get),
        globalSources(places.configDirectory),
        higherSources(places),
      ])
      if (!agents && !skills) throw new HostUnavailable("both")
      if (!skills) throw new HostUnavailable("skills")
      return observation({
        agents: agents ?? [],
        skills,
        configJson: globals.some((source) => source.file?.endsWith("config.json")),
        layers: await layersOf(places.configDirectory, GLOBAL_NAMES, globals, higher),
        models: [(layers, action) => modelOpenCode1(layers, places.home, action)],
        loaded: await documentsOf(loaded),
      })
    },
    userReach: (skill) => slashCommand(given.get, skill),
    skillRoots: () => skillRoots(places, loaded),
    judgeSkill,
    // Files of one name are read at the same time, and the last that is ready stays (1.18.34).
    winnerIsFixed: false,
  }
}

/** An unknown route answers 200 with HTML, so only an array counts. */
async function readAgents(get: Get): Promise<HostAgent[] | null> {
  const data = await get("/agent").catch(() => null)
  if (!Array.isArray(data)) return null
  return data.filter(isRecord).flatMap((agent) => {
    const id = text(agent.name)
    if (id === null || !Array.isArray(agent.permission)) return []
    return [
      {
        id,
        mode: text(agent.mode) ?? "all",
        hidden: agent.hidden === true,
        native: agent.native === true,
        rules: readRules(id, agent.permission),
      },
    ]
  })
}

const readRules = ruleReader({ action: "permission", resource: "pattern", effect: "action" })

async function readSkills(get: Get): Promise<readonly HostSkill[] | null> {
  const data = await get("/skill").catch(() => null)
  return Array.isArray(data) ? readRegistry("/skill", data) : null
}

/** OpenCode 1 matches its rules against the registry name; the folder may be called otherwise. */
const readRegistry = listReader<HostSkill>(
  (known, skill) =>
    known.name === text(skill.name) &&
    known.location === text(skill.location) &&
    known.description === text(skill.description),
  (skill) => {
    const name = text(skill.name)
    const location = text(skill.location)
    const path = location?.startsWith("/") ? location : null
    const id = name ?? (path ? basename(path.replace(/\/SKILL\.md$/i, ""), ".md") : null)
    const description = text(skill.description)
    return {
      id,
      name,
      idFrom: name === null ? "path" : "name",
      path,
      location,
      description,
      autoinvoke: null,
      tokens: promptTokens({ name: id, description, location }),
    }
  },
)

/** The list waits for every MCP server's prompts; nobody waits longer than this for it, in ms. */
const COMMANDS_MS = 1_000

/**
 * `@name` is plain text on this host; `/name` hands over the skill's body and asks no rule, unless a command has that
 * name (measured on 1.18.34).
 */
async function slashCommand(get: Get, skill: HostSkill): Promise<UserReach> {
  const late = delay(COMMANDS_MS, null, { ref: false })
  const commands = await Promise.race([get("/command").catch(() => null), late])
  if (!Array.isArray(commands)) return { mention: null, reasons: ["unmeasured"] }
  const command = commands.filter(isRecord).find(({ name }) => name === skill.name)
  if (!command) return { mention: false, reasons: [] }
  const own = command.source === "skill"
  return { mention: own, reasons: [own ? "slash_command" : "command_of_same_name"] }
}
