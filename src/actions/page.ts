import { compareIds, sortedById } from "../core/order.ts"
import type { Row } from "../tool/answer-schema.ts"
import { bytesOf, MAX_BYTES, PAGE_BYTES } from "../tool/budget.ts"
import { decodeCursor, encodeCursor, isAt } from "../tool/cursor.ts"
import { envelope, type Outcome, render } from "../tool/envelope.ts"
import type { Request } from "../tool/input.ts"
import { ROW_FIELDS } from "../tool/vocabulary.ts"
import type { HostSkill } from "./ports.ts"
import { type FullRow, rowsOf } from "./rows.ts"
import type { Scene } from "./world.ts"

/** Makes a page's answer; `share` is what its other arrays may keep of their full size. */
export type Page = (rows: readonly Row[], share: number) => Outcome

const ordered = new WeakMap<readonly HostSkill[], readonly HostSkill[]>()

/** A registry's skills, sorted once; those without an id come last, by path. */
export function inOrder(skills: readonly HostSkill[]): readonly HostSkill[] {
  const known = ordered.get(skills) ?? sorted(skills)
  ordered.set(skills, known)
  return known
}

const sorted = (skills: readonly HostSkill[]): HostSkill[] => [
  ...sortedById(
    skills.filter(({ id }) => id !== null),
    ({ id }) => id ?? "",
  ),
  ...sortedById(
    skills.filter(({ id }) => id === null),
    ({ path }) => path ?? "",
  ),
]

const keyOf = ({ id, path }: HostSkill): string => (id === null ? `1${path ?? ""}` : `0${id}`)

/** The cursor behind one of the skills. Those without id and path have one key. */
export function cursorBehind(index: number, filter: string, skills: readonly HostSkill[]): string | null {
  const skill = skills[index]
  if (!skill) return null
  const key = keyOf(skill)
  const first = skills.slice(0, index).findLastIndex((other) => keyOf(other) !== key) + 1
  return encodeCursor(filter, key, index - first + 1)
}

/** The first skill behind the one that a cursor names, or behind its place if it is gone; null for a foreign cursor. */
export function resume(cursor: string, filter: string, skills: readonly HostSkill[]): number | null {
  const mark = decodeCursor(cursor, filter)
  if (!mark) return null
  const at = skills.findIndex((skill) => isAt(mark, keyOf(skill)))
  const alike = skills.slice(Math.max(0, at), at + mark.nth)
  if (at >= 0) return at + alike.filter((skill) => isAt(mark, keyOf(skill))).length
  const behind = skills.findIndex((skill) => compareIds(keyOf(skill), mark.start) > 0)
  return behind < 0 ? skills.length : behind
}

/** Room for a cursor and the words around it. */
const CURSOR_BYTES = 1_536
/** A row beyond this leaves no room for others. */
const LARGEST_ROW = 4 * 1024

/** Adds whole rows for as long as the answer stays within its budget. */
export function fillPage(scene: Scene, request: Request, rest: readonly HostSkill[], page: Page): Outcome {
  const { host } = scene
  const rowOf = rowsOf(scene)
  const most = request.limit ?? rest.length
  const budget = request.limit === undefined ? PAGE_BYTES : MAX_BYTES
  const sizeOf = (rows: readonly Row[], share: number) => bytesOf(render(envelope("list", host, page(rows, share))))
  let share = 1
  while (share > 1 / 1_000 && sizeOf([], share) > budget / 2) share /= 2
  let bytes = sizeOf([], share) + CURSOR_BYTES
  const rows: Row[] = []
  for (const skill of rest.slice(0, most)) {
    const { row, size } = slim(project(rowOf(skill), request))
    bytes += size
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
function slim(row: Row): { readonly row: Row; readonly size: number } {
  let small = row
  let size = sizeOfRow(row)
  const lost: string[] = []
  for (const field of ["description", "name", "path", "id"] as const) {
    if (size <= LARGEST_ROW) break
    if (!(field in small)) continue
    lost.push(field)
    small = { ...small, [field]: null, truncated: [...lost] }
    size = sizeOfRow(small)
  }
  return { row: small, size }
}

const sizeOfRow = (row: Row): number => bytesOf(render({ row: [row] }))
