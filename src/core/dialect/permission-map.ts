import type { Node } from "jsonc-parser"
import { distinctProperties } from "../config-text.ts"
import { type Effect, isEffect, type LocatedRule, type Origin } from "../rule.ts"

/** Where a section is not what the host accepts. */
export interface SectionProblem {
  readonly offset: number
  readonly reason: "unexpected_type" | "unknown_effect"
}

/** Where a node stands, and whether a reference put any of its text there. */
export type Locate = (node: Node) => Place

export interface Place {
  readonly origin: Origin
  readonly secret?: true
}

interface Cell extends Place {
  readonly effect: Effect
}

/**
 * The `permission` map: permission name -> effect, or pattern -> effect. Written order, later duplicates in the place
 * of the first. OpenCode 1 keeps the rules of one config in one such map; merging two is a merge of objects.
 */
export type PermissionMap = ReadonlyMap<string, Cell | ReadonlyMap<string, Cell>>

const isCell = (value: Cell | ReadonlyMap<string, Cell>): value is Cell => "effect" in value

export interface Read<T> {
  readonly value: T
  readonly problems: readonly SectionProblem[]
}

/** `permission` as written: a string stands for `{"*": …}`; a section that the host refuses yields nothing. */
export function readPermissionMap(node: Node, locate: Locate): Read<PermissionMap> {
  const problems: SectionProblem[] = []
  const map = new Map<string, Cell | ReadonlyMap<string, Cell>>()
  if (node.type === "string") {
    const cell = readCell(node, node, locate, problems)
    if (cell) map.set("*", cell)
    return { value: map, problems }
  }
  if (node.type !== "object") problems.push({ offset: node.offset, reason: "unexpected_type" })
  for (const { key, node: property, value } of distinctProperties(node)) {
    if (value.type === "object") {
      map.set(key, readPatterns(value, locate, problems))
      continue
    }
    const cell = readCell(value, property, locate, problems)
    if (cell) map.set(key, cell)
  }
  return { value: map, problems }
}

function readPatterns(node: Node, locate: Locate, problems: SectionProblem[]): ReadonlyMap<string, Cell> {
  const patterns = new Map<string, Cell>()
  for (const { key, node: property, value } of distinctProperties(node)) {
    const cell = readCell(value, property, locate, problems)
    if (cell) patterns.set(key, cell)
  }
  return patterns
}

function readCell(value: Node, at: Node, locate: Locate, problems: SectionProblem[]): Cell | undefined {
  if (isEffect(value.value)) return { effect: value.value, ...locate(at) }
  problems.push({ offset: value.offset, reason: value.type === "string" ? "unknown_effect" : "unexpected_type" })
  return undefined
}

/** `tools: {skill: false}`, the older way to say `permission: {skill: "deny"}`. */
export function readTools(node: Node, locate: Locate): Read<PermissionMap> {
  const map = new Map<string, Cell>()
  const problems: SectionProblem[] = []
  if (node.type !== "object") problems.push({ offset: node.offset, reason: "unexpected_type" })
  for (const { key, node: property, value } of distinctProperties(node)) {
    if (typeof value.value !== "boolean") {
      problems.push({ offset: value.offset, reason: "unexpected_type" })
      continue
    }
    map.set(key, { effect: value.value ? "allow" : "deny", ...locate(property) })
  }
  return { value: map, problems }
}

/** Deep merge of OpenCode 1: a key keeps its first place; where one side is no map, the higher side replaces it. */
export function mergeMaps(low: PermissionMap, high: PermissionMap): PermissionMap {
  const merged = new Map(low)
  for (const [name, value] of high) {
    const below = merged.get(name)
    const both = below && !isCell(below) && !isCell(value)
    merged.set(name, both ? new Map([...below, ...value]) : value)
  }
  return merged
}

/** Shallow assignment, as OpenCode 1 lays an agent's `permission` over its `tools`. */
export const assignMaps = (low: PermissionMap, high: PermissionMap): PermissionMap => new Map([...low, ...high])

/**
 * The rules a host makes of a map: in written order, except that integer-like keys come first, ascending
 * (the order of JavaScript object keys, measured on OpenCode 1.18.34). `expandHome` is set for OpenCode 1 only.
 */
export function mapRules(map: PermissionMap, expandHome: (pattern: string) => string): LocatedRule[] {
  return objectOrder(map).flatMap(([action, value]) =>
    isCell(value)
      ? [{ action, resource: "*", ...value }]
      : objectOrder(value).map(([pattern, cell]) => ({ action, resource: expandHome(pattern), ...cell })),
  )
}

function objectOrder<V>(map: ReadonlyMap<string, V>): [string, V][] {
  const entries = [...map]
  const integers = entries.filter(([key]) => isIntegerLike(key)).sort(([a], [b]) => Number(a) - Number(b))
  return [...integers, ...entries.filter(([key]) => !isIntegerLike(key))]
}

/** A canonical array index: JavaScript objects list these keys first. */
export const isIntegerLike = (key: string): boolean => /^(0|[1-9]\d*)$/.test(key) && Number(key) < 2 ** 32 - 1
