/** A call that looks while another one writes. */
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { run } from "../../src/actions/run.ts"
import { validated } from "../tool/validated.ts"
import { GENERATIONS, openGiven } from "./given-host.ts"

describe.each(GENERATIONS)("%s", (generation) => {
  let host: ReturnType<typeof openGiven>
  beforeEach(() => {
    host = openGiven(generation, { skills: [{ id: "pdf", name: "pdf", path: "/s/pdf/SKILL.md" }] })
  })
  afterEach(() => host.stop())

  test("what another call writes before the look is neither without a record nor unfinished", async () => {
    const looking = await host.start()
    const racing = {
      ...looking,
      observe: async () => {
        validated(await host.call({ action: "disable", id: "pdf" }))
        return looking.observe()
      },
    }
    const answer = validated(await run(racing, { action: "list" }))
    expect(host.text()).toContain('"pdf"')
    expect(answer.consistency).toEqual({ staleSidecarIds: [], unrecordedRules: [], missingFromRegistry: [] })
    expect(answer.notices.map(({ code }) => code)).not.toContain("unfinished_change")
  })
})
