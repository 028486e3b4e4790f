/** What is read again and did not change is the same object; what depends on more than its text never is. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { documentsOf, sameAgain } from "../../src/hosts/documents.ts"
import { ruleReader } from "../../src/hosts/host-list.ts"
import { fileSource } from "../../src/hosts/sources.ts"

let root = ""
let file = ""
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "skill-management-sources-"))
  file = join(root, "opencode.json")
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(root, { recursive: true })
})

const met = async (...given: Parameters<typeof fileSource>) => (await fileSource(...given)).map(sameAgain)

const config = (effect: string) => JSON.stringify({ permission: { skill: { pdf: effect } } })

const effects = async () => {
  const documents = await documentsOf(await fileSource("global", file))
  return documents
    .flatMap(({ permission }) => [...(permission?.values() ?? [])])
    .map((map) => JSON.stringify([...Object(map)]))
}

test("a file that did not change is the same source, one that did is another, and back again is read right", async () => {
  writeFileSync(file, config("deny"))
  const [first] = await met("global", file)
  expect((await met("global", file))[0]).toBe(first)
  writeFileSync(file, config("ask"))
  const [second] = await met("global", file)
  expect(second?.text).toBe(config("ask"))
  writeFileSync(file, config("deny"))
  expect((await met("global", file))[0]).toEqual(first)
})

test("the same file in another layer, or read as something else, is another source", async () => {
  writeFileSync(file, config("deny"))
  const [global] = await met("global", file)
  const [explicit] = await met("explicit", file)
  const [agent] = await met("global", file, { agent: "a", nameWins: true })
  expect([global?.layer, explicit?.layer, agent?.form]).toEqual(["global", "explicit", { agent: "a", nameWins: true }])
})

test("a file that is gone is no source", async () => {
  writeFileSync(file, config("deny"))
  expect(await met("global", file)).toHaveLength(1)
  rmSync(file)
  expect(await met("global", file)).toEqual([])
})

test("a reference is followed each time that its file is read", async () => {
  writeFileSync(file, config("{env:SKILL_MANAGEMENT_EFFECT}"))
  vi.stubEnv("SKILL_MANAGEMENT_EFFECT", "deny")
  const before = await effects()
  vi.stubEnv("SKILL_MANAGEMENT_EFFECT", "ask")
  const after = await effects()
  expect([before, after].map(([map]) => /"effect":"(\w+)"/.exec(map ?? "")?.[1])).toEqual(["deny", "ask"])
  writeFileSync(file, config("{file:./effect}"))
  writeFileSync(join(root, "effect"), "allow\n")
  expect((await effects())[0]).toContain('"effect":"allow"')
  writeFileSync(join(root, "effect"), "deny\n")
  expect((await effects())[0]).toContain('"effect":"deny"')
})

const readRules = ruleReader({ action: "permission", resource: "pattern", effect: "action" })
const rule = (pattern: string, action: unknown) => ({ permission: "skill", pattern, action })

test("an agent's rules are the same array as long as the host lists the same", () => {
  const first = readRules("build", [rule("a", "deny"), rule("b", "ask")])
  expect(first).toEqual([
    { action: "skill", resource: "a", effect: "deny" },
    { action: "skill", resource: "b", effect: "ask" },
  ])
  expect(readRules("build", [rule("a", "deny"), rule("b", "ask")])).toBe(first)
  expect(readRules("plan", [rule("a", "deny"), rule("b", "ask")])).toEqual(first)
})

test.each([
  ["another effect", [rule("a", "deny"), rule("b", "allow")], ["a deny", "b allow"]],
  ["another order", [rule("b", "ask"), rule("a", "deny")], ["b ask", "a deny"]],
  ["one more", [rule("a", "deny"), rule("b", "ask"), rule("c", "ask")], ["a deny", "b ask", "c ask"]],
  ["one less", [rule("a", "deny")], ["a deny"]],
  ["none", [], []],
  ["something that is no rule in the place of one", [rule("a", "deny"), "b"], ["a deny"]],
  ["one without an effect that there is", [rule("a", "deny"), rule("b", "maybe")], ["a deny"]],
] as const)("and what they list now when it is %s", (_, list, expected) => {
  readRules("build", [rule("a", "deny"), rule("b", "ask")])
  const now = readRules("build", list)
  expect(now.map(({ resource, effect }) => `${resource} ${effect}`)).toEqual(expected)
})
