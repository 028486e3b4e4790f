import type { PluginOptions } from "../actions/ports.ts"
import { isRecord } from "./values.ts"

/** The plugin's options in the host's config; what is not understood counts as not given. */
export function decodeOptions(options: unknown): PluginOptions {
  const dialect = isRecord(options) ? options.dialect : undefined
  return { dialect: dialect === "permission" || dialect === "permissions" ? dialect : "auto" }
}
