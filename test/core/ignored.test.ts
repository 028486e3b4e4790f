import { parseTree } from "jsonc-parser"
import { describe, expect, test } from "vitest"
import { readConfigText } from "../../src/core/config-text.ts"
import { type LayerDocument, readAgent, readDocument } from "../../src/core/document.ts"
import { modelOpenCode1, modelOpenCode2, type Reading } from "../../src/core/predict.ts"

const doc = (config: object) => readDocument(readConfigText(JSON.stringify(config), null), "global", "opencode.json")

function markdown(name: string, head: object): LayerDocument {
  const node = parseTree(JSON.stringify(head))
  if (!node) throw new Error("no tree")
  const locate = () => ({ origin: { layer: "global", file: `${name}.md`, line: 1, column: 1, agent: name } as const })
  const agents = [readAgent(node, "agent", name, locate, [], true)]
  return { ...doc({}), file: `${name}.md`, agents, keys: new Set() }
}

const array = [{ action: "skill", resource: "a", effect: "deny" }]
const map = { skill: { b: "ask" } }

const one = (...layers: LayerDocument[]) => shown(modelOpenCode1(layers, "/home/u").ignored())
const two = (reading: Reading, ...layers: LayerDocument[]) => shown(modelOpenCode2(layers, reading).ignored())

const shown = (found: ReturnType<ReturnType<typeof modelOpenCode1>["ignored"]>) =>
  found
    .filter(({ rules }) => rules.length > 0)
    .map(({ agent, rules, because }) => [agent, rules.map(({ resource }) => resource).join(), because])

describe("what is written and counts for nothing", () => {
  test("on OpenCode 1: `permissions` of a Markdown agent", () => {
    expect(one(markdown("plan", { permissions: array, permission: map }), doc({ permission: map }))).toEqual([
      ["plan", "a", { kind: "array_in_markdown" }],
    ])
    expect(one(markdown("plan", { permission: map }))).toEqual([])
  })

  test("on OpenCode 1: a value whose key a higher layer holds too, and a string beside an object", () => {
    const replaced = expect.objectContaining({ kind: "replaced" })
    const low = doc({ permission: { skill: { a: "allow", b: "ask" } }, agent: { plan: { permission: map } } })
    expect(one(low, doc({ permission: { skill: { a: "deny" } } }))).toEqual([[null, "a", replaced]])
    expect(one(low, doc({ agent: { plan: { permission: { skill: { b: "deny" } } } } }))).toEqual([
      ["plan", "b", replaced],
    ])
    expect(one(low, doc({ permission: { skill: "deny" } }))).toEqual([
      [null, "a", replaced],
      [null, "b", replaced],
    ])
    expect(one(doc({ permission: { skill: "ask" } }), low)).toEqual([[null, "*", replaced]])
    expect(one(doc({ tools: { skill: false } }), low)).toEqual([[null, "*", replaced]])
    expect(one(low, doc({ permission: { edit: "ask" } }), doc({}))).toEqual([])
  })

  test.each<Reading>(["by-section", "by-document"])(
    "on OpenCode 2 (%s): the same beside a key of OpenCode 1",
    (read) => {
      expect(two(read, markdown("plan", { description: "d", temperature: 1, permissions: array }))).toEqual([
        ["plan", "a", { kind: "key_in_markdown", key: "temperature" }],
      ])
      expect(two(read, markdown("plan", { description: "d", permissions: array }))).toEqual([])
    },
  )

  test("on its betas: arrays of a document with a key of OpenCode 1, agents included", () => {
    const mixed = doc({ provider: {}, permissions: array, permission: map, agents: { plan: { permissions: array } } })
    const because = { kind: "key_in_document", key: "provider" }
    expect(two("by-document", mixed)).toEqual([
      [null, "a", because],
      ["plan", "a", because],
    ])
    expect(two("by-section", mixed)).toEqual([])
    expect(two("by-document", doc({ permissions: array }))).toEqual([])
  })

  test("on its betas: a document with a malformed section", () => {
    expect(two("by-document", doc({ permissions: [...array, {}] }))).toEqual([[null, "a", { kind: "malformed" }]])
    const elsewhere = doc({ permission: map, permissions: [...array, {}] })
    expect(two("by-document", elsewhere)).toEqual([[null, "a", { kind: "key_in_document", key: "permission" }]])
  })
})

test("what references put into rules is known, wherever it stands", () => {
  const text =
    '{"permission": {"skill": {"{env:T}": "deny", "b": "ask"}}, "agent": {"x": {"tools": {"{env:T}": true}}}}'
  const layer = readDocument(
    readConfigText(text, () => "secret"),
    "global",
    "f",
  )
  for (const model of [modelOpenCode1([layer], "/home/u"), modelOpenCode2([layer], "by-section")])
    expect(model.secrets().map(({ action, resource }) => [action, resource])).toEqual([
      ["skill", "secret"],
      ["secret", "*"],
    ])
})
