import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { inverseOf, takenBack } from "../../src/core/inverse.ts"

describe("the inverse of an edit", () => {
  it.each([
    ["a rule more", '{ "a": 1 }', '{ "a": 1, "b": 2 }', { inserted: ', "b": 2', replaced: "" }],
    ["another value", '{ "a": "deny" }', '{ "a": "ask" }', { inserted: "ask", replaced: "deny" }],
    ["a new file", null, "{}", { inserted: "{}", replaced: null }],
    ["a file gone", "{}", null, { inserted: null, replaced: "{}" }],
  ])("%s", (_, before, after, inverse) => {
    expect(inverseOf(before, after)).toEqual(inverse)
    expect(takenBack(after, inverse)).toBe(before)
  })

  it("of a rule that was taken out names what stands around it", () => {
    const before = '{\n  "first": 1,\n  "gone": 2,\n  "last": 3\n}'
    const after = '{\n  "first": 1,\n  "last": 3\n}'
    expect(takenBack(`// new\n${after}\n// more`, inverseOf(before, after))).toBe(`// new\n${before}\n// more`)
  })

  it("of a rule on a line of its own is that whole line, so that nothing written behind it is left to another", () => {
    const before = '{\n  "a": 1 // ours\n}\n'
    const after = '{\n  "a": 1, // ours\n  "b": 1 // ours\n}\n'
    const inverse = inverseOf(before, after)
    expect(takenBack(`${after}// more\n`, inverse)).toBe(`${before}// more\n`)
    expect(takenBack(after.replace('"b": 1 // ours', '"b": 1 // ours, for b'), inverse)).toBeUndefined()
  })

  it("finds its text wherever it has moved, and only when it stands there once", () => {
    const inverse = { inserted: ' "b": 2,', replaced: "" }
    expect(takenBack('{ "new": 0, "b": 2, "c": 3 }', inverse)).toBe('{ "new": 0, "c": 3 }')
    expect(takenBack('{ "new": 0, "c": 3 }', inverse)).toBeUndefined()
    expect(takenBack('{ "b": 2, "b": 2, "c": 3 }', inverse)).toBeUndefined()
    expect(takenBack(null, inverse)).toBeUndefined()
  })

  const text = fc.string({ unit: fc.constantFrom("a", "b", "\n", "é", "😀"), maxLength: 12 })
  it("leads back, for any two texts", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        expect(takenBack(after, inverseOf(before, after))).toBe(before)
      }),
      { numRuns: 5_000 },
    )
  })
})
