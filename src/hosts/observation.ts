import { basename, join } from "node:path"
import type { HostAgent, HostSkill, Observation, Texts } from "../actions/ports.ts"
import type { ConfigText } from "../core/config-text.ts"
import type { LayerDocument } from "../core/document.ts"
import type { Model } from "../core/predict.ts"
import { configTextOf, documentOf, type Source } from "./sources.ts"

/**
 * Joins what the host says with the layers on disk. The layers above the global files are parsed once; a plan then
 * asks again and again what the host would load with other global files.
 */
export function observation(given: {
  readonly agents: readonly HostAgent[]
  readonly skills: readonly HostSkill[]
  readonly configDirectory: string
  readonly globalNames: readonly string[]
  readonly globals: readonly Source[]
  readonly higher: readonly Source[]
  readonly model: (layers: readonly LayerDocument[]) => Model
  readonly loaded: Model | null
}): Observation {
  const byName = new Map(given.globals.map((source) => [basename(source.file ?? ""), source]))
  const higher = given.higher.map(documentOf)
  const layers = (texts: Texts) => [
    ...given.globalNames.flatMap((name) => {
      const source = withText(byName.get(name), texts.get(name), given.configDirectory, name)
      return source ? [documentOf(source)] : []
    }),
    ...higher,
  ]
  const globals = new Map<string, ConfigText | null>(
    given.globalNames.map((name) => {
      const source = byName.get(name)
      return [name, source ? configTextOf(source) : null]
    }),
  )
  const next = (texts: Texts) => given.model(layers(texts))
  return {
    agents: given.agents,
    skills: given.skills,
    globals,
    layers,
    loaded: given.loaded ?? next(new Map()),
    next,
  }
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
