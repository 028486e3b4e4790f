import fc from "fast-check"
import { expect, test } from "vitest"
import { compareIds } from "../../src/core/order.ts"

test("ids stand in the order of their code points, whatever the UTF-16 units say", () => {
  const ids = ["", "B", "a", "a\u{1F600}", "é", "\ue000", "\uffff", "\u{10000}", "\u{1F600}", "\u{1F600}a"]
  expect(ids.toReversed().sort(compareIds)).toEqual(ids)
})

test("with lone surrogates it is an order too", () => {
  const id = fc.string({
    unit: fc.constantFrom("a", "\uffff", "\ue000", "\u{1F600}", "\ud83d", "\ude00"),
    maxLength: 3,
  })
  fc.assert(
    fc.property(id, id, id, (a, b, c) => {
      expect(Math.sign(compareIds(a, b))).toBe(-Math.sign(compareIds(b, a)) + 0)
      if (compareIds(a, b) <= 0 && compareIds(b, c) <= 0) expect(compareIds(a, c)).toBeLessThanOrEqual(0)
    }),
    { numRuns: 2_000, seed: 67 },
  )
})
