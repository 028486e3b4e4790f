import { createHash } from "node:crypto"

/** The row that a page ended with: how its key starts, a digest of all of it, and which of several with that key it is. */
export interface Mark {
  readonly start: string
  readonly digest: string
  readonly nth: number
}

/** In UTF-16 units, lone surrogates and all: the whole key of every skill that a call can name. */
const START = 513

/**
 * A page ends behind a row, and the cursor names that row and the filters. It stays good while skills come and go;
 * it means nothing under other filters.
 */
export function encodeCursor(filter: string, key: string, nth: number): string {
  const start = Buffer.from(key.slice(0, START), "utf16le").toString("base64url")
  const mark = [start, digest(key), nth].join(".")
  return `${mark}.${digest(filter + mark)}`
}

export function decodeCursor(cursor: string, filter: string): Mark | null {
  const [, mark = "", check] = /^(.*)\.(.*)$/.exec(cursor) ?? []
  if (check !== digest(filter + mark)) return null
  const [start = "", digested = "", nth] = mark.split(".")
  return { start: Buffer.from(start, "base64url").toString("utf16le"), digest: digested, nth: Number(nth) }
}

export const isAt = (mark: Mark, key: string): boolean => key.startsWith(mark.start) && digest(key) === mark.digest

const digest = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 12)
