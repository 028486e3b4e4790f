/** What a call says follows the registry as it is now, whatever the call before has met. */
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { validated } from "../tool/validated.ts"
import { GENERATIONS, type GivenSkill, openGiven } from "./given-host.ts"

const PDF: GivenSkill = { id: "pdf", name: "pdf", path: "/s/pdf/SKILL.md", description: "Reads." }
const DOCX: GivenSkill = { id: "docx", name: "docx", path: "/s/docx/SKILL.md", description: "Writes." }

interface Row {
  readonly id: string | null
  readonly path: string | null
  readonly description: string | null
  readonly tokens: number
}

describe.each(GENERATIONS)("%s", (generation) => {
  let host: ReturnType<typeof openGiven>
  beforeEach(() => {
    host = openGiven(generation, { skills: [PDF, DOCX] })
  })
  afterEach(() => host.stop())

  const rows = async () => validated(await host.call({ action: "list" })).skills as Row[]
  const shown = async () => (await rows()).map(({ id, path, description }) => [id, path, description])
  const docx = ["docx", "/s/docx/SKILL.md", "Writes."]

  test.each<[string, GivenSkill[], unknown[]]>([
    ["another description", [{ ...PDF, description: "Reads!" }, DOCX], [docx, ["pdf", "/s/pdf/SKILL.md", "Reads!"]]],
    ["no description", [{ id: "pdf", path: "/s/pdf/SKILL.md" }, DOCX], [docx, ["pdf", "/s/pdf/SKILL.md", null]]],
    ["another place", [{ ...PDF, path: "/t/pdf/SKILL.md" }, DOCX], [docx, ["pdf", "/t/pdf/SKILL.md", "Reads."]]],
    ["another id", [{ ...PDF, id: "aaa" }, DOCX], [["aaa", "/s/pdf/SKILL.md", "Reads."], docx]],
    ["one gone", [DOCX], [docx]],
    ["another order", [DOCX, PDF], [docx, ["pdf", "/s/pdf/SKILL.md", "Reads."]]],
    [
      "one more",
      [PDF, { ...DOCX, id: "x" }, DOCX],
      [docx, ["pdf", "/s/pdf/SKILL.md", "Reads."], ["x", "/s/docx/SKILL.md", "Writes."]],
    ],
    ["none", [], []],
  ])("%s", async (_, skills, expected) => {
    const before = await shown()
    expect(await shown()).toEqual(before)
    host.register(skills)
    expect(await shown()).toEqual(expected)
    host.register([PDF, DOCX])
    expect(await shown()).toEqual(before)
  })

  test("a longer description costs more", async () => {
    const [, before] = await rows()
    host.register([{ ...PDF, description: "Reads what others wrote." }, DOCX])
    const [, after] = await rows()
    expect(after?.tokens).toBeGreaterThan(before?.tokens ?? Number.POSITIVE_INFINITY)
  })

  test("an id that the host stops telling comes from the path from now on", async () => {
    const derived = async () =>
      (validated(await host.call({ action: "list" })).summary as { derivedIds: number }).derivedIds
    expect(await derived()).toBe(0)
    host.register([{ id: null, path: "/s/pdf/SKILL.md", description: "Reads." }, DOCX])
    expect(await derived()).toBe(1)
    expect(await shown()).toEqual([docx, ["pdf", "/s/pdf/SKILL.md", "Reads."]])
  })
})

test("opencode-2: a skill that is no longer offered by itself says so", async () => {
  const host = openGiven("opencode-2", { skills: [PDF] })
  const unlisted = async () =>
    (validated(await host.call({ action: "list" })).skills as { unlisted?: string }[])[0]?.unlisted
  expect(await unlisted()).toBeUndefined()
  host.register([{ ...PDF, autoinvoke: false } as GivenSkill])
  expect(await unlisted()).toBe("autoinvoke_off")
  host.stop()
})
