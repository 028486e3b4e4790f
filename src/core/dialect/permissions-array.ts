import type { Node } from "jsonc-parser"
import { member } from "../config-text.ts"
import { isEffect, type LocatedRule } from "../rule.ts"
import type { Locate, Read, SectionProblem } from "./permission-map.ts"

/** The `permissions` array of OpenCode 2: `{action, resource, effect}` elements, in order. Malformed ones are left out. */
export function readPermissionsArray(node: Node, locate: Locate): Read<readonly LocatedRule[]> {
  const problems: SectionProblem[] = []
  if (node.type !== "array") return { value: [], problems: [{ offset: node.offset, reason: "unexpected_type" }] }
  const rules = (node.children ?? []).flatMap((element) => {
    const action = member(element, "action")?.value
    const resource = member(element, "resource")?.value
    const effect = member(element, "effect")?.value
    if (typeof action === "string" && typeof resource === "string" && isEffect(effect))
      return [{ action, resource, effect, ...locate(element) }]
    problems.push({ offset: element.offset, reason: "unexpected_type" })
    return []
  })
  return { value: rules, problems }
}
