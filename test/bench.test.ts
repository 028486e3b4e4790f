/** The benchmark is no test; that its page shows what it measures today is one. */
import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { MEASUREMENTS } from "../scripts/bench.ts"

const page = readFileSync(new URL("../docs/reference/performance.md", import.meta.url), "utf8")

const shown: readonly { what: string; aim: string; ratio: number }[] = JSON.parse(
  /```json\n([\s\S]*?)```/.exec(page)?.[1] ?? "",
)

test("docs/reference/performance.md shows a run of all measurements (else: npm run --silent bench -- --json)", () => {
  expect(shown.map(({ what, aim }) => ({ what, aim }))).toEqual(MEASUREMENTS.map(({ what, aim }) => ({ what, aim })))
})

test("and every aim is met there", () => {
  const missed = shown.filter(({ aim, ratio }) => {
    if (aim === "none") return false
    const limit = Number(/\d+/.exec(aim)?.[0])
    if (aim.startsWith("at least")) return limit > ratio
    // Not quite linear is a logarithm's worth of more.
    return ratio > (aim.startsWith("about") ? 1.3 : limit)
  })
  expect(missed.map(({ what }) => what)).toEqual([])
})
