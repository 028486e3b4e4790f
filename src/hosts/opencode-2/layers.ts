import { homedir } from "node:os"
import { isAbsolute, join, resolve } from "node:path"
import { defaultConfigDirectory, upwards } from "../../files/locations.ts"
import { agentSources, configSources, fileSource, type Source, together } from "../sources.ts"

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
    ...parents.flatMap((parent) => [
      configSources("project", join(parent, ".opencode"), GLOBAL_NAMES),
      agentSources("project", join(parent, ".opencode"), false),
    ]),
    content ? [{ layer: "content", file: null, directory, text: content, form: "config" }] : [],
    configSources("managed", "/etc/opencode", GLOBAL_NAMES),
  ])
}

/** All layers, low to high, for a host that works in this directory. */
export function allSources(directory: string): Promise<Source[]> {
  const configDirectory = globalDirectory(process.env.HOME || homedir())
  return together([globalSources(configDirectory), higherSources(configDirectory, directory)])
}
