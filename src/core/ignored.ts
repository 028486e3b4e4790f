import { mapRules, mergeMaps, type PermissionMap } from "./dialect/permission-map.ts"
import { type LayerDocument, ownMap, type Sections } from "./document.ts"
import { foreignAgentKey, isLost, openCode1Key } from "./host-keys.ts"
import type { LocatedRule, Origin } from "./rule.ts"

/** Rules that are written in a layer and count for nothing, and what makes the host pass over them. */
export interface Ignored {
  readonly rules: readonly LocatedRule[]
  /** Null: they are ignored for every agent. */
  readonly agent: string | null
  readonly because:
    | { readonly kind: "array_in_markdown" }
    | { readonly kind: "key_in_markdown"; readonly key: string }
    | { readonly kind: "key_in_document"; readonly key: string }
    | { readonly kind: "malformed" }
    | { readonly kind: "replaced"; readonly by: Origin }
}

/**
 * OpenCode 1 passes over `permissions` in a Markdown agent without a word; anywhere else it does not start. And its
 * merge of the layers leaves one value of each key, and of a string and an object one.
 */
export function ignoredByOpenCode1(layers: readonly LayerDocument[]): Ignored[] {
  const agents = layers.flatMap((layer) => layer.agents)
  const arrays = agents.filter(({ markdown, permissions }) => markdown && permissions !== null)
  const names = [...new Set(agents.map(({ name }) => name))]
  const mapsOf = (name: string) =>
    (["agent", "mode"] as const).flatMap((key) =>
      agents.filter((agent) => agent.name === name && agent.key === key).map(ownMap),
    )
  const top = (["tools", "permission"] as const).flatMap((key) => layers.flatMap((layer) => layer[key] ?? []))
  return [
    ...arrays.map(({ name, permissions }) => ({
      rules: permissions ?? [],
      agent: name,
      because: { kind: "array_in_markdown" as const },
    })),
    ...replacedIn(top, null),
    ...names.flatMap((name) => replacedIn(mapsOf(name), name)),
  ]
}

/** The rules of the lower maps that a higher one takes the place of. */
function replacedIn(maps: readonly PermissionMap[], agent: string | null): Ignored[] {
  const found: Ignored[] = []
  let merged: PermissionMap = new Map()
  for (const map of maps) {
    const kept = mergeMaps(merged, map)
    const remains = new Set(allRules(kept).map(({ origin }) => origin))
    for (const rule of allRules(merged)) {
      if (remains.has(rule.origin)) continue
      const higher = allRules(map).filter(({ action }) => action === rule.action)
      const by = higher.find(({ resource }) => resource === rule.resource) ?? higher[0]
      if (by) found.push({ rules: [rule], agent, because: { kind: "replaced", by: by.origin } })
    }
    merged = kept
  }
  return found
}

const allRules = (map: PermissionMap): LocatedRule[] => mapRules(map, (pattern) => pattern)

/** OpenCode 2 loses arrays beside keys of OpenCode 1: in a Markdown agent, and on the betas in a whole document. */
export function ignoredByOpenCode2(layers: readonly LayerDocument[], byDocument: boolean): Ignored[] {
  return layers.flatMap((document): Ignored[] => {
    const found = document.agents.flatMap((agent): Ignored[] => {
      const key = agent.markdown && agent.permissions ? foreignAgentKey(agent) : undefined
      const because = { kind: "key_in_markdown", key: key ?? "" } as const
      return key === undefined ? [] : [{ rules: agent.permissions ?? [], agent: agent.name, because }]
    })
    if (!byDocument) return found
    if (isLost(document)) return [...found, ...wholeOf(document, { kind: "malformed" }, everyRule)]
    const key = openCode1Key(document.keys)
    if (key === undefined) return found
    return [...found, ...wholeOf(document, { kind: "key_in_document", key }, ({ permissions }) => permissions ?? [])]
  })
}

function wholeOf(
  document: LayerDocument,
  because: Ignored["because"],
  rulesOf: (sections: Sections) => readonly LocatedRule[],
): Ignored[] {
  const agents = document.agents.map((agent) => ({ rules: rulesOf(agent), agent: agent.name, because }))
  return [{ rules: rulesOf(document), agent: null, because }, ...agents]
}

/** All that the sections of a document or of an agent say, whatever a host makes of it. */
export const everyRule = ({ tools, permission, permissions }: Sections): LocatedRule[] => [
  ...[tools, permission].flatMap((map) => allRules(map ?? new Map())),
  ...(permissions ?? []),
]
