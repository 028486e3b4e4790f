import type { Node } from "jsonc-parser"
import { type ConfigText, member, properties } from "./config-text.ts"
import {
  assignMaps,
  type Locate,
  type PermissionMap,
  type Place,
  type Read,
  readPermissionMap,
  readTools,
  type SectionProblem,
} from "./dialect/permission-map.ts"
import { readPermissionsArray } from "./dialect/permissions-array.ts"
import type { Layer, LocatedRule } from "./rule.ts"

/** The permission sections of one config or of one agent in it, as written. Nothing else of a config is ever kept. */
export interface Sections {
  readonly permission: PermissionMap | null
  readonly tools: PermissionMap | null
  readonly permissions: readonly LocatedRule[] | null
}

export interface AgentSections extends Sections {
  readonly name: string
  /** `agent` and its alias `mode` are OpenCode 1 keys, `agents` is the OpenCode 2 key. */
  readonly key: "agent" | "mode" | "agents"
  readonly disabled: boolean
  /** Comes from the frontmatter of a Markdown file. */
  readonly markdown: boolean
  readonly keys: ReadonlySet<string>
}

/** One layer of the configuration, reduced to what it says about permissions. */
export interface LayerDocument extends Sections {
  readonly layer: Layer
  readonly file: string | null
  /** Names of the top-level keys: the form of a document depends on them. */
  readonly keys: ReadonlySet<string>
  readonly agents: readonly AgentSections[]
  readonly problems: readonly SectionProblem[]
}

/** Reads the permission sections of a parsed config; an unparsable one has none. */
export function readDocument(text: ConfigText, layer: Layer, file: string | null): LayerDocument {
  const problems: SectionProblem[] = []
  const place = (node: Node, agent?: string): Place => ({
    origin: { layer, file, ...text.position(node.offset), ...(agent !== undefined && { agent }) },
    ...(text.isReplaced(node) && { secret: true }),
  })
  const sections = readSections(text.tree, (node) => place(node), problems)
  const agents = (["agent", "mode", "agents"] as const).flatMap((key) =>
    properties(member(text.tree, key)).map(({ key: name, value }) =>
      readAgent(value, key, name, (node) => place(node, name), problems),
    ),
  )
  const keys = new Set(properties(text.tree).map((property) => property.key))
  return { layer, file, keys, ...sections, agents, problems }
}

/** One agent's section, from a config or from the frontmatter of its Markdown file. */
export function readAgent(
  node: Node,
  key: AgentSections["key"],
  name: string,
  locate: Locate,
  problems: SectionProblem[],
  markdown = false,
): AgentSections {
  const keys = new Set(properties(node).map((property) => property.key))
  const disabled = ["disable", "disabled"].some((word) => member(node, word)?.value === true)
  return { name, key, disabled, markdown, keys, ...readSections(node, locate, problems) }
}

function readSections(node: Node | undefined, locate: Locate, problems: SectionProblem[]): Sections {
  const section = <T>(key: string, read: (value: Node, at: typeof locate) => Read<T>): T | null => {
    const value = member(node, key)
    if (!value) return null
    const result = read(value, locate)
    problems.push(...result.problems)
    return result.value
  }
  return {
    permission: section("permission", readPermissionMap),
    tools: section("tools", readTools),
    permissions: section("permissions", readPermissionsArray),
  }
}

/** An agent's own map on OpenCode 1: its `permission` assigned over its `tools` (read in the code of 1.18.34). */
export const ownMap = (sections: Sections): PermissionMap =>
  assignMaps(sections.tools ?? new Map(), sections.permission ?? new Map())
