import { readFile, unlink } from "node:fs/promises"
import { codeOf } from "./config-file.ts"

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

/** Writes the sidecar if its text changed, and reads it back. Returns an error code, or null. */
export async function writeSidecarText(path: string, before: string | null, text: string): Promise<string | null> {
  if (before === text) return null
  return writeOwnFile(path, text)
}

/** Atomic write of a file of ours, read back because the library reports a short write as success. */
export async function writeOwnFile(path: string, text: string, mode?: number): Promise<string | null> {
  const { default: writeFileAtomic } = await import("write-file-atomic")
  try {
    await writeFileAtomic(path, text, { ...(mode !== undefined && { mode }) })
    return (await readFile(path, "utf8")) === text ? null : "SHORT_WRITE"
  } catch (error) {
    return codeOf(error)
  }
}

/** Removes a file of ours, if it is there. Returns an error code, or null. */
export async function removeFile(path: string): Promise<string | null> {
  try {
    await unlink(path)
    return null
  } catch (error) {
    return codeOf(error) === "ENOENT" ? null : codeOf(error)
  }
}
