import { createHash } from "node:crypto"

/** The row that a page ended with: how its key starts, and a digest of all of it. */
export interface Mark {
  readonly start: string
  readonly digest: string
}

const START = 256

/**
 * A page ends behind a row, and the cursor names that row and the filters. It stays good while skills come and go;
 * it means nothing under other filters.
 */
export function encodeCursor(filter: string, key: string): string {
  const mark = { start: key.slice(0, START), digest: digest(key) }
  return Buffer.from(JSON.stringify([1, seal(filter, mark), mark.start, mark.digest])).toString("base64url")
}

/** Under other filters, or changed in any place, a cursor is none of ours. */
const seal = (filter: string, mark: Mark): string => digest(JSON.stringify([filter, mark.start, mark.digest]))

export function decodeCursor(cursor: string, filter: string): Mark | null {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"))
    if (!Array.isArray(parts) || parts.length !== 4) return null
    const [version, sealed, start, digest] = parts
    if (version !== 1 || typeof start !== "string" || typeof digest !== "string") return null
    return sealed === seal(filter, { start, digest }) ? { start, digest } : null
  } catch {
    return null
  }
}

export const isAt = (mark: Mark, key: string): boolean => key.startsWith(mark.start) && digest(key) === mark.digest

const digest = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 12)
