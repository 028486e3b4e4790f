import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { expect, test } from "vitest"
import { generated } from "../scripts/generated.ts"

const root = resolve(import.meta.dirname, "..")

test.each([...generated().keys()])("%s is what the source says (else: npm run generate)", (path) => {
  expect(readFileSync(join(root, path), "utf8")).toBe(generated().get(path))
})
