import { compareIds } from "../core/order.ts"
import type { Row } from "../tool/answer-schema.ts"
import { bytesOf, MAX_BYTES, PAGE_BYTES } from "../tool/budget.ts"
import { decodeCursor, encodeCursor, isAt } from "../tool/cursor.ts"
import { envelope, type Outcome, render } from "../tool/envelope.ts"
import type { Request } from "../tool/input.ts"
import { ROW_FIELDS } from "../tool/vocabulary.ts"
import type { Host } from "./ports.ts"
import type { FullRow } from "./rows.ts"

/** Makes a page's answer; `share` is what its other arrays may keep of their full size. */
export type Page = (rows: readonly Row[], share: number) => Outcome

/** Skills without an id come last, by path. */
const keyOf = ({ id, path }: FullRow): string => (id === null ? `1${path ?? ""}` : `0${id}`)
export const inOrder = (rows: readonly FullRow[]): FullRow[] =>
  rows
    .map((row) => ({ row, key: keyOf(row) }))
    .sort((a, b) => compareIds(a.key, b.key))
    .map(({ row }) => row)

/** The cursor behind one of the rows. Skills without id and path have one key. */
export function cursorBehind(index: number, filter: string, rows: readonly FullRow[]): string | null {
  const row = rows[index]
  if (!row) return null
  const key = keyOf(row)
  const first = rows.findLastIndex((other, at) => at < index && keyOf(other) !== key) + 1
  return encodeCursor(filter, key, index - first + 1)
}

/** The first row behind the one that a cursor names, or behind its place if it is gone; null for a foreign cursor. */
export function resume(cursor: string, filter: string, rows: readonly FullRow[]): number | null {
  const mark = decodeCursor(cursor, filter)
  if (!mark) return null
  const at = rows.findIndex((row) => isAt(mark, keyOf(row)))
  const alike = rows.slice(Math.max(0, at), at + mark.nth)
  if (at >= 0) return at + alike.filter((row) => isAt(mark, keyOf(row))).length
  const behind = rows.findIndex((row) => compareIds(keyOf(row), mark.start) > 0)
  return behind < 0 ? rows.length : behind
}

/** Room for a cursor and the words around it. */
const CURSOR_BYTES = 1_536
/** A row beyond this leaves no room for others. */
const LARGEST_ROW = 4 * 1024

/** Adds whole rows for as long as the answer stays within its budget. */
export function fillPage(host: Host, request: Request, rest: readonly FullRow[], page: Page): Outcome {
  const most = request.limit ?? rest.length
  const budget = request.limit === undefined ? PAGE_BYTES : MAX_BYTES
  const sizeOf = (rows: readonly Row[], share: number) => bytesOf(render(envelope("list", host, page(rows, share))))
  let share = 1
  while (share > 1 / 1_000 && sizeOf([], share) > budget / 2) share /= 2
  let bytes = sizeOf([], share) + CURSOR_BYTES
  const rows: Row[] = []
  for (const full of rest.slice(0, most)) {
    const row = slim(project(full, request))
    bytes += bytesOf(render({ row: [row] }))
    // A page that shows nothing would never come to an end.
    if (bytes > budget && rows.length > 0) break
    rows.push(row)
  }
  while (rows.length > 1 && sizeOf(rows, share) > budget) rows.pop()
  return page(rows, share)
}

function project(row: FullRow, request: Request): Row {
  const line = row.description?.split(/\r\n|\n|\r/, 1)[0] ?? null
  const whole: Row = { ...row, description: line }
  if (!request.fields) return whole
  const wanted = new Set<string>(request.fields)
  return Object.fromEntries(
    ROW_FIELDS.flatMap((field) => (wanted.has(field) && field in whole ? [[field, whole[field]]] : [])),
  )
}

/** A row that is too large alone loses its longest texts, and says so. */
function slim(row: Row): Row {
  let small = row
  const lost: string[] = []
  for (const field of ["description", "name", "path", "id"] as const) {
    if (bytesOf(render({ row: [small] })) <= LARGEST_ROW) break
    if (!(field in small)) continue
    lost.push(field)
    small = { ...small, [field]: null, truncated: [...lost] }
  }
  return small
}
