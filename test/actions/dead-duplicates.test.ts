/** Of two agents of one name in one file OpenCode 1 reads the last; what the other says keeps no host from starting. */
import { afterEach, expect, test } from "vitest"
import { refused, validated } from "../tool/validated.ts"
import { openGiven } from "./given-host.ts"

let host: ReturnType<typeof openGiven>
afterEach(() => host.stop())

test("an array in the dead one is no obstacle", async () => {
  host = openGiven("opencode-1", {
    skills: [{ id: "pdf" }],
    config: '{\n  "agent": { "x": { "permissions": [] }, "x": {} }\n}\n',
  })
  expect(validated(await host.call({ action: "disable", id: "pdf", dryRun: true })).ok).toBe(true)
})

test("one in another agent is, and is pointed at", async () => {
  host = openGiven("opencode-1", {
    skills: [{ id: "pdf" }],
    config: '{\n  "agent": { "x": { "permissions": [] }, "x": {},\n    "y": { "permissions": [] } }\n}\n',
  })
  const { error } = refused(await host.call({ action: "disable", id: "pdf", dryRun: true }), "config_unsupported")
  expect(error?.data).toMatchObject({ line: 3, column: 27, reason: "opencode_2_array" })
})
