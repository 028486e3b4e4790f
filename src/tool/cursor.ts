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
export const encodeCursor = (filter: string, key: string): string =>
  Buffer.from(JSON.stringify([1, digest(filter), key.slice(0, START), digest(key)])).toString("base64url")

export function decodeCursor(cursor: string, filter: string): Mark | null {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"))
    if (!Array.isArray(parts) || parts.length !== 4) return null
    const [version, filters, start, mark] = parts
    const ours = version === 1 && filters === digest(filter) && typeof start === "string" && typeof mark === "string"
    return ours ? { start, digest: mark } : null
  } catch {
    return null
  }
}

export const isAt = (mark: Mark, key: string): boolean => key.startsWith(mark.start) && digest(key) === mark.digest

const digest = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 12)
