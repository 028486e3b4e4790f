import { mapRules } from "./dialect/permission-map.ts"
import type { LayerDocument, Sections } from "./document.ts"
import { foreignAgentKey, openCode1Key } from "./host-keys.ts"
import type { LocatedRule } from "./rule.ts"

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
}

/** OpenCode 1 passes over `permissions` in a Markdown agent without a word; anywhere else it does not start. */
export const ignoredByOpenCode1 = (layers: readonly LayerDocument[]): Ignored[] =>
  layers.flatMap(({ agents }) =>
    agents
      .filter(({ markdown, permissions }) => markdown && permissions !== null)
      .map(({ name, permissions }) => ({
        rules: permissions ?? [],
        agent: name,
        because: { kind: "array_in_markdown" as const },
      })),
  )

/** OpenCode 2 loses arrays beside keys of OpenCode 1: in a Markdown agent, and on the betas in a whole document. */
export function ignoredByOpenCode2(layers: readonly LayerDocument[], byDocument: boolean): Ignored[] {
  return layers.flatMap((document): Ignored[] => {
    const found = document.agents.flatMap((agent): Ignored[] => {
      const key = agent.markdown && agent.permissions ? foreignAgentKey(agent) : undefined
      const because = { kind: "key_in_markdown", key: key ?? "" } as const
      return key === undefined ? [] : [{ rules: agent.permissions ?? [], agent: agent.name, because }]
    })
    if (!byDocument) return found
    if (document.problems.length > 0) return [...found, ...wholeOf(document, { kind: "malformed" }, everyRule)]
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
  ...[tools, permission].flatMap((map) => mapRules(map ?? new Map(), (pattern) => pattern)),
  ...(permissions ?? []),
]
