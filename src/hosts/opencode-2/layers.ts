import { homedir } from "node:os"
import { isAbsolute, join, resolve } from "node:path"
import { defaultConfigDirectory, upwards } from "../../files/locations.ts"
import { agentSources, fileSource, type Source } from "../sources.ts"

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

export const globalSources = async (configDirectory: string): Promise<Source[]> =>
  (await Promise.all(GLOBAL_NAMES.map((name) => fileSource("global", join(configDirectory, name))))).flat()

/**
 * Every layer above the global files, low to high (order measured on a live V2 build, July 2026): Markdown agents of
 * the global directory; `$OPENCODE_CONFIG`; project files from the outermost parent down, past a git root; each
 * `.opencode` directory with its agents; `$OPENCODE_CONFIG_CONTENT`; managed files.
 */
export async function higherSources(configDirectory: string, directory: string): Promise<Source[]> {
  const env = process.env
  const parents = upwards(directory, "/").toReversed()
  const sources = await agentSources("global", configDirectory, false)
  if (env.OPENCODE_CONFIG) sources.push(...(await fileSource("explicit", env.OPENCODE_CONFIG)))
  for (const parent of parents)
    for (const name of GLOBAL_NAMES) sources.push(...(await fileSource("project", join(parent, name))))
  for (const parent of parents) {
    for (const name of GLOBAL_NAMES) sources.push(...(await fileSource("project", join(parent, ".opencode", name))))
    sources.push(...(await agentSources("project", join(parent, ".opencode"), false)))
  }
  const content = env.OPENCODE_CONFIG_CONTENT
  if (content) sources.push({ layer: "content", file: null, directory, text: content, form: "config" })
  for (const name of GLOBAL_NAMES) sources.push(...(await fileSource("managed", join("/etc/opencode", name))))
  return sources
}

/** All layers, low to high, for a host that works in this directory. */
export async function allSources(directory: string): Promise<Source[]> {
  const configDirectory = globalDirectory(process.env.HOME || homedir())
  return [...(await globalSources(configDirectory)), ...(await higherSources(configDirectory, directory))]
}
