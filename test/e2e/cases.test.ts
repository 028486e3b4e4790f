/** The situations on the real OpenCode 1. A changed answer is read by a person, then `npm run cases`. */
import { pathToFileURL } from "node:url"
import { describe, test } from "vitest"
import { CASES, layOut, tidy } from "../cases/cases.ts"
import { debugAgent, hostAvailable } from "../hosts/opencode-1/host.ts"
import { createSandbox, offlineConfigDir } from "../hosts/opencode-1/sandbox.ts"
import { validated } from "../tool/validated.ts"

/** The built plugin, loaded from the global plugin folder, so that no config speaks of it. */
const PLUGIN = pathToFileURL(new URL("../../dist/index.js", import.meta.url).pathname).href

describe.skipIf(!hostAvailable)("situations on OpenCode 1", () => {
  test.concurrent.for(CASES.filter(({ host }) => host === "opencode-1"))("$name", async (given, { expect }) => {
    await using sandbox = await createSandbox()
    layOut(given, sandbox)
    await offlineConfigDir(sandbox.configDir)
    await sandbox.config("plugins/skill-management.js", `export { default } from ${JSON.stringify(PLUGIN)}\n`)
    const { env = {}, call: params } = given
    const { json, stderr } = await debugAgent(sandbox, "build", { tool: "skill_management", params, env })
    const text = Object(Object(json).result).output
    if (typeof text !== "string") throw new Error(stderr)
    validated({ text })
    await expect(tidy(text, sandbox)).toMatchFileSnapshot(given.answerFile)
  })
})
