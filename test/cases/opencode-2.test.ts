/** The situations on OpenCode 2, played by its stand-in. A changed answer is read by a person, then `npm run cases`. */
import { afterEach, describe, expect, it } from "vitest"
import { type OpenHost, openOpenCode2 } from "../actions/both-hosts.ts"
import { validated } from "../tool/validated.ts"
import { CASES, layOut, tidy } from "./cases.ts"

let host: OpenHost
afterEach(() => host.stop())

describe("situations on OpenCode 2", () => {
  it.each(CASES.filter(({ host }) => host === "opencode-2"))("$name", async (given) => {
    const { build = "beta", version = null } = given
    host = await openOpenCode2({
      skills: {},
      arrange: (place) => layOut(given, place),
      standin: {
        build,
        wrap: (plugin) => ({
          id: plugin.id,
          setup: (context: never) =>
            plugin.setup({ ...Object(context), ...(version !== null && { app: { version } }) } as never),
        }),
      },
    })
    const reply = await host.call(given.call)
    validated(reply)
    await expect(tidy(reply.text, host)).toMatchFileSnapshot(given.answerFile)
  })
})
