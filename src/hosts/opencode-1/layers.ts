import { join } from "node:path"
import { upwards } from "../../files/locations.ts"
import {
  agentSources,
  configSources,
  fileSource,
  isDirectory,
  type Source,
  type Sources,
  together,
} from "../sources.ts"

/** The global files, in load order: a later one wins. */
export const GLOBAL_NAMES = ["config.json", "opencode.json", "opencode.jsonc"] as const

export interface Places {
  readonly directory: string
  readonly worktree: string
  readonly home: string
  readonly configDirectory: string
}

/** The global files as sources, in load order. */
export const globalSources = (configDirectory: string): Promise<Source[]> =>
  configSources("global", configDirectory, GLOBAL_NAMES)

const NAMES = ["opencode.json", "opencode.jsonc"] as const

/**
 * Every layer above the global files that can be read from disk and environment, in the order in which OpenCode 1
 * merges them (read in the code of 1.18.34): `$OPENCODE_CONFIG`; project files from the outermost directory down;
 * then each configuration directory (global, `.opencode` from the nearest outwards, `~/.opencode`,
 * `$OPENCODE_CONFIG_DIR`) with its files and its Markdown agents; `$OPENCODE_CONFIG_CONTENT`; managed files;
 * `$OPENCODE_PERMISSION`. What a server or an organisation adds cannot be read here: the model then differs.
 */
export function higherSources(places: Places): Promise<Source[]> {
  const env = process.env
  const given = (text: string | undefined, form: "config" | "permission"): Source[] =>
    text ? [{ layer: "content", file: null, directory: places.directory, text, form }] : []
  const projectAllowed = !isTruthy(env.OPENCODE_DISABLE_PROJECT_CONFIG)
  const parents = projectAllowed ? upwards(places.directory, places.worktree) : []
  return together([
    env.OPENCODE_CONFIG ? fileSource("explicit", env.OPENCODE_CONFIG) : [],
    ...parents.toReversed().map((parent) => configSources("project", parent, NAMES)),
    configDirectories(places, parents).then((found) => together(found.flatMap(sourcesIn))),
    given(env.OPENCODE_CONFIG_CONTENT, "config"),
    configSources("managed", "/etc/opencode", NAMES),
    given(env.OPENCODE_PERMISSION, "permission"),
  ])
}

function sourcesIn({ layer, directory }: ConfigDirectory): Promise<Source[]>[] {
  const hasConfig = directory.endsWith(".opencode") || directory === process.env.OPENCODE_CONFIG_DIR
  const agents = agentSources(layer, directory, true)
  return hasConfig ? [configSources(layer, directory, NAMES), agents] : [agents]
}

const globalsAtStart = new Map<string, Promise<Source[]>>()

/**
 * What the host has loaded and will not read again before a restart. The global files are read once per process,
 * as the host reads them; the other layers once per instance.
 */
export async function loadedAtStart(places: Places): Promise<Sources> {
  const globals = globalsAtStart.get(places.configDirectory) ?? globalSources(places.configDirectory)
  globalsAtStart.set(places.configDirectory, globals)
  return { globals: await globals, higher: await higherSources(places) }
}

interface ConfigDirectory {
  readonly layer: "global" | "project" | "explicit"
  readonly directory: string
}

/** Every directory that configuration, agents and skills are read from. */
export async function configDirectories(places: Places, parents: readonly string[]): Promise<ConfigDirectory[]> {
  const found: ConfigDirectory[] = [
    { layer: "global", directory: places.configDirectory },
    ...parents.map((parent) => ({ layer: "project" as const, directory: join(parent, ".opencode") })),
    { layer: "explicit", directory: join(places.home, ".opencode") },
  ]
  const named = process.env.OPENCODE_CONFIG_DIR
  if (named) found.push({ layer: "explicit", directory: named })
  const once = found.filter(({ directory }, at) => found.findIndex((other) => other.directory === directory) === at)
  const exists = await Promise.all(once.map(({ directory }) => directory === named || isDirectory(directory)))
  return once.filter((_, at) => exists[at])
}

export const isTruthy = (value: string | undefined): boolean => value?.toLowerCase() === "true" || value === "1"
