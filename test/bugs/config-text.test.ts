// The law that every write of a case is held to, held to examples itself.
import { describe, expect, it } from "vitest"
import { expectOnlyRule, skillRules } from "./config-text.ts"

const element = (resource: string, action = "skill") => JSON.stringify({ action, resource, effect: "deny" })
const BEFORE = `{
  // head
  "model": "a/b",
  "permission": {
    "skill": {
      "x": "ask", // x is asked for
      "y": "deny" /* y */
    }
  }
}
`
const AFTER = BEFORE.replace('"deny" /* y */', '"deny", /* y */\n      "pdf": "deny" // skill_management')

describe("only the rule differs", () => {
  it.each<[what: string, before: string, after: string, id?: string]>([
    ["when nothing does", BEFORE, BEFORE],
    ["in lines", BEFORE, AFTER],
    ["when it goes", AFTER, BEFORE],
    ["when its comment stays alone", BEFORE, BEFORE.replace('"x": "ask", // x', "// x"), "x"],
    ["in its effect", AFTER, AFTER.replace('"pdf": "deny"', '"pdf": "ask"')],
    [
      "in a line with others",
      '{"permission":{"skill":{"x":"ask"}}}',
      '{"permission":{"skill":{"x":"ask","pdf":"deny"}}}',
    ],
    ["with its section", '{\n  "a": 1\n}\n', '{\n  "a": 1,\n  "permission": { "skill": { "pdf": "deny" } }\n}\n'],
    ["with all of the text", "{ }", '{\n  "permission": {\n    "skill": {\n      "pdf": "deny"\n    }\n  }\n}'],
    [
      "in an array",
      `{"permissions": [\r\n  ${element("x")} // x\r\n]}\r\n`,
      `{"permissions": [\r\n  ${element("x")}, // x\r\n  ${element("pdf")}\r\n]}\r\n`,
    ],
  ])("%s", (_, before, after, id = "pdf") => {
    expect(() => expectOnlyRule(before, after, id)).not.toThrow()
  })
})

describe("more than the rule differs", () => {
  it.each<[what: string, after: string]>([
    ["a comment is gone", AFTER.replace(" // x is asked for", "")],
    ["a comment has moved to the new rule", AFTER.replace(" /* y */", "").replace("// skill_management", "/* y */")],
    ["a comment has moved a line down", AFTER.replace(" // x is asked for\n", "\n // x is asked for\n")],
    ["another rule is gone", AFTER.replace(/ {6}"x".*\n/, "")],
    ["another rule has another effect", AFTER.replace('"y": "deny"', '"y": "ask"')],
    ["the order is another one", AFTER.replace(/( {6}"x".*\n)( {6}"y".*\n)/, "$2$1")],
    ["the indentation is another one", AFTER.replace('  "model"', '    "model"')],
    ["the line ends are", AFTER.replaceAll("\n", "\r\n")],
    ["one line end is", AFTER.replace("// skill_management\n", "// skill_management\r\n")],
    ["the last line has no end", AFTER.trimEnd()],
    ["a byte order mark has come", `\uFEFF${AFTER}`],
    ["something is added", AFTER.replace('"a/b",', '"a/b",\n  "theme": "x",')],
    ["a blank line has come", AFTER.replace("{\n  // head", "{\n\n  // head")],
    ["it does not parse", AFTER.replace('"deny", /*', '"deny" /*')],
  ])("%s", (_, after) => {
    expect(after).not.toBe(AFTER)
    expect(() => expectOnlyRule(BEFORE, after, "pdf")).toThrow()
  })
})

it("rules in written order, of both forms", () => {
  expect(skillRules(AFTER)).toEqual(["x ask", "y deny", "pdf deny"])
  expect(skillRules(`{"permissions": [${element("*", "edit")}, ${element("x")}]}`)).toEqual(["x deny"])
})
