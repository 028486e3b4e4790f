import { isDeepStrictEqual } from "node:util"
import { getNodeValue } from "jsonc-parser"
import type { PluginOptions } from "../actions/ports.ts"
import { member } from "../core/config-text.ts"
import { configTextOf } from "./documents.ts"
import type { Source } from "./sources.ts"
import { isRecord, text } from "./values.ts"

/** How this plugin is named in a config, whatever the way it is installed. */
const PACKAGE = "opencode-skill-management"

/**
 * The plugin's options. A host hands over those of one config entry and does not say which; a project's entry may only
 * tighten what the user's own say. What is not understood counts as not given.
 */
export function decodeOptions(given: unknown, sources: readonly Source[]): PluginOptions {
  const entries = sources.flatMap(entriesOf)
  const isGiven = ({ options }: Entry): boolean => isDeepStrictEqual(options, given)
  const users = entries.filter((entry) => entry.layer !== "project" && (entry.ours || isGiven(entry)))
  const all = [...users.map(({ options }) => options), given].map(decode)
  // What no file holds, a place that is not read has given.
  const fromProject = !users.some(isGiven) && (users.length > 0 || entries.some(isGiven))
  return {
    dialect: (fromProject ? all.slice(0, -1) : all).at(-1)?.dialect ?? "auto",
    writes: all.some(({ writes }) => writes === "operator") ? "operator" : "agent",
    protect: [...new Set(all.flatMap(({ protect }) => protect))],
  }
}

function decode(options: unknown): PluginOptions {
  const { dialect, writes, protect } = isRecord(options) ? options : {}
  return {
    dialect: dialect === "permission" || dialect === "permissions" ? dialect : "auto",
    writes: writes === "operator" ? "operator" : "agent",
    protect: Array.isArray(protect) ? protect.filter((pattern) => typeof pattern === "string") : [],
  }
}

interface Entry {
  readonly layer: Source["layer"]
  /** It bears the name of this plugin. */
  readonly ours: boolean
  readonly options: unknown
}

/** The plugin entries of one config that carry options: `[name, options]`, or `{package, options}` on OpenCode 2. */
function entriesOf(source: Source): Entry[] {
  if (source.form !== "config") return []
  const { tree } = configTextOf(source)
  return ["plugin", "plugins"].flatMap((key) => {
    const list: unknown = getNodeValue(member(tree, key) ?? EMPTY)
    return (Array.isArray(list) ? list : []).flatMap((entry: unknown) => {
      const [name, options] = Array.isArray(entry) ? entry : isRecord(entry) ? [entry.package, entry.options] : [entry]
      // The parser's objects have no prototype, the host's have one.
      return options === undefined
        ? []
        : [{ layer: source.layer, ours: text(name)?.includes(PACKAGE) ?? false, options: structuredClone(options) }]
    })
  })
}

const EMPTY = { type: "array", offset: 0, length: 0, children: [] } satisfies Parameters<typeof getNodeValue>[0]
