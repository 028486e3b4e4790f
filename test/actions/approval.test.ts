// Who may change what: rule × layer × host × direction, and what the plugin's options add.
import { afterEach, describe, expect, it } from "vitest"
import type { LoadedRule } from "../hosts/opencode-1/recorded.ts"
import { validated } from "../tool/validated.ts"
import { HOSTS, type OpenHost, openOpenCode1, unchanged, type World } from "./both-hosts.ts"

type Rules = Readonly<Record<string, string>>
/** What a call comes to: done, done with a remark, or the code of a refusal. */
type Result = "done" | "done, not configured" | "asked" | "not_permitted" | "approval_required"

interface Case {
  readonly name: string
  readonly global?: Rules
  readonly project?: Rules
  /** What OpenCode 1 then has loaded, in order. */
  readonly merged: readonly (readonly [pattern: string, effect: "allow" | "ask" | "deny"])[]
  /** `disable` narrows, `enable` widens; on OpenCode 1, then on OpenCode 2. */
  readonly disable: readonly [Result, Result]
  readonly enable: readonly [Result, Result]
}

const CASES: readonly Case[] = [
  {
    name: "no rule",
    merged: [],
    disable: ["done", "done"],
    enable: ["done, not configured", "done, not configured"],
  },
  {
    name: "the user allows",
    global: { "*": "allow" },
    merged: [["*", "allow"]],
    disable: ["done", "done"],
    enable: ["done", "done"],
  },
  {
    name: "the user wants to be asked before anything is shown",
    global: { "enable:*": "ask" },
    merged: [["enable:*", "ask"]],
    disable: ["done", "done"],
    enable: ["asked", "approval_required"],
  },
  {
    name: "the user wants to be asked before anything",
    global: { "*": "ask" },
    merged: [["*", "ask"]],
    disable: ["asked", "approval_required"],
    enable: ["asked", "approval_required"],
  },
  {
    name: "the user denies hiding one skill",
    global: { "disable:pdf": "deny" },
    merged: [["disable:pdf", "deny"]],
    disable: ["not_permitted", "not_permitted"],
    enable: ["done, not configured", "done, not configured"],
  },
  {
    name: "the user denies showing",
    global: { "enable:*": "deny" },
    merged: [["enable:*", "deny"]],
    disable: ["done", "done"],
    enable: ["not_permitted", "not_permitted"],
  },
  {
    name: "a project denies",
    // `*` alone would hide the tool itself.
    project: { "?*": "deny" },
    merged: [["?*", "deny"]],
    disable: ["not_permitted", "not_permitted"],
    enable: ["not_permitted", "not_permitted"],
  },
  {
    name: "a project wants to be asked",
    project: { "*": "ask" },
    merged: [["*", "ask"]],
    disable: ["asked", "approval_required"],
    enable: ["asked", "approval_required"],
  },
  {
    name: "a project allows, the user says nothing",
    project: { "*": "allow" },
    merged: [["*", "allow"]],
    disable: ["done", "done"],
    enable: ["done, not configured", "done, not configured"],
  },
  {
    name: "a project allows what the user wants to be asked for",
    global: { "*": "ask" },
    project: { "*": "allow" },
    merged: [["*", "allow"]],
    disable: ["approval_required", "approval_required"],
    enable: ["approval_required", "approval_required"],
  },
  {
    name: "a project allows what the user denies",
    global: { "*": "deny" },
    project: { "*": "allow" },
    merged: [["*", "allow"]],
    disable: ["not_permitted", "not_permitted"],
    enable: ["not_permitted", "not_permitted"],
  },
]

/** docx is hidden at first, pdf is not. */
function worldOf({ global, project, merged }: Pick<Case, "global" | "project" | "merged">): World {
  const permission = (rules: Rules | undefined, skill: object | undefined) =>
    JSON.stringify({ permission: { ...(rules && { skill_management: rules }), ...(skill && { skill }) } }, null, 2)
  const loaded: LoadedRule[] = [
    ...merged.map(([pattern, effect]): LoadedRule => ["skill_management", pattern, effect]),
    ["skill", "docx", "deny"],
  ]
  return {
    files: { "opencode.jsonc": permission(global, { docx: "deny" }) },
    ...(project && { projectFiles: { "opencode.json": permission(project, undefined) } }),
    loaded: { rules: loaded },
  }
}

describe.each(HOSTS)("approval on $name", ({ open, generation }) => {
  const at = generation === "opencode-1" ? 0 : 1
  let host: OpenHost
  afterEach(() => host.stop())

  const asked: (readonly string[])[] = []
  const start = async (world: World) => {
    asked.length = 0
    host = await open({ onAsk: async ({ patterns }) => void asked.push(patterns), ...world })
  }
  const call = async (input: object, agent?: string) => {
    const answer = validated(await host.call(input, agent === undefined ? {} : { agent }))
    await host.settle()
    return answer
  }
  const resultOf = async (input: object, agent?: string): Promise<Result> => {
    const before = host.readConfig("opencode.jsonc")
    const answer = await call(input, agent)
    if (!answer.ok) {
      expect(host.readConfig("opencode.jsonc")).toBe(before)
      return answer.error?.code as Result
    }
    expect(answer.changed).toBe(true)
    if (asked.length > 0) return "asked"
    return answer.notices.some(({ code }) => code === "approval_not_configured") ? "done, not configured" : "done"
  }

  it.each(CASES)("$name: hiding", async (given) => {
    await start(worldOf(given))
    expect(await resultOf({ action: "disable", id: "pdf" })).toBe(given.disable[at])
    expect(asked).toEqual(given.disable[at] === "asked" ? [["disable:pdf"]] : [])
  })

  it.each(CASES)("$name: showing", async (given) => {
    await start(worldOf(given))
    expect(await resultOf({ action: "enable", id: "docx" })).toBe(given.enable[at])
    expect(asked).toEqual(given.enable[at] === "asked" ? [["enable:docx"]] : [])
  })

  it("an undo that shows a skill again is a way of showing it", async () => {
    await start(worldOf({ global: { "enable:*": "deny" }, merged: [["enable:*", "deny"]] }))
    expect(await resultOf({ action: "disable", id: "pdf" })).toBe("done")
    expect(await resultOf({ action: "undo" })).toBe("not_permitted")
  })

  it("an undo of a pattern rule asks for every skill that it shows again", async () => {
    await start(worldOf({ global: { "enable:pdf-forms": "deny" }, merged: [["enable:pdf-forms", "deny"]] }))
    const rehearsal = await call({ action: "disable", match: "pdf*", rule: "pattern" })
    expect(await resultOf(rehearsal.next[0]?.input ?? {})).toBe("done")
    expect(await call({ action: "undo", dryRun: true })).toMatchObject({
      targets: [
        { id: "pdf", after: "allow" },
        { id: "pdf-forms", after: "allow" },
      ],
      impact: [{ ids: ["pdf", "pdf-forms"], count: 2 }],
    })
    expect(await resultOf({ action: "undo" })).toBe("not_permitted")
  })

  it("a project cannot give what the host itself denies to an agent", async () => {
    const world = worldOf({ merged: [] })
    await start({
      ...world,
      projectFiles: { "opencode.json": JSON.stringify({ agent: { explore: { permission: { "*": "allow" } } } }) },
      loaded: { ...world.loaded, agentRules: { explore: [["*", "*", "allow"]] } },
    })
    expect(await resultOf({ action: "disable", id: "pdf" }, "explore")).toBe("not_permitted")
  })

  it("a rehearsal needs no approval", async () => {
    await start(worldOf({ global: { "?*": "deny" }, merged: [["?*", "deny"]] }))
    expect(await call({ action: "enable", id: "docx", dryRun: true })).toMatchObject({ ok: true, changed: false })
  })

  it("several skills are asked for once", async () => {
    await start(worldOf({ global: { "*": "ask" }, merged: [["*", "ask"]] }))
    const rehearsal = await call({ action: "disable", match: "pdf*" })
    expect(asked).toEqual([])
    const input = rehearsal.next[0]?.input ?? {}
    if (generation === "opencode-2")
      expect(validated(await unchanged(host, () => host.call(input))).error).toMatchObject({
        code: "approval_required",
        data: { resources: ["disable:pdf", "disable:pdf-forms"] },
      })
    else {
      expect(await call(input)).toMatchObject({ ok: true, counts: { changed: 2 } })
      expect(asked).toEqual([["disable:pdf", "disable:pdf-forms"]])
    }
  })

  it("an unknown caller gets the strictest word of the agents in reach, and is never asked for", async () => {
    await start(worldOf({ global: { "enable:*": "ask" }, merged: [["enable:*", "ask"]] }))
    expect(await resultOf({ action: "enable", id: "docx" }, "nobody")).toBe("approval_required")
    expect(asked).toEqual([])
    expect(await resultOf({ action: "disable", id: "pdf" }, "nobody")).toBe("done")
  })

  describe("options", () => {
    it("`writes: operator` only rehearses, and says what to paste", async () => {
      await start({ ...worldOf({ merged: [] }), options: { writes: "operator" } })
      expect(await call({ action: "disable", id: "pdf", dryRun: true })).toMatchObject({ ok: true })
      for (const input of [
        { action: "disable", id: "pdf" },
        { action: "disable", ids: ["pdf", "pdf-forms"] },
      ]) {
        const answer = validated(await unchanged(host, () => host.call(input)))
        expect(answer).toMatchObject({ ok: false, changed: false, error: { code: "not_permitted" }, next: [] })
        expect(Object(answer.error?.data?.manual).text).toContain('"pdf": "deny"')
      }
    })

    it("`protect` stops what names a protected skill, and leaves it out of what covers it", async () => {
      await start({ ...worldOf({ merged: [] }), options: { protect: ["pdf-*", "docx"] } })
      for (const input of [
        { action: "disable", id: "pdf-forms" },
        { action: "enable", name: "docx" },
        { action: "disable", ids: ["pdf", "pdf-forms"] },
        { action: "disable", match: "pdf*", rule: "pattern" },
      ])
        expect(validated(await unchanged(host, () => host.call(input))).error?.code).toBe("protected")
      const rehearsal = await call({ action: "disable", match: "pdf*" })
      expect(rehearsal).toMatchObject({
        error: { code: "plan_required" },
        targets: [
          { id: "pdf", reason: "rule_added" },
          { id: "pdf-forms", before: "allow", after: "allow", changed: false, reason: "protected" },
        ],
        plan: { count: 1 },
      })
    })

    const OURS = "opencode-skill-management"
    const entry = (options: object) =>
      generation === "opencode-1" ? { plugin: [[OURS, options]] } : { plugins: [{ package: OURS, options }] }
    it("a project's entry cannot loosen the user's", async () => {
      const project = { writes: "agent", protect: [], dialect: "permissions" }
      await start({
        files: { "opencode.json": JSON.stringify(entry({ writes: "operator", protect: ["docx"] })) },
        projectFiles: { "opencode.json": JSON.stringify(entry(project)) },
        options: project,
      })
      expect((await call({ action: "disable", id: "pdf" })).error?.code).toBe("not_permitted")
      expect((await call({ action: "disable", id: "docx" })).error?.code).toBe("protected")
    })

    // OpenCode 1 has one form, whatever the option says.
    const forms = [
      { name: "chooses no form", user: undefined, project: { dialect: "permission" }, form: '"permissions": [' },
      { name: "does not take the user's away", user: { dialect: "permission" }, project: {}, form: '"permission": {' },
    ]
    it.each(generation === "opencode-2" ? forms : [])("a project's entry $name", async ({ user, project, form }) => {
      await start({
        files: { "opencode.json": JSON.stringify(user ? entry(user) : {}, null, 2) },
        projectFiles: { "opencode.json": JSON.stringify(entry(project)) },
        options: project,
      })
      expect(await call({ action: "disable", id: "pdf" })).toMatchObject({ ok: true, changed: true })
      expect(host.readConfig("opencode.json")).toContain(form)
    })
  })
})

describe("asking on OpenCode 1", () => {
  let host: OpenHost
  afterEach(() => host.stop())

  it("what the user refuses is not done", async () => {
    host = await openOpenCode1({
      ...worldOf({ global: { "*": "ask" }, merged: [["*", "ask"]] }),
      onAsk: () => Promise.reject(new Error("rejected")),
    })
    const answer = validated(await unchanged(host, () => host.call({ action: "disable", id: "pdf" })))
    expect(answer.error?.code).toBe("not_permitted")
  })

  it("a file that changes while the user thinks is planned again", async () => {
    const world = worldOf({ global: { "*": "ask" }, merged: [["*", "ask"]] })
    host = await openOpenCode1({
      ...world,
      onAsk: async () => void host.config("opencode.jsonc", `// meanwhile\n${world.files?.["opencode.jsonc"]}`),
    })
    expect(validated(await host.call({ action: "disable", id: "pdf" }))).toMatchObject({ ok: true, changed: true })
    expect(host.readConfig("opencode.jsonc")).toMatch(/^\/\/ meanwhile\n(?:.*\n)*.*"pdf": "deny"/)
  })
})
