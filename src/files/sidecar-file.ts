import { readFile } from "node:fs/promises"
import { codeOf, replaceConfigFile } from "./config-file.ts"

/** The sidecar's text, null when there is none; an error code when it cannot be read. */
export async function readSidecarText(
  path: string,
): Promise<{ readonly text: string | null } | { readonly error: string }> {
  try {
    return { text: await readFile(path, "utf8") }
  } catch (error) {
    return codeOf(error) === "ENOENT" ? { text: null } : { error: codeOf(error) }
  }
}

/** Writes the sidecar as a config is written, if its text changed; null removes it. Returns an error code, or null. */
export async function writeSidecarText(
  path: string,
  before: string | null,
  text: string | null,
): Promise<string | null> {
  if (before === text) return null
  const problem = await replaceConfigFile(path, before, text)
  return problem?.reason ?? null
}
