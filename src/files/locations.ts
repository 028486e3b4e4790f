import { dirname, join, parse, resolve } from "node:path"

type Env = Readonly<Record<string, string | undefined>>

export const SIDECAR_NAME = "skill_management.state.json"

/** `$XDG_STATE_HOME/opencode/skill_management`: journal, backups and locks, private to the user. */
export const stateDirectory = (env: Env, home: string): string =>
  join(env.XDG_STATE_HOME || join(home, ".local", "state"), "opencode", "skill_management")

/** `$XDG_CONFIG_HOME/opencode`, else `~/.config/opencode`, on every system: both hosts do so. */
export const defaultConfigDirectory = (env: Env, home: string): string =>
  join(env.XDG_CONFIG_HOME || join(home, ".config"), "opencode")

export const cacheDirectory = (env: Env, home: string): string =>
  join(env.XDG_CACHE_HOME || join(home, ".cache"), "opencode")

/** A directory and its parents up to `stop`, nearest first; up to the root where `stop` is no parent. */
export function upwards(start: string, stop: string): string[] {
  const found: string[] = []
  for (let at = resolve(start); ; at = dirname(at)) {
    found.push(at)
    if (at === resolve(stop) || at === parse(at).root) return found
  }
}
