/** Beside each list that was cut stands how much of it is missing. */
import { expect, test } from "vitest"
import { warningOf } from "../../src/tool/notices.ts"
import { approvalRequired, idNotExpressible, notPermitted, predictionFailed } from "../../src/tool/problems.ts"

const names = Array.from({ length: 21 }, (_, i) => `skill-${i}`)
const truncated = { shown: 20, total: 21 }

test.each([
  ["not_permitted", notPermitted(names, "build", "rule"), { resourcesTruncated: truncated }],
  ["approval_required", approvalRequired(names, "why"), { resourcesTruncated: truncated, rulesTruncated: truncated }],
  ["prediction_failed", predictionFailed("build", names, null), { agentsTruncated: truncated }],
  ["id_not_expressible", idNotExpressible("a*", names), { hitsTruncated: truncated }],
])("%s", (_, problem, expected) => {
  expect(problem.data).toMatchObject(expected)
})

test("a list that is whole has nothing beside it", () => {
  expect(notPermitted(["disable:a"], "build", "rule").data).toEqual({ resources: ["disable:a"] })
})

test("a warning counts the names that it leaves out", () => {
  const cut = { shown: 2, total: 30 }
  const changes = warningOf({ code: "unfinished_change", data: { changes: ["a", "b"], changesTruncated: cut } })
  expect(changes).toMatch(/`a`, `b` and 28 more/)
  const pattern = warningOf({ code: "rule_is_a_pattern", data: { id: "a*", idsTruncated: cut } })
  expect(pattern).toMatch(/2 of 30/)
  const data = { reason: "no_description", ids: ["a", "b"], idsTruncated: { shown: 2, total: 30 } }
  expect(warningOf({ code: "still_unlisted", data })).toMatch(/`a`, `b` and 28 more/)
})
