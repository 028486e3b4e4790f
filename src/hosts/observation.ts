import { basename, join } from "node:path"
import type { HostAgent, HostModel, HostSkill, Observation, Texts } from "../actions/ports.ts"
import type { ConfigText } from "../core/config-text.ts"
import type { LayerDocument } from "../core/document.ts"
import { speaksOf } from "../core/evaluate.ts"
import { endsWith, isCatchAll, type Model } from "../core/predict.ts"
import { sameItems } from "../core/remembered.ts"
import type { Rule } from "../core/rule.ts"
import { configDocument, configTextOf, documentsOf, textIn } from "./documents.ts"
import type { Source } from "./sources.ts"

type MakeModel = (layers: readonly LayerDocument[], action?: string) => Model

/** The layers on disk at one moment: those above the global files are parsed once, however many edits are tried. */
export interface Layers {
  readonly globals: ReadonlyMap<string, ConfigText | null>
  read(name: string, text: string): ConfigText
  /** All layers, low to high, with these texts in place of the global files' own. */
  documents(texts: Texts): readonly LayerDocument[]
}

export async function layersOf(
  directory: string,
  names: readonly string[],
  globals: readonly Source[],
  higher: readonly Source[],
): Promise<Layers> {
  const byName = new Map(globals.map((source) => [basename(source.file ?? ""), source]))
  const above = await documentsOf(higher)
  const documents = (texts: Texts) => [
    ...names.flatMap((name) => {
      const source = withText(byName.get(name), texts.get(name), directory, name)
      return source ? [configDocument(source)] : []
    }),
    ...above,
  ]
  const texts = names.map((name) => {
    const source = byName.get(name)
    return [name, source ? configTextOf(source) : null] as const
  })
  return { globals: new Map(texts), read: (_, text) => textIn(directory, text), documents }
}

/** Joins what the host says with the layers, read in one way or more. `loaded` null: the host has loaded them as they are. */
export function observation(given: {
  readonly agents: readonly HostAgent[]
  readonly skills: readonly HostSkill[]
  readonly configJson: boolean
  readonly layers: Layers
  readonly models: readonly [MakeModel, ...MakeModel[]]
  readonly loaded: readonly LayerDocument[] | null
}): Observation {
  const { layers } = given
  const loaded = given.loaded ?? layers.documents(new Map())
  const hostModel = (make: MakeModel): HostModel => {
    const now = make(loaded)
    return {
      loaded: now,
      next: (texts) => {
        const documents = layers.documents(texts)
        return sameItems(documents, loaded) ? now : make(documents)
      },
    }
  }
  const [first, ...others] = given.models
  const model = hostModel(first)
  const users = loaded.filter((document) => document.layer !== "project")
  return {
    read: layers.read,
    withoutProject: (agent, action) => [
      ...hostsOwn(agent.rules, first(loaded, action).tail(agent.id), action),
      ...first(users, action).tail(agent.id),
    ],
    agents: given.agents,
    skills: given.skills,
    globals: layers.globals,
    configJson: given.configJson,
    layers: layers.documents,
    model,
    models: [model, ...others.map(hostModel)],
  }
}

/** What stands before the configuration's share; where that cannot be told, the rules for everything at the start. */
function hostsOwn(rules: readonly Rule[], tail: readonly Rule[], action: string): readonly Rule[] {
  const real = rules.filter((rule) => speaksOf(rule, action))
  if (endsWith(real, tail)) return real.slice(0, real.length - tail.length)
  const end = rules.findIndex((rule) => !isCatchAll(rule))
  return end < 0 ? rules : rules.slice(0, end)
}

function withText(
  source: Source | undefined,
  text: string | null | undefined,
  directory: string,
  name: string,
): Source | null {
  if (text === undefined) return source ?? null
  if (text === null) return null
  return { layer: "global", file: join(directory, name), directory, text, form: "config" }
}
