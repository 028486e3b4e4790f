import type { Node } from "jsonc-parser"
import { member, properties } from "../config-text.ts"
import { type Effect, isEffect } from "../rule.ts"
import { insertMembers, replaceValue } from "../span-edit.ts"
import { type Addition, type ExactRule, formerText, isEmpty, MARKER, type SectionFault } from "./section.ts"

/** The exact rules for an id in the top-level `permission.skill` map. */
export function findInMap(root: Node, id: string): ExactRule[] {
  const container = member(member(root, "permission"), "skill")
  if (!container) return []
  return properties(container).flatMap(({ key, node, value }, index) =>
    key === id && isEffect(value.value)
      ? [{ dialect: "permission", effect: value.value, node, effectNode: value, container, index } as const]
      : [],
  )
}

/** Puts one rule last in `permission.skill`. A string on the way becomes a map that keeps its meaning as `"*"`. */
export function addToMap(
  text: string,
  root: Node,
  id: string,
  effect: Effect,
  marked: boolean,
): Addition | SectionFault {
  const rule = { [id]: effect }
  const marker = marked ? { marker: MARKER } : {}
  const permission = member(root, "permission")
  if (!permission)
    return {
      edits: insertMembers(text, root, [{ key: "permission", value: { skill: rule }, ...marker }]),
      created: isEmpty(root) ? { path: [], was: formerText(text, root) } : { path: ["permission"], was: null },
    }
  if (isEffect(permission.value))
    return {
      edits: [replaceValue(permission, { "*": permission.value, skill: rule }, text, marker.marker)],
      created: { path: ["permission"], was: formerText(text, permission) },
    }
  if (permission.type !== "object") return { offset: permission.offset, reason: "unexpected_type" }
  const skill = member(permission, "skill")
  if (!skill)
    return {
      edits: insertMembers(text, permission, [{ key: "skill", value: rule, ...marker }]),
      created: isEmpty(permission)
        ? { path: ["permission"], was: formerText(text, permission) }
        : { path: ["permission", "skill"], was: null },
    }
  if (isEffect(skill.value))
    return {
      edits: [replaceValue(skill, { "*": skill.value, ...rule }, text, marker.marker)],
      created: { path: ["permission", "skill"], was: formerText(text, skill) },
    }
  if (skill.type !== "object") return { offset: skill.offset, reason: "unexpected_type" }
  return {
    edits: insertMembers(text, skill, [{ key: id, value: effect, ...marker }]),
    created: isEmpty(skill) ? { path: ["permission", "skill"], was: formerText(text, skill) } : null,
  }
}
