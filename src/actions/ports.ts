import type { ConfigText } from "../core/config-text.ts"
import type { LayerDocument } from "../core/document.ts"
import type { Model } from "../core/predict.ts"
import type { Effect, Generation, Rule } from "../core/rule.ts"
import type { Judge, SkillRoot } from "../files/skill-search.ts"
import type { ReachReason } from "../tool/vocabulary.ts"

/** An agent as the running host has it. `rules` is its merged ruleset, in order. */
export interface HostAgent {
  readonly id: string
  readonly mode: string
  readonly hidden: boolean
  /** Comes with the host, so that the host's own share of its rules may hold more than the default. */
  readonly native: boolean
  readonly rules: readonly Rule[]
}

/** A skill as the running host has registered it. */
export interface HostSkill {
  /** What the host's rules match: OpenCode 2 the registry id, OpenCode 1 the registry name. */
  readonly id: string | null
  readonly name: string | null
  readonly idFrom: "registry" | "path" | "name"
  /** Null for what comes with the host. */
  readonly path: string | null
  readonly location: string | null
  readonly description: string | null
  readonly autoinvoke: boolean | null
  /** What a prompt pays for it where the host lists it, estimated. */
  readonly tokens: number
}

/** Text by file name, for the global files that a plan would change; null for a file that is not there. */
export type Texts = ReadonlyMap<string, string | null>

/** What the running host says, and the configuration as it stands on disk, at one moment. */
export interface Observation {
  readonly agents: readonly HostAgent[]
  readonly skills: readonly HostSkill[]
  /** The global files by name, in load order; null where there is none. */
  readonly globals: ReadonlyMap<string, ConfigText | null>
  /** A global file's text as the host would read it. */
  read(name: string, text: string): ConfigText
  /**
   * An agent's rules for one action, as they would be without the project's layers: a cloned repository must not widen
   * what its user allows.
   */
  withoutProject(agent: HostAgent, action: string): readonly Rule[]
  /** All layers with these texts in place of the global files' own. */
  layers(texts: Texts): readonly LayerDocument[]
  /** The way to read the layers that explains the running host, first; others that explain it just as well behind it. */
  readonly models: readonly HostModel[]
  /** The first of them. */
  readonly model: HostModel
  /** OpenCode 1's oldest global file, `config.json`, lies in the directory. */
  readonly configJson: boolean
}

export interface HostModel {
  /** What the running host has loaded. */
  readonly loaded: Model
  /** What it would load with these texts. */
  next(texts: Texts): Model
}

export interface Caller {
  readonly agent: string | null
  readonly session: string | null
  readonly signal?: AbortSignal
}

export interface PluginOptions {
  readonly dialect: "auto" | "permission" | "permissions"
  /** `operator`: the tool only rehearses, a person writes. */
  readonly writes: "agent" | "operator"
  /** Patterns over ids whose rules the tool does not touch. */
  readonly protect: readonly string[]
}

/** What a user said when asked. */
export type Reply = "allowed" | "rejected" | "unanswered"
/** What a user's own mention of a skill does, whatever the model may; null where no one has measured it. */
export interface UserReach {
  readonly mention: boolean | null
  readonly reasons: readonly ReachReason[]
}

/** One host, as one call of the tool sees it. */
export interface Host {
  readonly generation: Generation
  readonly version: string | null
  readonly caller: Caller
  readonly options: PluginOptions
  /** The directory that the host works in. */
  readonly directory: string
  /** The repository root above it; `/` for none. */
  readonly worktree: string
  readonly home: string
  /** Where the host keeps what it downloads. */
  readonly cacheDirectory: string
  readonly configDirectory: string
  /** Other directories that the host reads configuration from. */
  readonly configDirectories: readonly string[]
  readonly stateDirectory: string
  /** Names of the global files, in load order. */
  readonly globalNames: readonly string[]
  /** The names that a new rule prefers, best first. */
  readonly preferredNames: readonly string[]
  /** Whether the host reads an edit by itself; if not, it takes effect after a restart. */
  readonly reloads: boolean
  /** Reads registry, agents and layers. Throws `HostUnavailable` when the host answers neither. */
  observe(): Promise<Observation>
  /** Asks the user for these resources of the tool's own action; absent where the host cannot ask for a plugin. */
  ask?(resources: readonly string[]): Promise<Reply>
  /** The agents alone, as the host has them this moment; empty when it does not answer. */
  agents(): Promise<readonly HostAgent[]>
  userReach(skill: HostSkill, effect: Effect): Promise<UserReach>
  /** The directories that hold skills, low to high where their order counts; only those that are there. */
  skillRoots(): Promise<readonly SkillRoot[]>
  readonly judgeSkill: Judge
  /** Whether the roots' order says which of two files of one id is registered. */
  readonly winnerIsFixed: boolean
}

/** Neither the registry nor the agents can be read. */
export class HostUnavailable extends Error {
  readonly part: "skills" | "agents" | "both"
  constructor(part: "skills" | "agents" | "both") {
    super(`the host does not answer for ${part}`)
    this.part = part
  }
}
