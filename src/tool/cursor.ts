import { createHash } from "node:crypto"

/**
 * A page ends behind a row, and the cursor names that row and the filters. It stays good while skills come and go;
 * it means nothing under other filters.
 */
export const encodeCursor = (filter: string, key: string): string =>
  Buffer.from(JSON.stringify([1, digest(filter), key])).toString("base64url")

export function decodeCursor(cursor: string, filter: string): string | "unusable" {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"))
    if (!Array.isArray(parts) || parts.length !== 3) return "unusable"
    const [version, filters, key] = parts
    return version === 1 && filters === digest(filter) && typeof key === "string" ? key : "unusable"
  } catch {
    return "unusable"
  }
}

const digest = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 12)
