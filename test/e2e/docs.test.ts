import { expect, test } from "vitest"
import { docOutputs, shownOutputs } from "../../scripts/doc-outputs.ts"

test("every output in the README is what the real host prints (else: npm run docs)", async () => {
  const shown = shownOutputs()
  const real = await docOutputs()
  expect([...shown.keys()]).toEqual([...real.keys()])
  for (const [name, text] of real) expect(shown.get(name), name).toBe(text.trimEnd())
})
