import { homedir } from "node:os"
import { isAbsolute, join, resolve } from "node:path"
import { defaultConfigDirectory, upwards } from "../../files/locations.ts"
import {
  agentSources,
  configSources,
  fileSource,
  isDirectory,
  type Source,
  type Sources,
  together,
} from "../sources.ts"

/** The global files, in load order; `config.json` is not read by this host. */
export const GLOBAL_NAMES = ["opencode.json", "opencode.jsonc"] as const

/**
 * `$OPENCODE_CONFIG_DIR` replaces the global directory: empty is unset, a relative one counts from the server's
 * working directory, `~` is not expanded (measured on a live V2 build, July 2026).
 */
export function globalDirectory(home: string): string {
  const named = process.env.OPENCODE_CONFIG_DIR
  if (named) return isAbsolute(named) ? named : resolve(named)
  return defaultConfigDirectory(process.env, home)
}

export const globalSources = (configDirectory: string): Promise<Source[]> =>
  configSources("global", configDirectory, GLOBAL_NAMES)

/**
 * Every layer above the global files, low to high (order measured on a live V2 build, July 2026): Markdown agents of
 * the global directory; `$OPENCODE_CONFIG`; project files from the outermost parent down, past a git root; each
 * `.opencode` directory with its agents; `$OPENCODE_CONFIG_CONTENT`; managed files.
 */
export function higherSources(configDirectory: string, directory: string): Promise<Source[]> {
  const env = process.env
  const parents = upwards(directory, "/").toReversed()
  const content = env.OPENCODE_CONFIG_CONTENT
  return together([
    agentSources("global", configDirectory, false),
    env.OPENCODE_CONFIG ? fileSource("explicit", env.OPENCODE_CONFIG) : [],
    ...parents.map((parent) => configSources("project", parent, GLOBAL_NAMES)),
    ...parents.map((parent) => directorySources(join(parent, ".opencode"))),
    content ? [{ layer: "content", file: null, directory, text: content, form: "config" }] : [],
    configSources("managed", "/etc/opencode", GLOBAL_NAMES),
  ])
}

const directorySources = async (directory: string): Promise<Source[]> =>
  (await isDirectory(directory))
    ? together([configSources("project", directory, GLOBAL_NAMES), agentSources("project", directory, false)])
    : []

/** All layers as they stand on disk, for a host that works in this directory. */
export async function readSources(directory: string): Promise<Sources> {
  const configDirectory = globalDirectory(process.env.HOME || homedir())
  const [globals, higher] = await Promise.all([
    globalSources(configDirectory),
    higherSources(configDirectory, directory),
  ])
  return { globals, higher }
}
