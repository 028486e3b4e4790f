import { type ConfigText, readConfigText } from "../../src/core/config-text.ts"
import type { Dialect } from "../../src/core/dialect/section.ts"
import { readDocument } from "../../src/core/document.ts"
import { type PlanResult, planChange } from "../../src/core/plan.ts"
import { modelOpenCode1, modelOpenCode2, type Reading } from "../../src/core/predict.ts"
import type { Substitute } from "../../src/core/references.ts"
import type { Effect, Generation, Layer, LocatedRule } from "../../src/core/rule.ts"
import type { SidecarRecord } from "../../src/core/sidecar.ts"
import type { GlobalFile, World } from "../../src/core/world.ts"
import { type NaiveRule, naiveConfig, naiveEffect, naiveTail1, naiveTail2 } from "./reference.ts"

/** A small world as texts: what a user has on disk, and what the host calls its own. */
export interface Setup {
  readonly generation: Generation
  /** Global files by name, low to high; null for one that does not exist. */
  readonly files: Readonly<Record<string, string | null>>
  /** A project's config, above the global files. */
  readonly project?: string
  readonly skills?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly reading?: Reading
  readonly dialect?: Dialect
  readonly caller?: string
  /** Agents that the model cannot reproduce. */
  readonly unpredicted?: readonly string[]
  readonly records?: readonly SidecarRecord[]
  /** What keeps the host from starting on a file, by name. */
  readonly faults?: Readonly<Record<string, NonNullable<GlobalFile["fault"]>>>
}

export interface TestAgent {
  readonly id: string
  readonly hidden: boolean
  readonly deniedByHost: boolean
  readonly base: readonly NaiveRule[]
}

const ALLOW: NaiveRule = ["*", "*", "allow"]
const DENY: NaiveRule = ["*", "*", "deny"]

/** Measured on both hosts: what each of these agents has before any config speaks. */
export const AGENTS: readonly TestAgent[] = [
  { id: "build", hidden: false, deniedByHost: false, base: [ALLOW] },
  { id: "plan", hidden: false, deniedByHost: false, base: [ALLOW] },
  { id: "explore", hidden: false, deniedByHost: true, base: [ALLOW, DENY] },
  { id: "title", hidden: true, deniedByHost: true, base: [ALLOW, DENY] },
]

export const SKILLS = ["pdf", "docs", "a", "b", "7", "12"] as const
/** An id of which nobody has heard. */
export const UNKNOWN = "zz-not-installed"
const HOME = "/home/u"
const DIRECTORY = "/home/u/.config/opencode"

const located = ([action, resource, effect]: NaiveRule): LocatedRule => ({
  action,
  resource,
  effect,
  origin: { layer: "host-default", file: null, line: null, column: null },
})

const OPENCODE_1_ONLY = ["provider", "plugin", "mode", "agent", "permission", "tools", "server"]

function dialectOf(setup: Setup, text: string | null): Dialect {
  if (setup.generation === "opencode-1") return "permission"
  if (setup.dialect) return setup.dialect
  const config = naiveConfig(text ?? "")
  if ("permissions" in config) return "permissions"
  return OPENCODE_1_ONLY.some((key) => key in config) ? "permission" : "permissions"
}

function hasSkillSection(text: string | null): boolean {
  const { permission, permissions } = naiveConfig(text ?? "") as { permission?: object; permissions?: unknown }
  if (typeof permission === "object" && permission !== null && "skill" in permission) return true
  return Array.isArray(permissions) && permissions.some((rule) => rule?.action === "skill")
}

/** A file with a skill section, the last loaded first; then those that exist; then a new `opencode.jsonc`. */
function preferred(files: readonly GlobalFile[]): readonly GlobalFile[] {
  const order = ["opencode.jsonc", "opencode.json", "config.json"]
  const byName = order.flatMap((name) => files.filter((file) => file.name === name))
  return [
    ...new Set([
      ...files.filter((file) => hasSkillSection(file.text?.raw ?? null)).toReversed(),
      ...byName.filter((file) => file.text !== null),
      ...byName.filter((file) => file.name === "opencode.jsonc"),
    ]),
  ]
}

export function worldOf(setup: Setup): World {
  const substitute: Substitute = (kind, name) => (kind === "env" ? setup.env?.[name] : undefined)
  const read = (text: string): ConfigText => readConfigText(text, substitute)
  const layersWith = (texts: ReadonlyMap<string, string | null>) => {
    const all: [Layer, string, string | null][] = [
      ...Object.entries(setup.files).map(([name, text]): [Layer, string, string | null] => {
        const other = texts.get(name)
        return ["global", `${DIRECTORY}/${name}`, other === undefined ? text : other]
      }),
      ["project", "/project/opencode.json", setup.project ?? null],
    ]
    return all.flatMap(([layer, file, text]) => (text === null ? [] : [readDocument(read(text), layer, file)]))
  }
  const model = (texts: ReadonlyMap<string, string | null>) =>
    setup.generation === "opencode-1"
      ? modelOpenCode1(layersWith(texts), HOME)
      : modelOpenCode2(layersWith(texts), setup.reading ?? "by-section")
  return {
    generation: setup.generation,
    agents: AGENTS.map(({ id, hidden, deniedByHost }) => ({ id, hidden, deniedByHost })),
    caller: setup.caller ?? "build",
    skills: setup.skills ?? SKILLS,
    files: Object.entries(setup.files).map(([name, text]) => ({
      name,
      path: `${DIRECTORY}/${name}`,
      text: text === null ? null : read(text),
      fault: setup.faults?.[name] ?? null,
    })),
    records: setup.records ?? [],
    read: (_, text) => read(text),
    dialectsFor: (file) => [dialectOf(setup, file.text?.raw ?? null)],
    preference: preferred,
    rulesets: (texts) => {
      const { tail } = model(texts)
      return [
        new Map(
          AGENTS.map(({ id, base }) => [
            id,
            setup.unpredicted?.includes(id) ? null : [...base.map(located), ...tail(id)],
          ]),
        ),
      ]
    },
  }
}

/** The next world after a change: its texts on disk, its records in the sidecar. Unchanged where nothing was planned. */
export function applied(setup: Setup, result: PlanResult, id: string): Setup {
  if (result.kind !== "change") return setup
  const files: Record<string, string | null> = { ...setup.files }
  for (const { file, before, after } of result.plan.changes) {
    if (before !== files[file.name]) throw new Error(`planned on another text of ${file.name}`)
    files[file.name] = after
  }
  const others = (setup.records ?? []).filter((record) => record.id !== id || record.generation !== setup.generation)
  return { ...setup, files, records: [...others, ...result.plan.records] }
}

export const plan = (setup: Setup, id: string, effect: Effect): PlanResult => planChange(worldOf(setup), { id, effect })

/** Plans and applies in one go. */
export function act(setup: Setup, id: string, effect: Effect): { result: PlanResult; next: Setup } {
  const result = plan(setup, id, effect)
  return { result, next: applied(setup, result, id) }
}

/** What each agent may do with a skill, worked out by the naive reference from the texts alone. */
export function effectsOf(setup: Setup, id: string): Record<string, Effect> {
  const texts = [...Object.values(setup.files), setup.project ?? null].filter((text) => text !== null)
  const configs = texts.map((text) =>
    naiveConfig(text.replace(/\{env:([^}]+)\}/g, (_, name: string) => setup.env?.[name] ?? "")),
  )
  const tail = setup.generation === "opencode-1" ? naiveTail1 : naiveTail2
  return Object.fromEntries(
    AGENTS.map((agent) => [agent.id, naiveEffect([...agent.base, ...tail(configs, agent.id)], id)]),
  )
}
