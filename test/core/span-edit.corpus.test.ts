import { type Node, type ParseError, parseTree } from "jsonc-parser"
import { describe, expect, test } from "vitest"
import {
  applyEdits,
  type Edit,
  insertMembers,
  type Json,
  type Member,
  removeMembers,
} from "../../src/core/span-edit.ts"
import { corpusFiles, hasCorpus, lineEndsOf } from "../corpus.ts"

const marker = "// skill_management"
const rule: Json = { action: "skill", resource: "pdf", effect: "deny" }

function parsed(text: string): Node | undefined {
  const errors: ParseError[] = []
  const root = parseTree(text.replace(/^\ufeff/, " "), errors, { allowTrailingComma: true })
  return errors.length === 0 ? root : undefined
}

function containersOf(node: Node): Node[] {
  const own = node.type === "object" || node.type === "array" ? [node] : []
  return [...own, ...(node.children ?? []).flatMap(containersOf)]
}

describe.skipIf(!hasCorpus)("real configs", () => {
  test("inserting and removing restores every byte in each container", () => {
    const counts = new Map<string, { files: number; containers: number }>()
    for (const { folder, label, text } of corpusFiles()) {
      const root = parsed(text)
      if (!root) continue
      const containers = containersOf(root)
      const kind = `${folder}, ${lineEndsOf(text)}`
      const count = counts.get(kind) ?? { files: 0, containers: 0 }
      counts.set(kind, { files: count.files + 1, containers: count.containers + containers.length })
      for (const [i, container] of containers.entries()) expectRestored(text, container, i, label)
    }
    console.table(Object.fromEntries(counts))
    expect(counts.size).toBeGreaterThan(0)
  }, 120_000)
})

function expectRestored(text: string, container: Node, index: number, file: string) {
  const section: Json = { "*": "ask", x: "deny" }
  const members: Member[] =
    container.type === "object"
      ? [section, "deny", section].map((value, i) => ({ key: `added-${i}`, value, marker }))
      : [rule, "x", rule].map((value) => ({ value, marker }))
  const { offset, length } = container
  const edits = insertMembers(text, container, members)
  const isInside = edits.every((edit) => edit.offset > offset && edit.offset + edit.length < offset + length)
  // Nothing outside the container changes, so its own text is enough: parsing whole files each time takes minutes.
  const raw = text.slice(offset, offset + length)
  const after = applyEdits(text, edits).slice(offset, offset + length + grownBy(edits))
  const grown = parsed(after)
  const count = container.children?.length ?? 0
  if (!isInside || grown?.children?.length !== count + members.length) {
    throw new Error(`${file}: container ${index} at ${offset} does not grow from ${count} by ${members.length}`)
  }
  const added = members.map((_, i) => count + i)
  if (count > 0 && applyEdits(after, removeMembers(after, grown, added, marker)) !== raw) {
    throw new Error(`${file}: container ${index} at ${offset} is not restored`)
  }
}

const grownBy = (edits: readonly Edit[]): number => edits.reduce((sum, edit) => sum + edit.text.length - edit.length, 0)
