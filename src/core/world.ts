import type { ConfigText, Position } from "./config-text.ts"
import type { Dialect } from "./dialect/section.ts"
import type { Effect, Generation, LocatedRule } from "./rule.ts"
import type { SidecarRecord } from "./sidecar.ts"

/** One of the user's global config files, in the host's load order. `text` is null when it does not exist. */
export interface GlobalFile {
  readonly name: string
  readonly path: string
  readonly text: ConfigText | null
  /** Where a section is not what this host accepts; it would not start. */
  readonly fault: (Position & { readonly reason: string }) | null
}

export interface PlannedAgent {
  readonly id: string
  readonly hidden: boolean
  /** The host's own share of the rules denies the skill: no rule of the user is an obstacle here. */
  readonly deniedByHost: boolean
}

/** All that a plan depends on. `rulesets` answers for every agent; null where the model cannot reproduce the host. */
export interface World {
  readonly generation: Generation
  readonly agents: readonly PlannedAgent[]
  readonly caller: string
  /** Registered ids, the targets' included. */
  readonly skills: readonly string[]
  readonly files: readonly GlobalFile[]
  readonly records: readonly SidecarRecord[]
  /** A global file's text as the host would read it. */
  read(file: GlobalFile, text: string): ConfigText
  /** The forms in which a new rule may be written into a file, best first. */
  dialectsFor(file: GlobalFile): readonly Dialect[]
  /** Files in the order in which a new rule prefers them. */
  preference(files: readonly GlobalFile[]): readonly GlobalFile[]
  /**
   * Each agent's rules after the next load, with these texts in place of the files' own; once for each way to read
   * the files that explains the host. An edit has to come out right under all of them.
   */
  rulesets(texts: ReadonlyMap<string, string | null>): readonly ReadonlyMap<string, readonly LocatedRule[] | null>[]
}

export interface Wish {
  /** What the rule names: one exact id, or a pattern. */
  readonly id: string
  /** `allow` is enable; `deny` and `ask` are disable. */
  readonly effect: Effect
  /** For a pattern: the registered ids that it is meant to cover. */
  readonly covers?: readonly string[]
}

export const idsOf = (wish: Wish): readonly string[] => wish.covers ?? [wish.id]

/** The world once these texts and records have taken the place of its own. */
export function worldWith(
  world: World,
  texts: ReadonlyMap<string, string | null>,
  records: readonly SidecarRecord[],
): World {
  const files = world.files.map((file) => {
    const text = texts.get(file.name)
    return text === undefined ? file : { ...file, text: text === null ? null : world.read(file, text) }
  })
  return { ...world, files, records, rulesets: (later) => world.rulesets(new Map([...texts, ...later])) }
}
