import type { Node } from "jsonc-parser"
import { member } from "../config-text.ts"
import { type Effect, isEffect } from "../rule.ts"
import { insertMembers } from "../span-edit.ts"
import { type Addition, type ExactRule, formerText, isEmpty, MARKER, type SectionFault } from "./section.ts"

/** The exact rules for an id in the top-level `permissions` array. */
export function findInArray(root: Node, id: string): ExactRule[] {
  const container = member(root, "permissions")
  if (container?.type !== "array") return []
  return (container.children ?? []).flatMap((node, index) => {
    if (member(node, "resource")?.value !== id || member(node, "action")?.value !== "skill") return []
    const effectNode = member(node, "effect")
    return effectNode && isEffect(effectNode.value)
      ? [{ dialect: "permissions", effect: effectNode.value, node, effectNode, container, index } as const]
      : []
  })
}

/** Puts one rule last in `permissions`. */
export function addToArray(
  text: string,
  root: Node,
  id: string,
  effect: Effect,
  marked: boolean,
): Addition | SectionFault {
  const value = { action: "skill", resource: id, effect }
  const marker = marked ? { marker: MARKER } : {}
  const permissions = member(root, "permissions")
  if (!permissions)
    return {
      edits: insertMembers(text, root, [{ key: "permissions", value: [value], ...marker }]),
      created: isEmpty(root) ? { path: [], was: formerText(text, root) } : { path: ["permissions"], was: null },
    }
  if (permissions.type !== "array") return { offset: permissions.offset, reason: "unexpected_type" }
  return {
    edits: insertMembers(text, permissions, [{ value, ...marker }]),
    created: isEmpty(permissions) ? { path: ["permissions"], was: formerText(text, permissions) } : null,
  }
}
