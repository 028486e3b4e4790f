import type { Node } from "jsonc-parser"
import { type ConfigText, distinctProperties, member, properties } from "./config-text.ts"
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
  /** Those of them that hold something that is not what a host accepts there. */
  readonly malformed: readonly SectionKey[]
}

export type SectionKey = "permission" | "tools" | "permissions"

export interface AgentSections extends Sections {
  readonly name: string
  /** `agent` and its alias `mode` are OpenCode 1 keys, `agents` is the OpenCode 2 key. */
  readonly key: "agent" | "mode" | "agents"
  /** The words for it that are true: `disable` is OpenCode 1's, `disabled` is OpenCode 2's. */
  readonly disabledBy: readonly DisablingKey[]
  /** Comes from the frontmatter of a Markdown file. */
  readonly markdown: boolean
  readonly keys: ReadonlySet<string>
}

const DISABLING_KEYS = ["disable", "disabled"] as const
export type DisablingKey = (typeof DISABLING_KEYS)[number]

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
    distinctProperties(member(text.tree, key)).map(({ key: name, value }) =>
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
  const disabledBy = DISABLING_KEYS.filter((word) => member(node, word)?.value === true)
  return { name, key, disabledBy, markdown, keys, ...readSections(node, locate, problems) }
}

function readSections(node: Node | undefined, locate: Locate, problems: SectionProblem[]): Sections {
  const malformed: SectionKey[] = []
  const section = <T>(key: SectionKey, read: (value: Node, at: typeof locate) => Read<T>): T | null => {
    const value = member(node, key)
    if (!value) return null
    const result = read(value, locate)
    problems.push(...result.problems)
    if (result.problems.length > 0) malformed.push(key)
    return result.value
  }
  return {
    permission: section("permission", readPermissionMap),
    tools: section("tools", readTools),
    permissions: section("permissions", readPermissionsArray),
    malformed,
  }
}

/** An agent's own map on OpenCode 1: its `permission` assigned over its `tools` (read in the code of 1.18.34). */
export const ownMap = (sections: Sections): PermissionMap =>
  assignMaps(sections.tools ?? new Map(), sections.permission ?? new Map())
