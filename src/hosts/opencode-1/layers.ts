import { join } from "node:path"
import { upwards } from "../../files/locations.ts"
import { agentSources, fileSource, isDirectory, type Source } from "../sources.ts"

/** The global files, in load order: a later one wins. */
export const GLOBAL_NAMES = ["config.json", "opencode.json", "opencode.jsonc"] as const

export interface Places {
  readonly directory: string
  readonly worktree: string
  readonly home: string
  readonly configDirectory: string
}

/** The global files as sources, in load order. */
export const globalSources = async (configDirectory: string): Promise<Source[]> =>
  (await Promise.all(GLOBAL_NAMES.map((name) => fileSource("global", join(configDirectory, name))))).flat()

/**
 * Every layer above the global files that can be read from disk and environment, in the order in which OpenCode 1
 * merges them (read in the code of 1.18.34): `$OPENCODE_CONFIG`; project files from the outermost directory down;
 * then each configuration directory (global, `.opencode` from the nearest outwards, `~/.opencode`,
 * `$OPENCODE_CONFIG_DIR`) with its files and its Markdown agents; `$OPENCODE_CONFIG_CONTENT`; managed files;
 * `$OPENCODE_PERMISSION`. What a server or an organisation adds cannot be read here: the model then differs.
 */
export async function higherSources(places: Places): Promise<Source[]> {
  const env = process.env
  const sources: Source[] = []
  if (env.OPENCODE_CONFIG) sources.push(...(await fileSource("explicit", env.OPENCODE_CONFIG)))
  const projectAllowed = !isTruthy(env.OPENCODE_DISABLE_PROJECT_CONFIG)
  const parents = upwards(places.directory, places.worktree)
  if (projectAllowed)
    for (const directory of parents.toReversed())
      for (const name of ["opencode.json", "opencode.jsonc"])
        sources.push(...(await fileSource("project", join(directory, name))))
  for (const { layer, directory } of await configDirectories(places, projectAllowed ? parents : [])) {
    if (directory.endsWith(".opencode") || directory === env.OPENCODE_CONFIG_DIR)
      for (const name of ["opencode.json", "opencode.jsonc"])
        sources.push(...(await fileSource(layer, join(directory, name))))
    sources.push(...(await agentSources(layer, directory, true)))
  }
  const content = env.OPENCODE_CONFIG_CONTENT
  if (content)
    sources.push({ layer: "content", file: null, directory: places.directory, text: content, form: "config" })
  for (const name of ["opencode.json", "opencode.jsonc"])
    sources.push(...(await fileSource("managed", join("/etc/opencode", name))))
  const permission = env.OPENCODE_PERMISSION
  if (permission)
    sources.push({ layer: "content", file: null, directory: places.directory, text: permission, form: "permission" })
  return sources
}

/**
 * What the host has loaded and will not read again before a restart. The global files are read once per process,
 * as the host reads them; the other layers once per instance.
 */
export interface Loaded {
  readonly globals: readonly Source[]
  readonly higher: readonly Source[]
}

const globalsAtStart = new Map<string, Promise<Source[]>>()

export async function loadedAtStart(places: Places): Promise<Loaded> {
  const globals = globalsAtStart.get(places.configDirectory) ?? globalSources(places.configDirectory)
  globalsAtStart.set(places.configDirectory, globals)
  return { globals: await globals, higher: await higherSources(places) }
}

/** Every directory that configuration, agents and skills are read from. */
export async function configDirectories(places: Places, parents: readonly string[]) {
  const found: { layer: "global" | "project" | "explicit"; directory: string }[] = [
    { layer: "global", directory: places.configDirectory },
    ...parents.map((parent) => ({ layer: "project" as const, directory: join(parent, ".opencode") })),
    { layer: "explicit", directory: join(places.home, ".opencode") },
  ]
  const named = process.env.OPENCODE_CONFIG_DIR
  if (named) found.push({ layer: "explicit", directory: named })
  const seen = new Set<string>()
  const existing: typeof found = []
  for (const place of found) {
    if (seen.has(place.directory)) continue
    seen.add(place.directory)
    if (place.directory === named || (await isDirectory(place.directory))) existing.push(place)
  }
  return existing
}

export const isTruthy = (value: string | undefined): boolean => value?.toLowerCase() === "true" || value === "1"
