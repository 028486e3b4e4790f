// A sample of what test/e2e does with every real config: the real OpenCode 1 loads the edited file, one rule richer.
import { describe, expect, test } from "vitest"
import { act } from "../../core/plan-world.ts"
import { type NaiveRule, naiveEffect } from "../../core/reference.ts"
import { hostAvailable } from "./host.ts"
import { expectOneMore, printedRules } from "./printed-rules.ts"
import { createSandbox } from "./sandbox.ts"

const SCHEMA = '"$schema": "https://opencode.ai/config.json"'

describe.skipIf(!hostAvailable)("an edited config on OpenCode 1", () => {
  test.concurrent.each([
    [
      "a byte order mark, a banner, CRLF, comments everywhere, trailing commas",
      `\ufeff// Mine.\r\n{\r\n\t${SCHEMA},\r\n\t"permission": { // all of it\r\n\t\t"bash": "ask",\r\n\t\t"skill": { "*": "allow" /* but */, "x-*": "ask", },\r\n\t},\r\n}`,
    ],
    ["a string for all skills, one line", `{${SCHEMA},"permission":{"skill":"ask","edit":"deny"}}`],
  ])("%s", { timeout: 120_000 }, async (_, text) => {
    await using sandbox = await createSandbox()
    await sandbox.config("opencode.jsonc", text)
    const before = await printedRules(sandbox, "build")
    const { result, next } = act({ generation: "opencode-1", files: { "opencode.jsonc": text } }, "pdf", "deny")
    expect(result.kind).toBe("change")
    await sandbox.config("opencode.jsonc", next.files["opencode.jsonc"] ?? "")
    const after = await printedRules(sandbox, "build")
    expectOneMore(before, after, "pdf", "deny")
    expect(naiveEffect(after as NaiveRule[], "pdf")).toBe("deny")
  })
})
