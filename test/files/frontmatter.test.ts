import { describe, expect, it } from "vitest"
import { normalizeBoolean, readFrontmatter, readSkillFlags } from "../../src/files/frontmatter.ts"

const TRUE = ["true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "1"]
const FALSE = ["false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "0"]
const NEITHER = [
  "",
  "null",
  "~",
  "maybe",
  "2",
  "-1",
  "10",
  "y",
  "n",
  "t",
  "truee",
  "enabled",
  "[true]",
  "{a: true}",
  "2026-01-01",
  "1e3",
  "01x",
]
const QUOTES: [string, (word: string) => string][] = [
  ["plain", (word) => word],
  ["in single quotes", (word) => `'${word}'`],
  ["in double quotes", (word) => `"${word}"`],
  ["with blanks around", (word) => `   ${word}   `],
  ["with blanks inside quotes", (word) => `" ${word} "`],
  ["before a comment", (word) => `${word} # why`],
]

const flagsOf = (line: string) => readSkillFlags(`---\nname: pdf\ndescription: d\n${line}\n---\nBody\n`)

describe("the switches of a skill", () => {
  describe.each(QUOTES)("%s", (_, quoted) => {
    it.each([...TRUE.map((word) => [word, true] as const), ...FALSE.map((word) => [word, false] as const)])(
      "%s is %s",
      async (word, value) => {
        expect(await flagsOf(`disable-model-invocation: ${quoted(word)}`)).toEqual({
          disableModelInvocation: value,
          autoinvoke: null,
        })
        expect(await flagsOf(`metadata:\n  opencode/autoinvoke: ${quoted(word)}`)).toEqual({
          disableModelInvocation: null,
          autoinvoke: value,
        })
        const inline = `metadata: {other: x, "opencode/autoinvoke": ${quoted(word).split(" #")[0]}}`
        expect((await flagsOf(inline)).autoinvoke).toBe(value)
      },
    )
  })

  it.each(NEITHER)("%j says nothing", async (word) => {
    expect((await flagsOf(`disable-model-invocation: ${word}`)).disableModelInvocation).toBeNull()
    expect((await flagsOf(`metadata:\n  opencode/autoinvoke: ${word}`)).autoinvoke).toBeNull()
  })

  it("are looked for in their own place only", async () => {
    const nothing = { disableModelInvocation: null, autoinvoke: null }
    expect(await flagsOf("metadata:\n  disable-model-invocation: true")).toEqual(nothing)
    expect(await flagsOf("opencode/autoinvoke: false")).toEqual(nothing)
    expect(await flagsOf("Disable-Model-Invocation: true")).toEqual(nothing)
    expect(await flagsOf("metadata: true")).toEqual(nothing)
    expect(await readSkillFlags("disable-model-invocation: true\n")).toEqual(nothing)
    expect(await readSkillFlags("# Skill\n---\ndisable-model-invocation: true\n---\n")).toEqual(nothing)
  })

  it("of two of the same name none counts: the host reads no such head (1.18.34)", async () => {
    const flags = await flagsOf("disable-model-invocation: true\ndisable-model-invocation: false")
    expect(flags.disableModelInvocation).toBeNull()
  })

  it.each<[string, string]>([
    ["CRLF", "---\r\ndisable-model-invocation: yes\r\n---\r\nBody\r\n"],
    ["a byte order mark", "\uFEFF---\ndisable-model-invocation: yes\n---\nBody\n"],
    ["blanks behind the dashes", "---  \ndisable-model-invocation: yes\n---\t\nBody\n"],
    ["no body", "---\ndisable-model-invocation: yes\n---"],
    ["dashes in the body", "---\ndisable-model-invocation: yes\n---\nBody\n---\ndisable-model-invocation: no\n---\n"],
    ["dashes in a value", "---\ndescription: a --- b\ndisable-model-invocation: yes\n---\n"],
  ])("in a file with %s", async (_, markdown) =>
    expect((await readSkillFlags(markdown)).disableModelInvocation).toBe(true),
  )

  it.each([
    "",
    "---",
    "---\n",
    "---\n---\n",
    "---\n\n---\n",
    "---\nnot: [closed\n---\n",
    "---\n\tbad: tab\n---\n",
    "---\n- a\n- list\n---\n",
    "---\njust text\n---\n",
    "---\nopen: true\n",
    "---\na: &a [*a]\n---\n",
    `---\n${"  ".repeat(0)}${Array.from({ length: 200 }, (_, i) => `${" ".repeat(i)}k:`).join("\n")}\n---\n`,
    `---\na: &a x\n${Array.from({ length: 30 }, (_, i) => `b${i}: [${"*a,".repeat(50)}]`).join("\n")}\n---\n`,
    "---\n? {a: b}\n: c\n---\n",
    "---\n__proto__: true\nconstructor: yes\n---\n",
  ])("%j holds none, and nothing is thrown", async (markdown) => {
    expect(await readSkillFlags(markdown)).toEqual({ disableModelInvocation: null, autoinvoke: null })
  })

  it("a merge key gives way to the keys beside it, before and after (1.18.34)", async () => {
    const autoinvoke = async (map: string) =>
      (await readSkillFlags(`---\nshared: &s\n  opencode/autoinvoke: false\nmetadata:\n${map}---\n`)).autoinvoke
    expect(await autoinvoke("  <<: *s\n")).toBe(false)
    expect(await autoinvoke("  opencode/autoinvoke: true\n  <<: *s\n")).toBe(true)
    expect(await autoinvoke("  <<: *s\n  opencode/autoinvoke: true\n")).toBe(true)
  })

  it("a place is that of the whole file", async () => {
    const { node, position } = await readFrontmatter("---\nname: pdf\npermission:\n  skill: deny\n---\n")
    const permission = node?.children?.[1]
    expect(permission && position(permission.offset)).toEqual({ line: 3, column: 1 })
    const crlf = await readFrontmatter("---\r\nname: pdf\r\npermission: {}\r\n---\r\n")
    const second = crlf.node?.children?.[1]
    expect(second && crlf.position(second.offset)).toEqual({ line: 3, column: 1 })
  })
})

describe("normalizeBoolean", () => {
  it.each<[unknown, boolean | null]>([
    [true, true],
    [false, false],
    [1, true],
    [0, false],
    ["1", true],
    [" YES ", true],
    ["oFf", false],
    [null, null],
    [undefined, null],
    [2, null],
    [Number.NaN, null],
    ["", null],
    [{}, null],
    [[], null],
    [["true", "x"], null],
  ])("%j is %s", (value, wanted) => expect(normalizeBoolean(value)).toBe(wanted))
})
