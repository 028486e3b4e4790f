import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { member, parseJsonc, positionAt, properties, readConfigText } from "../../src/core/config-text.ts"
import type { Substitute } from "../../src/core/references.ts"

const nothing: Substitute = () => undefined
const given =
  (values: Record<string, string>): Substitute =>
  (kind, name) =>
    values[`${kind}:${name}`]

const read = (raw: string, values: Record<string, string> = {}) => readConfigText(raw, given(values))

/** Where the host's view has the value of a top-level key, in the raw text. */
function placeOf(text: ReturnType<typeof read>, key: string) {
  const node = member(text.tree, key)
  if (!node) throw new Error(`no ${key}`)
  return text.position(node.offset)
}

describe("what counts as a config", () => {
  test("a text of 0 bytes is empty and no error", () => {
    const text = read("")
    expect([text.raw, text.tree, text.rawTree, text.error]).toEqual(["", undefined, undefined, null])
  })

  test("so is a byte order mark alone (OpenCode 1.18.34 starts on it)", () => {
    expect(read("\ufeff").error).toBe(null)
  })

  test.each([" ", "\n", " \r\n\t", "// nothing", "// nothing\n", "/* nothing */"])(
    "%j is an error, as it stops the host",
    (raw) => {
      const text = read(raw)
      expect(text.tree).toBeUndefined()
      expect(text.error?.reason).toBe("ValueExpected")
    },
  )

  test.each<[name: string, raw: string, line: number, column: number]>([
    ["an array", "[]", 1, 1],
    ["an array on a later line", "// x\n  []", 2, 3],
    ["a string", '"x"', 1, 1],
    ["null", "null", 1, 1],
  ])("%s is an error, as it stops the host", (_, raw, line, column) => {
    const text = read(raw)
    expect(text.tree).toBeUndefined()
    expect(text.rawTree).toBeUndefined()
    expect(text.error).toEqual({ line, column, reason: "ObjectExpected" })
  })

  test.each<[name: string, raw: string]>([
    ["plain", '{"a":1}'],
    ["line comment", '{\n  // x\n  "a": 1\n}'],
    ["block comment", '/* x */ {"a": /* y */ 1}'],
    ["trailing comma", '{"a": 1,}'],
    ["byte order mark", '\ufeff{"a":1}'],
    ["CRLF", '{\r\n  "a": 1\r\n}\r\n'],
    ["text after the object", '{"a":1}\n// end\n'],
  ])("accepted: %s", (_, raw) => {
    const text = read(raw)
    expect(text.error).toBe(null)
    expect(member(text.tree, "a")?.value).toBe(1)
    expect(text.rawTree).toBe(text.tree)
  })

  test.each<[name: string, raw: string, line: number, column: number]>([
    ["a missing value", '{\n  "a": \n}', 3, 1],
    ["a missing colon", '{\n  "a" 1\n}', 2, 7],
    ["an unclosed object", '{"a": 1', 1, 8],
    ["two objects", "{}\n{}", 2, 1],
    ["a bare word", '{\n\t"a": deny\n}', 2, 7],
    ["a missing comma", '{\n  "a": 1\n  "b": 2\n}', 3, 3],
    ["behind a byte order mark", '\ufeff{"a": x}', 1, 8],
    ["CRLF", '{\r\n  "a": x\r\n}', 2, 8],
    ["CR", '{\r  "a": x\r}', 2, 8],
  ])("refused, with its place: %s", (_, raw, line, column) => {
    const text = read(raw)
    expect(text.error).toMatchObject({ line, column })
    expect(text.error?.reason).toMatch(/^[A-Z][A-Za-z]+$/)
    expect(text.tree).toBeUndefined()
    expect(text.rawTree).toBeUndefined()
  })
})

describe("places count lines and columns from 1", () => {
  test.each<[text: string, offset: number, line: number, column: number]>([
    ["", 0, 1, 1],
    ["abc", 2, 1, 3],
    ["a\nb", 2, 2, 1],
    ["a\r\nb", 3, 2, 1],
    ["a\rb", 2, 2, 1],
    ["a\n\rb", 3, 3, 1],
    ["a\r\n\r\nbc", 6, 3, 2],
    ["😀x", 2, 1, 3],
    ["a\n", 2, 2, 1],
  ])("%j at %i is %i:%i", (text, offset, line, column) => {
    expect(positionAt(text, offset)).toEqual({ line, column })
  })

  test.each<[name: string, raw: string, line: number, column: number]>([
    ["LF", '{\n  "a": 1,\n  "key": 2\n}', 3, 10],
    ["CRLF", '{\r\n  "a": 1,\r\n  "key": 2\r\n}', 3, 10],
    ["CR", '{\r  "a": 1,\r  "key": 2\r}', 3, 10],
    ["a byte order mark is a column of the first line", '\ufeff{"key": 2}', 1, 10],
  ])("of a value: %s", (_, raw, line, column) => {
    expect(placeOf(read(raw), "key")).toEqual({ line, column })
  })
})

describe("references are replaced in the text, before it is parsed", () => {
  const values = {
    "env:E": "deny",
    "env:LONG": "a much longer text than the reference",
    "env:PAIR": '"x": 1, "y": 2',
    "env:LINES": '1,\n\n"z": 3',
    "env:K": "skill",
    "env:DIR": "/home/u",
    "file:./f": '  one\ntwo "three" \\ \n',
    "file:/home/u/f": "deny",
    "file:~/x": "home",
  }
  const readValue = (raw: string, key: string) => member(read(raw, values).tree, key)?.value

  test.each<[name: string, raw: string, key: string, value: unknown]>([
    ["a variable in a string", '{"a": "{env:E}"}', "a", "deny"],
    ["a variable within a string", '{"a": "<{env:E}>"}', "a", "<deny>"],
    ["an unset variable is nothing", '{"a": "<{env:NONE}>"}', "a", "<>"],
    ["a variable in a key", '{"{env:K}": 7}', "skill", 7],
    ["a variable that holds members", '{"a": 0, {env:PAIR}}', "y", 2],
    ["a variable in a comment does no harm", '{\n// {env:E}\n"a": 1}', "a", 1],
    ["a file, trimmed and escaped", '{"a": "{file:./f}"}', "a", 'one\ntwo "three" \\'],
    ["a file below home", '{"a": "{file:~/x}"}', "a", "home"],
    ["two on one line", '{"a": "{env:E}{env:E}"}', "a", "denydeny"],
    ["an escaped brace is no reference", '{"a": "\\u007benv:E}"}', "a", "{env:E}"],
    ["an empty name is no reference", '{"a": "{env:}"}', "a", "{env:}"],
    ["another word is no reference", '{"a": "{var:E}"}', "a", "{var:E}"],
    [
      "a file whose path holds a variable (OpenCode 1.18.34 replaces variables first)",
      '{"a": "{file:{env:DIR}/f}"}',
      "a",
      "deny",
    ],
  ])("%s", (_, raw, key, value) => {
    expect(read(raw, values).error).toBe(null)
    expect(readValue(raw, key)).toEqual(value)
  })

  test("raw text and host's view are kept apart", () => {
    const text = read('{"{env:K}": "{env:E}"}', values)
    expect(properties(text.tree).map(({ key, value }) => [key, value.value])).toEqual([["skill", "deny"]])
    expect(properties(text.rawTree).map(({ key, value }) => [key, value.value])).toEqual([["{env:K}", "{env:E}"]])
    expect(text.raw).toBe('{"{env:K}": "{env:E}"}')
  })

  test("only the view parses: there is no raw tree to edit", () => {
    const text = read('{"a": {env:N}}', { "env:N": "5" })
    expect([text.error, member(text.tree, "a")?.value, text.rawTree]).toEqual([null, 5, undefined])
  })

  test("only the raw text parses: an error, at the reference that broke it", () => {
    const text = read('{\n  "a": "{env:Q}"\n}', { "env:Q": 'x" y' })
    expect(text.error).toMatchObject({ line: 2, column: 9 })
    expect(text.tree).toBeUndefined()
  })

  test("a missing file is an error at its reference", () => {
    const text = read('{\n  "a": 1,\n  "b": "{file:./gone}"\n}')
    expect(text.error).toEqual({ line: 3, column: 9, reason: "FileReferenceMissing" })
    expect(text.tree).toBeUndefined()
  })

  test("… but not on a line that is a comment", () => {
    expect(read('{\n  // "b": "{file:./gone}"\n  "a": 1\n}').error).toBe(null)
    expect(read('// {file:./gone}\n{"a": 1}').error).toBe(null)
    expect(read('{\r\n\t// {file:./gone}\r\n  "a": 1\r\n}').error).toBe(null)
  })

  test("a comment behind a value does not protect a file reference", () => {
    expect(read('{\n  "a": 1 // {file:./gone}\n}').error).toMatchObject({ line: 2, reason: "FileReferenceMissing" })
  })

  test.each<[name: string, raw: string, key: string, line: number, column: number]>([
    ["in front of a reference", '{"key": 1, "a": "{env:LONG}"}', "key", 1, 9],
    ["behind a longer one", '{"a": "{env:LONG}", "key": 1}', "key", 1, 28],
    ["behind an empty one", '{"a": "{env:NONE}", "key": 1}', "key", 1, 28],
    ["behind several", '{"a": "{env:E}{env:LONG}{file:./f}", "key": 1}', "key", 1, 45],
    ["on a later line", '{\n  "a": "{env:LONG}",\n  "key": 1\n}', "key", 3, 10],
    ["behind one that brings line breaks", '{"a": {env:LINES},\n "key": 1}', "key", 2, 9],
    ["inside a reference: its start", "{ {env:PAIR} }", "y", 1, 3],
    ["the value that is the reference", '{"key": "{env:E}"}', "key", 1, 9],
  ])("places speak of the raw text: %s", (_, raw, key, line, column) => {
    expect(placeOf(read(raw, values), key)).toEqual({ line, column })
  })

  test("an error behind a reference has its place in the raw text", () => {
    expect(read('{"a": "{env:LONG}",\n "b": x}', values).error).toMatchObject({ line: 2, column: 7 })
  })

  test("texts without references never ask for any", () => {
    const asked: string[] = []
    readConfigText('{"a": "{x}", "b": "env:E"}', (_, name) => {
      asked.push(name)
      return undefined
    })
    expect(asked).toEqual([])
  })
})

describe("reading members", () => {
  const root = parseJsonc('{"a": 1, "b": {"c": 2}, "a": 3, "1": 4}')

  test("of duplicate keys the last counts", () => {
    expect(member(root, "a")?.value).toBe(3)
  })
  test("all properties, in written order", () => {
    expect(properties(root).map(({ key }) => key)).toEqual(["a", "b", "a", "1"])
  })
  test("nothing of what is no object", () => {
    expect(properties(parseJsonc('{"a": [1]}')?.children?.[0]?.children?.[1])).toEqual([])
    expect(properties(undefined)).toEqual([])
    expect(member(undefined, "a")).toBeUndefined()
    expect(member(root, "z")).toBeUndefined()
    expect(member(root, "toString")).toBeUndefined()
  })
  test("parseJsonc refuses what is no object or does not parse", () => {
    for (const text of ["", "[]", "1", "{", '{"a":}', "// x"]) expect(parseJsonc(text)).toBeUndefined()
  })
})

test("reading never throws, and an error always has a place inside the text", () => {
  const part = fc.constantFrom(
    "{",
    "}",
    "[",
    "]",
    '"',
    "a",
    ":",
    ",",
    "\n",
    "\r",
    "//",
    "/*",
    "*/",
    "{env:A}",
    "{file:b}",
    "\ufeff",
    "1",
    "\\",
    "{env:",
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 14 }), fc.option(fc.string({ maxLength: 6 })), (parts, value) => {
      const raw = parts.join("")
      const text = readConfigText(raw, value === null ? nothing : () => value)
      const lines = raw.split(/\r\n|\n|\r/)
      if (text.error) {
        expect(text.tree).toBeUndefined()
        expect(text.error.line).toBeGreaterThanOrEqual(1)
        expect(text.error.line).toBeLessThanOrEqual(lines.length)
        expect(text.error.column).toBeLessThanOrEqual((lines[text.error.line - 1] ?? "").length + 1)
      } else if (raw !== "" && raw !== "\ufeff") expect(text.tree?.type).toBe("object")
    }),
    { numRuns: 5_000, seed: 31 },
  )
})
