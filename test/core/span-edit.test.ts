import { findNodeAtLocation, type JSONPath, type Node, parseTree } from "jsonc-parser"
import { describe, expect, test } from "vitest"
import {
  applyEdits,
  insertFirstDocument,
  insertMembers,
  type Json,
  type Member,
  removeMembers,
  replaceValue,
} from "../../src/core/span-edit.ts"

const M = "// skill_management"

function nodeAt(text: string, path: JSONPath): Node {
  const root = parseTree(text.replace(/^\ufeff/, " "), [], { allowTrailingComma: true })
  const node = root && findNodeAtLocation(root, path)
  if (!node) throw new Error(`no node at ${path.join(".")}`)
  return node
}

const insert = (text: string, path: JSONPath, ...members: Member[]) =>
  applyEdits(text, insertMembers(text, nodeAt(text, path), members))
const remove = (text: string, path: JSONPath, indexes: number[], marker?: string) =>
  applyEdits(text, removeMembers(text, nodeAt(text, path), indexes, marker))

const member = (key: string, value: Json = 9): Member => ({ key, value })
const marked = (key: string, value: Json = 9): Member => ({ key, value, marker: M })
const rule = (effect: string): Json => ({ action: "skill", resource: "pdf", effect })

type InsertCase = [name: string, before: string, path: JSONPath, members: Member[], after: string]

const behindMembers: InsertCase[] = [
  ["multi-line", '{\n  "a": 1\n}\n', [], [member("n")], '{\n  "a": 1,\n  "n": 9\n}\n'],
  ["several, in order", '{\n  "a": 1\n}', [], [member("n"), member("m")], '{\n  "a": 1,\n  "n": 9,\n  "m": 9\n}'],
  ["trailing comma", '{\n  "a": 1,\n}', [], [member("n")], '{\n  "a": 1,\n  "n": 9,\n}'],
  ["tabs", '{\n\t"a": 1\n}', [], [member("n")], '{\n\t"a": 1,\n\t"n": 9\n}'],
  ["CRLF", '{\r\n  "a": 1\r\n}\r\n', [], [member("n")], '{\r\n  "a": 1,\r\n  "n": 9\r\n}\r\n'],
  ["CR", '{\r  "a": 1\r}\r', [], [member("n")], '{\r  "a": 1,\r  "n": 9\r}\r'],
  ["mixed line ends", '{\n  "a": 1\r\n}\n', [], [member("n")], '{\n  "a": 1,\r\n  "n": 9\r\n}\n'],
  ["BOM", '\ufeff{\n  "a": 1\n}', [], [member("n")], '\ufeff{\n  "a": 1,\n  "n": 9\n}'],
  ["one line", '{ "a": 1 }', [], [member("n")], '{ "a": 1, "n": 9 }'],
  ["one line, unpadded", '{"a": 1}', [], [member("n")], '{"a": 1, "n": 9}'],
  ["one line, trailing comma", '{ "a": 1, }', [], [member("n")], '{ "a": 1, "n": 9, }'],
  ["minified", '{"a":1}', [], [member("n"), member("m")], '{"a":1,"n":9,"m":9}'],
  ["minified, trailing comma", '{"a":1,}', [], [member("n")], '{"a":1,"n":9,}'],
  ["one line takes no marker", '{ "a": 1 }', [], [marked("n")], '{ "a": 1, "n": 9 }'],
  ["marker", '{\n  "a": 1\n}', [], [marked("n"), marked("m")], `{\n  "a": 1,\n  "n": 9, ${M}\n  "m": 9 ${M}\n}`],
  ["marker behind the trailing comma", '{\n  "a": 1,\n}', [], [marked("n")], `{\n  "a": 1,\n  "n": 9, ${M}\n}`],
  [
    "brace on the last member's line: its member takes no marker",
    '{\n  "a": 1 }',
    [],
    [marked("n"), marked("m")],
    `{\n  "a": 1,\n  "n": 9, ${M}\n  "m": 9 }`,
  ],
  ["line comment stays with its member", '{\n  "a": 1 // x\n}', [], [member("n")], '{\n  "a": 1, // x\n  "n": 9\n}'],
  ["… with trailing comma", '{\n  "a": 1, // x\n}', [], [member("n")], '{\n  "a": 1, // x\n  "n": 9,\n}'],
  ["line comment in a one-line form", '{ "a": 1 // x\n}', [], [member("n")], '{ "a": 1, // x\n  "n": 9\n}'],
  ["block comment, multi-line", '{\n  "a": 1 /* x */\n}', [], [member("n")], '{\n  "a": 1, /* x */\n  "n": 9\n}'],
  [
    "block comment before the comma",
    '{\n  "a": 1 /* x */,\n}',
    [],
    [member("n")],
    '{\n  "a": 1 /* x */,\n  "n": 9,\n}',
  ],
  ["block comment, one line", '{ "a": 1 /* x */ }', [], [member("n")], '{ "a": 1 /* x */, "n": 9 }'],
  ["comma on the next line", '{\n  "a": 1\n  , // x\n}', [], [member("n")], '{\n  "a": 1\n  , // x\n  "n": 9,\n}'],
  [
    "dangling comments stay behind",
    '{\n  "a": 1\n  // "b": 2\n}',
    [],
    [member("n")],
    '{\n  "a": 1,\n  "n": 9\n  // "b": 2\n}',
  ],
  ["blank line stays behind", '{\n  "a": 1\n\n}', [], [member("n")], '{\n  "a": 1,\n  "n": 9\n\n}'],
  ["blanks at the line's end stay there", '{\n  "a": 1 \n}', [], [member("n")], '{\n  "a": 1, \n  "n": 9\n}'],
  [
    "leading commas",
    '{\n    "a": 1\n  , "b": 2\n}',
    [],
    [marked("n"), member("m")],
    `{\n    "a": 1\n  , "b": 2\n  , "n": 9 ${M}\n  , "m": 9\n}`,
  ],
  ["leading commas, brace line", '{ "a": 1\n, "b": 2\n}', [], [member("n")], '{ "a": 1\n, "b": 2\n, "n": 9\n}'],
  [
    "leading comma and comment",
    '{\n  "a": 1\n, "b": 2 // x\n}',
    [],
    [member("n")],
    '{\n  "a": 1\n, "b": 2 // x\n, "n": 9\n}',
  ],
  [
    "dangling comment below a one-line form",
    '{ "a": 1\n  /* x */\n}',
    [],
    [member("n")],
    '{ "a": 1, "n": 9\n  /* x */\n}',
  ],
  ["one-line form, brace below", '{ "a": 1,\n}', [], [member("n")], '{ "a": 1, "n": 9,\n}'],
  ["one-line form, blank before the comma", '{ "a": 1 , }', [], [member("n")], '{ "a": 1 , "n": 9, }'],
  ["one-line form, comma on the next line", '{ "a": 1\n, }', [], [member("n")], '{ "a": 1\n,\n  "n": 9, }'],
  [
    "one-line form, a comment above the comma",
    '{ "a": 1\n// x\n, }',
    [],
    [member("n")],
    '{ "a": 1\n// x\n,\n  "n": 9, }',
  ],
  [
    "two on a line and a line comment",
    '{\n  "a": 1, "b": 2 // x\n}',
    [],
    [member("n")],
    '{\n  "a": 1, "b": 2, // x\n  "n": 9\n}',
  ],
  ["brace on the last line, CRLF", '{\r\n  "a": 1 }', [], [member("n")], '{\r\n  "a": 1,\r\n  "n": 9 }'],
  [
    "brace on the last line, mixed line ends",
    '{\n  "a": 1,\r\n  "b": 2 }',
    [],
    [member("n")],
    '{\n  "a": 1,\r\n  "b": 2,\r\n  "n": 9 }',
  ],
  ["two on a line", '{\n  "a": 1, "b": 2\n}', [], [member("n")], '{\n  "a": 1, "b": 2, "n": 9\n}'],
  [
    "on a shared line",
    '{\n  "o": { "a": 1 }, "b": 2\n}',
    ["o"],
    [member("n")],
    '{\n  "o": { "a": 1, "n": 9 }, "b": 2\n}',
  ],
  ["blank before the colon", '{\n  "a" : 1\n}', [], [member("n")], '{\n  "a" : 1,\n  "n" : 9\n}'],
  ["tight colon, multi-line", '{\n  "a":1\n}', [], [member("n")], '{\n  "a":1,\n  "n":9\n}'],
  ["aligned colons", '{\n  "abc": 1,\n  "b"  : 2\n}', [], [member("n")], '{\n  "abc": 1,\n  "b"  : 2,\n  "n": 9\n}'],
  ["aligned by one blank", '{\n  "ab": 1,\n  "b" : 2\n}', [], [member("n")], '{\n  "ab": 1,\n  "b" : 2,\n  "n": 9\n}'],
  ["aligned values", '{\n  "abc": 1,\n  "b":   2\n}', [], [member("n")], '{\n  "abc": 1,\n  "b":   2,\n  "n": 9\n}'],
  [
    "aligned colons, the shortest run last",
    '{\n  "b"  : 2,\n  "abc": 1\n}',
    [],
    [member("n")],
    '{\n  "b"  : 2,\n  "abc": 1,\n  "n": 9\n}',
  ],
  ["a run of blanks behind the colon", '{\n  "a":   1\n}', [], [member("n")], '{\n  "a":   1,\n  "n": 9\n}'],
  ["comment behind the colon", '{\n  "a":/* x */1\n}', [], [member("n")], '{\n  "a":/* x */1,\n  "n": 9\n}'],
  ["comment at the colon", '{\n  "a" /* x */ : 1\n}', [], [member("n")], '{\n  "a" /* x */ : 1,\n  "n": 9\n}'],
  [
    "placeholders stay text",
    '{"a":1}',
    [],
    [member("{env:X}", "{file:y} {z}")],
    '{"a":1,"\\u007benv:X}":"\\u007bfile:y} {z}"}',
  ],
  [
    "new section",
    '{\n  "a": 1\n}',
    [],
    [marked("p", { skill: { x: "deny", y: "ask" } })],
    `{\n  "a": 1,\n  "p": {\n    "skill": {\n      "x": "deny",\n      "y": "ask" ${M}\n    }\n  }\n}`,
  ],
  [
    "new section with trailing commas and tabs",
    '{\n\t"a": 1,\n}',
    [],
    [marked("p", { x: "deny" })],
    `{\n\t"a": 1,\n\t"p": {\n\t\t"x": "deny", ${M}\n\t},\n}`,
  ],
  ["new section, one line", '{ "a": 1 }', [], [marked("p", { x: "deny" })], '{ "a": 1, "p": { "x": "deny" } }'],
  [
    "new section, indented as the nearest container",
    '{\n    "o": {\n      "a": 1\n    }\n}',
    ["o"],
    [member("p", { x: "deny" })],
    '{\n    "o": {\n      "a": 1,\n      "p": {\n        "x": "deny"\n      }\n    }\n}',
  ],
  [
    "new section, one line of several",
    '{\n  "o": {"a": 1}\n}',
    ["o"],
    [member("p", { x: "y" })],
    '{\n  "o": {"a": 1, "p": {"x": "y"}}\n}',
  ],
  [
    "new section, one line, a run of blanks",
    '{  "a": 1 }',
    [],
    [member("p", { x: "y" })],
    '{  "a": 1, "p": { "x": "y" } }',
  ],
  ["new section, minified", '{"a":1}', [], [member("p", { s: { x: "deny" } })], '{"a":1,"p":{"s":{"x":"deny"}}}'],
  [
    "new list of rules",
    '{\n  "a": 1\n}',
    [],
    [marked("permissions", [rule("ask"), rule("deny")])],
    `{\n  "a": 1,\n  "permissions": [\n    { "action": "skill", "resource": "pdf", "effect": "ask" },\n` +
      `    { "action": "skill", "resource": "pdf", "effect": "deny" } ${M}\n  ]\n}`,
  ],
  ["array", "[\n  1\n]", [], [{ value: 2, marker: M }], `[\n  1,\n  2 ${M}\n]`],
  ["array, one line", "[1, 2]", [], [{ value: 3 }], "[1, 2, 3]"],
  ["array, one line, tight", "[1,2]", [], [{ value: 3 }], "[1,2,3]"],
  ["array, one line, a tab", "[1,\t2]", [], [{ value: 3 }], "[1,\t2,\t3]"],
  ["array, one line, a run of blanks", "[1,  2]", [], [{ value: 3 }], "[1,  2, 3]"],
  ["array, one line, as the last comma", "[1,2, 3]", [], [{ value: 4 }], "[1,2, 3, 4]"],
  ["array, one line, a comment behind the comma", "[1,/* x y */2]", [], [{ value: 3 }], "[1,/* x y */2, 3]"],
  ["array, one line, an object", '{ "p": [1] }', ["p"], [{ value: { x: "y" } }], '{ "p": [1, { "x": "y" }] }'],
  ["array, one line, null", "[1, 2]", [], [{ value: null }], "[1, 2, null]"],
  ["array, one line, one element", '{"a": [1]}', ["a"], [{ value: 3 }], '{"a": [1, 3]}'],
  ["array, minified", '{"a":[1]}', ["a"], [{ value: 3 }], '{"a":[1,3]}'],
  [
    "array element copies the shape",
    '[\n  {"effect": "ask",  "action":"edit", "resource": "*"}\n]',
    [],
    [{ value: rule("deny"), marker: M }],
    `[\n  {"effect": "ask",  "action":"edit", "resource": "*"},\n  {"effect": "deny",  "action":"skill", "resource": "pdf"} ${M}\n]`,
  ],
  [
    "array element copies the shape over lines",
    '[{\n  "action": "edit",\n  "resource": "*",\n  "effect": "ask",\n}]',
    [],
    [{ value: rule("deny") }],
    '[{\n  "action": "edit",\n  "resource": "*",\n  "effect": "ask",\n}, {\n  "action": "skill",\n  "resource": "pdf",\n  "effect": "deny",\n}]',
  ],
  [
    "array element beside other keys",
    '[\n  { "action": "edit", "effect": "ask" }\n]',
    [],
    [{ value: rule("deny") }],
    '[\n  { "action": "edit", "effect": "ask" },\n  { "action": "skill", "resource": "pdf", "effect": "deny" }\n]',
  ],
  [
    "array element beside a comment",
    '[\n  {\n    "action": "edit", // x\n    "resource": "//",\n    "effect": "ask"\n  }\n]',
    [],
    [{ value: rule("deny") }],
    '[\n  {\n    "action": "edit", // x\n    "resource": "//",\n    "effect": "ask"\n  },\n  { "action": "skill", "resource": "pdf", "effect": "deny" }\n]',
  ],
  [
    "array element copies the shape, strings with a slash and all",
    '[{"effect":"ask", "action":"a/b"}]',
    [],
    [{ value: { action: "skill", effect: "deny" } }],
    '[{"effect":"ask", "action":"a/b"},{"effect":"deny", "action":"skill"}]',
  ],
  [
    "array element beside one with a duplicate key",
    '[{ "a": "x", "a": "y" }]',
    [],
    [{ value: { a: "z" } }],
    '[{ "a": "x", "a": "y" }, { "a": "z" }]',
  ],
  ["array element, minified", '[{"a":1}]', [], [{ value: { b: "x", c: "y" } }], '[{"a":1},{"b":"x","c":"y"}]'],
]

const intoEmpty: InsertCase[] = [
  ["root", "{}\n", [], [marked("n")], `{\n  "n": 9 ${M}\n}\n`],
  ["multi-line document", '{\n    "o": {}\n}', ["o"], [marked("n")], `{\n    "o": {\n        "n": 9 ${M}\n    }\n}`],
  ["blank", '{\n  "o": { }\n}', ["o"], [member("n")], '{\n  "o": {\n    "n": 9\n  }\n}'],
  ["over two lines", '{\n  "o": {\n  }\n}', ["o"], [member("n")], '{\n  "o": {\n    "n": 9\n  }\n}'],
  ["blank line", '{\n  "o": {\n\n  }\n}', ["o"], [member("n")], '{\n  "o": {\n    "n": 9\n  }\n}'],
  ["block comment", '{\n  "o": { /* c */ }\n}', ["o"], [member("n")], '{\n  "o": { /* c */\n    "n": 9\n  }\n}'],
  [
    "block comment on the brace's line",
    '{\n  "o": {\n    /* c */ }\n}',
    ["o"],
    [member("n")],
    '{\n  "o": {\n    /* c */\n    "n": 9\n  }\n}',
  ],
  ["line comment", '{\n  "o": { // c\n }\n}', ["o"], [member("n")], '{\n  "o": { // c\n    "n": 9\n }\n}'],
  ["comment line", '{\n  "o": {\n    // c\n  }\n}', ["o"], [member("n")], '{\n  "o": {\n    // c\n    "n": 9\n  }\n}'],
  ["CRLF, trailing commas", '{\r\n  "o": {},\r\n}', ["o"], [member("n")], '{\r\n  "o": {\r\n    "n": 9,\r\n  },\r\n}'],
  ["array", '{\n  "o": []\n}', ["o"], [{ value: 1 }], '{\n  "o": [\n    1\n  ]\n}'],
  ["minified", '{"p":{"skill":{}}}', ["p", "skill"], [marked("n")], '{"p":{"skill":{"n":9}}}'],
  ["one line", '{ "p": {} }', ["p"], [member("n")], '{ "p": { "n": 9 } }'],
  ["one line, final line break", '{ "p": {} }\n', ["p"], [member("n")], '{ "p": { "n": 9 } }\n'],
  ["in an array", "[\n    [],\n    1\n]", [0], [{ value: 2 }], "[\n    [\n        2\n    ],\n    1\n]"],
  [
    "indented as a container elsewhere",
    '{ "o": {\n\t"a": 1\n}, "p": {} }',
    ["p"],
    [member("n")],
    '{ "o": {\n\t"a": 1\n}, "p": {\n\t"n": 9\n} }',
  ],
  [
    "indented as a container whose lines agree",
    '{\n  "o": {\n\t  "a": {}\n  }\n}',
    ["o", "a"],
    [member("n")],
    '{\n  "o": {\n\t  "a": {\n\t    "n": 9\n\t  }\n  }\n}',
  ],
  ["one line, comment", '{ "p": { /* c */ } }', ["p"], [member("n")], '{ "p": { /* c */ "n": 9 } }'],
  ["one line, array", '{ "p": [] }', ["p"], [{ value: 1 }, { value: 2 }], '{ "p": [1, 2] }'],
  [
    "new section",
    '{\n\t"o": {}\n}',
    ["o"],
    [marked("s", { x: "deny" })],
    `{\n\t"o": {\n\t\t"s": {\n\t\t\t"x": "deny" ${M}\n\t\t}\n\t}\n}`,
  ],
]

describe("insertMembers", () => {
  test.each(behindMembers)("behind members: %s", (_, before, path, members, after) => {
    expect(insert(before, path, ...members)).toBe(after)
  })
  test.each(intoEmpty)("into an empty container: %s", (_, before, path, members, after) => {
    expect(insert(before, path, ...members)).toBe(after)
  })
  test("nothing to insert", () => expect(insert("{ }", [])).toBe("{ }"))
})

type RemoveCase = [name: string, before: string, path: JSONPath, indexes: number[], after: string, marker?: string]

const removals: RemoveCase[] = [
  ["first", '{\n  "a": 1,\n  "b": 2\n}', [], [0], '{\n  "b": 2\n}'],
  ["last takes the comma before it", '{\n  "a": 1,\n  "b": 2\n}', [], [1], '{\n  "a": 1\n}'],
  ["last, trailing comma", '{\n  "a": 1,\n  "b": 2,\n}', [], [1], '{\n  "a": 1,\n}'],
  ["middle", '{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}', [], [1], '{\n  "a": 1,\n  "c": 3\n}'],
  ["adjacent", '{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}', [], [0, 1], '{\n  "c": 3\n}'],
  ["adjacent at the end", '{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}', [], [2, 1], '{\n  "a": 1\n}'],
  ["first and last", '{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}', [], [0, 2], '{\n  "b": 2\n}'],
  ["all", '{\n  "a": 1,\n  "b": 2\n}', [], [0, 1], "{\n}"],
  ["all, one line", '{ "a": 1, "b": 2 }', [], [0, 1], "{ }"],
  ["all, trailing comma", "[1, 2,]", [], [0, 1], "[]"],
  ["none, unknown and repeated indexes", '{ "a": 1 }', [], [5, -1, 5], '{ "a": 1 }'],
  ["one line, first", '{ "a": 1, "b": 2 }', [], [0], '{ "b": 2 }'],
  ["one line, first, unpadded", '{"a": 1, "b": 2}', [], [0], '{"b": 2}'],
  ["one line, middle", "[1, 2, 3]", [], [1], "[1, 3]"],
  ["one line, middle, blank before the comma", "[1, 2 , 3]", [], [1], "[1, 3]"],
  ["one line, middle, blank behind only", "[1,2, 3]", [], [1], "[1, 3]"],
  ["one line, middle, comments between", "[1, /* x */ 2, /* y */ 3]", [], [1], "[1, /* x */ /* y */ 3]"],
  ["one line, last", '{ "a": 1, "b": 2 }', [], [1], '{ "a": 1 }'],
  ["one line, last, trailing comma", '{ "a": 1, "b": 2, }', [], [1], '{ "a": 1, }'],
  ["minified", '{"a":1,"b":2,"c":3}', [], [0, 2], '{"b":2}'],
  ["brace on the line", '{\n  "a": 1,\n  "b": 2 }', [], [1], '{\n  "a": 1 }'],
  ["two, brace on the line", '{\n  "a": 1,\n  "b": 2,\n  "c": 3 }', [], [1, 2], '{\n  "a": 1 }'],
  ["brace on the line, CRLF", '{\r\n  "a": 1,\r\n  "b": 2 }', [], [1], '{\r\n  "a": 1 }'],
  ["brace on the line, trailing comma", '{\n  "a": 1,\n  "b": 2, }', [], [1], '{\n  "a": 1, }'],
  ["brace on the line behind a line comment", '{\n  "a": 1, // x\n  "b": 2 }', [], [1], '{\n  "a": 1 // x\n  }'],
  ["comments above stay", '{\n  // x\n  "a": 1,\n  // y\n  "b": 2\n}', [], [1], '{\n  // x\n  "a": 1\n  // y\n}'],
  ["comment of the one before stays there", '{\n  "a": 1, // x\n  "b": 2\n}', [], [1], '{\n  "a": 1 // x\n}'],
  ["marker goes along", `{\n  "a": 1, ${M}\n  "b": 2 ${M}\n}`, [], [1], `{\n  "a": 1 ${M}\n}`, M],
  ["marker goes along with its comma", `{\n  "a": 1, ${M}\n  "b": 2\n}`, [], [0], '{\n  "b": 2\n}', M],
  ["marker on a line of its own stays", `{\n  "a": 1,\n  "b": 2\n  ${M}\n}`, [], [1], `{\n  "a": 1\n  ${M}\n}`, M],
  ["other comments stay", `{\n  "a": 1, ${M}!\n  "b": 2\n}`, [], [0], `{\n  ${M}!\n  "b": 2\n}`, M],
  ["marker unasked stays", `{\n  "a": 1, ${M}\n  "b": 2\n}`, [], [0], `{\n  ${M}\n  "b": 2\n}`],
  ["comment before the comma stays", '{\n  "a": 1 /* x */,\n  "b": 2\n}', [], [0], '{\n  /* x */\n  "b": 2\n}'],
  [
    "comments in it stay",
    '{\n  "a" /* x */ : /* y */ 1, // z\n  "b": 2\n}',
    [],
    [0],
    '{\n  /* x */ /* y */ // z\n  "b": 2\n}',
  ],
  ["… one line", '{ "a": 1, "b" /* x */ : 2 }', [], [1], '{ "a": 1 /* x */ }'],
  ["… before the brace", '{ "a": 1, "b": // x\n 2 }', [], [1], '{ "a": 1 // x\n }'],
  ["… before another", '{\n  "a": // x\n    1, "b": 2\n}', [], [0], '{\n  // x\n    "b": 2\n}'],
  [
    "… in an element",
    '[\n  {\n    // x\n    "a": 1, // y\n    "b": 2\n  },\n  3\n]',
    [],
    [0],
    "[\n    // x\n    // y\n  3\n]",
  ],
  ["… in an element alone", '[{ "a": 1 /* x */ }]', [], [0], "[ /* x */]"],
  ["… but for the marker", `{\n  "o": {\n    "a": 1 ${M}\n  },\n  "b": 2\n}`, [], [0], '{\n  "b": 2\n}', M],
  ["comma on a line of its own", '{\n  "a": 1\n  ,\n  "b": 2\n}', [], [1], '{\n  "a": 1\n}'],
  [
    "comma on a line of its own, comments behind",
    '{\n  "a": 1\n  , // x\n  "b": 2\n  , // y\n  "c": 3\n}',
    [],
    [1],
    '{\n  "a": 1\n  , // x\n  // y\n  "c": 3\n}',
  ],
  [
    "comma and comment on a line of their own, member on the brace's line",
    '{ "a": 1, "b": 2\n, // x\n"c": 3\n}',
    [],
    [1],
    '{ "a": 1,\n// x\n"c": 3\n}',
  ],
  ["leading commas, first", '{\n    "a": 1\n  , "b": 2\n}', [], [0], '{\n    "b": 2\n}'],
  ["leading commas, middle", '{\n    "a": 1\n  , "b": 2\n  , "c": 3\n}', [], [1], '{\n    "a": 1\n  , "c": 3\n}'],
  ["leading commas, last", `{\n    "a": 1\n  , "b": 2 ${M}\n}`, [], [1], '{\n    "a": 1\n}', M],
  ["leading commas on the brace's line", '{ "a": 1\n, "b": 2\n}', [], [0], '{ "b": 2\n}'],
  ["CRLF", '{\r\n  "a": 1,\r\n  "b": 2\r\n}', [], [1], '{\r\n  "a": 1\r\n}'],
  ["CR", '{\r  "a": 1,\r  "b": 2\r}', [], [0], '{\r  "b": 2\r}'],
  ["over several lines", '{\n  "o": {\n    "a": 1\n  },\n  "b": 2\n}', [], [0], '{\n  "b": 2\n}'],
  ["blanks at a surviving line's end", '{\n  "a": 1, \n  "b": 2\n}', [], [1], '{\n  "a": 1 \n}'],
  ["two on a line, first", '{\n  "a": 1, "b": 2\n}', [], [0], '{\n  "b": 2\n}'],
  ["two on a line, last, blanks before the comment", '{\n  "a": 1, "b": 2,  // x\n}', [], [1], '{\n  "a": 1,  // x\n}'],
  ["two on a line, last", '{\n  "a": 1, "b": 2 // x\n}', [], [1], '{\n  "a": 1 // x\n}'],
]

describe("removeMembers", () => {
  test.each(removals)("%s", (_, before, path, indexes, after, marker) => {
    expect(remove(before, path, indexes, marker)).toBe(after)
  })
})

describe("replaceValue", () => {
  const cases: [string, string, JSONPath, Json, string][] = [
    ["literal", '{ "a": "x" /* c */ }', ["a"], "{env:Y}", '{ "a": "\\u007benv:Y}" /* c */ }'],
    ["map", '{\n  "s": "ask", // c\n}', ["s"], { x: "deny" }, '{\n  "s": {\n    "x": "deny",\n  }, // c\n}'],
    [
      "map on one line",
      '{\n  "p": { "s": "ask" }\n}',
      ["p", "s"],
      { x: "deny" },
      '{\n  "p": { "s": { "x": "deny" } }\n}',
    ],
    ["map, minified", '{"s":"ask"}', ["s"], { "*": "ask", x: "deny" }, '{"s":{"*":"ask","x":"deny"}}'],
    ["element", '[{"a":"x"}]', [0], { a: "y" }, '[{"a":"y"}]'],
    ["element on a line of its own", '[\n  { "a": "x" }\n]', [0], { a: "y" }, '[\n  { "a": "y" }\n]'],
    ["root", '"x"', [], { a: "y" }, '{\n  "a": "y"\n}'],
  ]
  test.each(cases)("%s", (_, before, path, value, after) => {
    expect(applyEdits(before, [replaceValue(nodeAt(before, path), value, before)])).toBe(after)
  })
})

describe("insertFirstDocument", () => {
  const cases: [string, string, Member[], string][] = [
    ["empty", "", [marked("p", { x: "deny" })], `{\n  "p": {\n    "x": "deny" ${M}\n  }\n}\n`],
    ["line break", "\r\n", [member("n")], '{\r\n  "n": 9\r\n}\r\n'],
    ["BOM", "\ufeff", [member("n")], '\ufeff{\n  "n": 9\n}\n'],
    ["BOM and line break", "\ufeff\n", [member("n")], '\ufeff{\n  "n": 9\n}\n'],
    ["comment", "// c\n", [member("n")], '// c\n{\n  "n": 9\n}\n'],
    ["comment without line break", "\ufeff// c", [member("n")], '\ufeff// c\n{\n  "n": 9\n}\n'],
    ["comments without a final line break", "// c\n// d", [member("n")], '// c\n// d\n{\n  "n": 9\n}\n'],
    ["comment and blanks", "// c\n  ", [member("n")], '// c\n  {\n  "n": 9\n}\n'],
    ["no members", "", [], "{}\n"],
  ]
  test.each(cases)("%s", (_, before, members, after) => {
    expect(applyEdits(before, insertFirstDocument(before, members))).toBe(after)
  })
})
