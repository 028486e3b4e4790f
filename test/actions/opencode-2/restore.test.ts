import { readFileSync, writeFileSync } from "node:fs"
import { afterEach, describe, expect, it } from "vitest"
import { arrayOf, rule, SIDECAR, start, stop } from "./harness.ts"

afterEach(stop)

const B = JSON.stringify(rule("b", "deny"))

const DOCUMENTS: [name: string, text: string][] = [
  ["an empty file", ""],
  ["an empty object", "{}"],
  ["an empty object with a blank", "{ }\n"],
  ["an empty object on two lines", "{\n}\n"],
  ["only a comment", "{\n  // nothing yet\n}\n"],
  ["an empty array", '{\n  "permissions": []\n}\n'],
  ["an empty array with a comment", '{\n  "permissions": [\n    // none yet\n  ]\n}\n'],
  ["an array on one line", `{"permissions":[${B}]}`],
  ["an array on lines", arrayOf(["b", "deny"], ["c", "ask"])],
  ["trailing commas", `{\n  "permissions": [\n    ${B},\n  ],\n}\n`],
  ["a trailing comment", `{\n  "permissions": [\n    ${B} // why\n  ] // end\n}\n`],
  ["a block comment behind the last", `{\n  "permissions": [\n    ${B} /* why */\n  ]\n}\n`],
  ["CRLF and tabs", `{\r\n\t"permissions": [\r\n\t\t${B}\r\n\t]\r\n}\r\n`],
  ["no final newline", `{\n  "model": "x/y"\n}`],
  ["a byte order mark", `\uFEFF{\n  "permissions": [${B}]\n}\n`],
  [
    "other keys around",
    `{\n    "model": "x/y", // m\n    "permissions": [\n        ${B}\n    ],\n    "share": "manual"\n}\n`,
  ],
  ["one line of everything", `{"model":"x/y","share":"manual"}`],
  ["agents of its own", `{\n  "agents": { "plan": { "permissions": [${B}] } }\n}\n`],
  ["a map", '{\n  "permission": {\n    "skill": {\n      "b": "deny"\n    }\n  }\n}\n'],
  ["an empty map", '{ "permission": {} }\n'],
  ["an empty skill map", '{ "permission": { "edit": "ask", "skill": {} } }\n'],
  ["a string for skills", '{\n  "permission": {\n    "skill": "allow" // all\n  }\n}\n'],
  ["a string for everything", '{\n  "permission": "allow",\n  "model": "x/y"\n}\n'],
  ["a key of OpenCode 1", '{\n  "provider": {},\n}\n'],
]

describe.each(["opencode.json", "opencode.jsonc"])("disable and enable restore %s byte for byte", (file) => {
  it.each(DOCUMENTS)("%s", async (_, before) => {
    const { disable, enable, text, names, effect } = await start({ config: { [file]: before } })
    expect(await disable("a")).toMatchObject({ ok: true, changed: true, verification: { method: "host" } })
    expect(text(file)).not.toBe(before)
    expect(await effect("a")).toBe("deny")
    expect(await enable("a")).toMatchObject({ ok: true, reason: "rule_removed", verification: { method: "host" } })
    expect(text(file)).toBe(before)
    expect(names()).toEqual([file])
  })
})

describe("what was made for a rule goes with the last rule", () => {
  const orders = [
    ["a", "b"],
    ["b", "a"],
  ] as const
  it.each(orders)("a file, %s first", async (first, second) => {
    const { disable, enable, names, text } = await start()
    await disable("a")
    await disable("b")
    await enable(first)
    expect(text("opencode.jsonc")).toContain(`"${second}"`)
    expect(text("opencode.jsonc")).not.toContain(`"${first}"`)
    expect(await enable(second)).toMatchObject({ ok: true, reason: "rule_removed", location: expect.any(String) })
    expect(names()).toEqual([])
  })

  it.each(orders)("a section, %s first", async (first, second) => {
    const before = '{ "model": "x/y" }\n'
    const { disable, enable, names, text } = await start({ config: { "opencode.json": before } })
    await disable("a")
    await disable("b", { effect: "ask" })
    await enable(first)
    await enable(second)
    expect(text("opencode.json")).toBe(before)
    expect(names()).toEqual(["opencode.json"])
  })

  it("but a file that somebody wrote into stays, with what they wrote", async () => {
    const { disable, enable, text, path, effect } = await start()
    await disable("a")
    const mine = readFileSync(path("opencode.jsonc"), "utf8").replace(
      '"permissions"',
      '"model": "x/y",\n  "permissions"',
    )
    writeFileSync(path("opencode.jsonc"), mine)
    expect(await enable("a")).toMatchObject({ ok: true, reason: "rule_removed" })
    expect(text("opencode.jsonc")).toContain('"model": "x/y"')
    expect(await effect("a")).toBe("allow")
    expect(text(SIDECAR)).toBeNull()
  })
})

it("keeps the records of the other generation", async () => {
  const other = { generation: "opencode-1", file: "opencode.json", id: "a", effect: "deny" }
  const sidecar = `{\n  "schemaVersion": 1,\n  "records": [\n    ${JSON.stringify(other)}\n  ]\n}\n`
  const { disable, enable, text, list } = await start({ config: { [SIDECAR]: sidecar } })
  expect((await list()).consistency?.staleSidecarIds).toEqual([])
  await disable("a")
  expect(JSON.parse(text(SIDECAR) ?? "").records).toHaveLength(2)
  await enable("a")
  expect(text(SIDECAR)).toBe(sidecar)
})
