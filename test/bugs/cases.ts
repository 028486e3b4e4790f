/** What is expected of each call of each case, by hand, and where a case cannot hold to the letter. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "vitest"
import type { Loaded } from "../hosts/opencode-1/recorded.ts"
import type { Input } from "./calls.ts"
import { MARK } from "./config-text.ts"
import { type Check, rulesIn } from "./run.ts"

export interface Run {
  /** Which of the case's calls, from 1; all unless given. */
  readonly calls?: readonly number[]
  /** The recorded OpenCode 1 and the stand-in of OpenCode 2 in this process, or the real OpenCode 1. */
  readonly on: "recorded" | "stand-in" | "real"
  /** The rules that the recorded host has loaded. */
  readonly loaded?: Loaded
  readonly env?: Readonly<Record<string, string>>
  /** As a user for whom modes count. */
  readonly asUser?: true
  /** So many renames onto the config are not allowed. */
  readonly heldRenames?: number
  /** One for each call of the tool that the case makes. */
  readonly checks: readonly Check[]
  /** Calls that show what an exception measures. */
  readonly more?: readonly (readonly [Input, Check])[]
}

/** The state for the caller, after the next load where that is another one, and the rule that decides. */
const is =
  (state: string, { file, ...rule }: { action?: string; resource?: string; file?: string } = {}): Check =>
  ({ answer }) => {
    const { skill, caller, rules } = answer as unknown as {
      skill: { state: string; pending?: string }
      caller: { rule: number }
      rules: { origin: { file: string | null } }[]
    }
    expect(skill.pending ?? skill.state).toBe(state)
    const deciding = rules[caller.rule]
    expect(deciding).toMatchObject(rule)
    if (file !== undefined) expect(deciding?.origin.file).toMatch(new RegExp(`/${file}$`))
  }

/** The skills that do not come with the host, and their states. */
const lists =
  (states: Readonly<Record<string, string>>): Check =>
  ({ answer }) => {
    const rows = answer.skills as { id: string; source: string; state: string; pending?: string }[]
    const own = rows.filter(({ source }) => source !== "embedded")
    expect(own.map(({ id, state, pending }) => [id, pending ?? state])).toEqual(Object.entries(states))
  }

/** A write, and the skill rules of the global files after it, in load order. */
const writes =
  (reason: string, ...rules: readonly string[]): Check =>
  ({ answer, opened }) => {
    expect(answer).toMatchObject({ ok: true, changed: true, reason })
    expect(rulesIn(opened)).toEqual(rules)
  }

const refuses =
  (code: string, data: object = {}): Check =>
  ({ answer }) =>
    expect(answer.error).toMatchObject({ code, data })

const says =
  (part: object): Check =>
  ({ answer }) =>
    expect(answer).toMatchObject(part)

const both =
  (...checks: readonly Check[]): Check =>
  (seen) => {
    for (const check of checks) check(seen)
  }

/** A skill that the host has not registered is refused with its file, and the reason. */
const names =
  (id: string): Check =>
  ({ answer }) => {
    expect(answer.error).toMatchObject({ code: "skill_not_found" })
    expect(answer.error?.data?.unregistered).toContainEqual({
      path: expect.stringContaining(`/${id}/SKILL.md`),
      why: expect.stringContaining("frontmatter"),
    })
  }

/** The rule's line in `opencode.jsonc` ends with the tool's mark. */
const marks =
  (id: string): Check =>
  ({ opened }) =>
    expect(readFileSync(join(opened.configDir, "opencode.jsonc"), "utf8")).toMatch(
      new RegExp(`"${id}".* ${MARK}$`, "m"),
    )

const loaded = (...rules: [pattern: string, effect: "allow" | "ask" | "deny"][]): Loaded => ({
  rules: rules.map(([pattern, effect]) => ["skill", pattern, effect]),
})

export const CASES: Readonly<Record<string, readonly Run[]>> = {
  B01: [
    {
      on: "real",
      checks: [
        is("disabled", { resource: "internal-*", file: "agents/plan.md" }),
        is("available", { action: "skill", resource: "*", file: "opencode.jsonc" }),
        is("available", { action: "skill", resource: "*", file: "opencode.jsonc" }),
        lists({ "internal-audit": "disabled", review: "available" }),
      ],
    },
  ],
  B03: [
    {
      on: "real",
      checks: [
        is("disabled", { resource: "lark-*" }),
        is("available", { action: "*" }),
        is("available", { action: "*" }),
        is("available", { action: "*" }),
        lists({
          lark: "available",
          "lark-base": "disabled",
          "lark-doc": "disabled",
          larkspur: "available",
          "my-lark-doc": "available",
        }),
      ],
    },
  ],
  B05: [
    {
      on: "real",
      checks: [
        is("available", { action: "skill", resource: "*" }),
        is("disabled", { resource: "danger-*" }),
        is("ask", { resource: "notes" }),
        is("disabled", { resource: "danger-*" }),
      ],
    },
  ],
  B07: [
    {
      on: "real",
      checks: [
        is("available", { action: "skill", resource: "*" }),
        writes("rule_added", "* allow", "alpha deny"),
        is("disabled", { resource: "alpha" }),
      ],
    },
  ],
  B09: [{ on: "real", checks: [is("disabled", { resource: "docs-*" })] }],
  B11: [
    {
      on: "recorded",
      checks: [is("available"), is("available"), refuses("config_unsupported", { reason: "unexpected_type", line: 2 })],
    },
  ],
  B13: [
    {
      on: "real",
      checks: [
        is("disabled", { action: "*", resource: "*", file: "opencode.jsonc" }),
        is("available", { action: "skill", resource: "*" }),
        both(lists({ alpha: "disabled" }), ({ answer }) => {
          const { agents } = answer.summary as { agents: object[] }
          expect(agents).toContainEqual(expect.objectContaining({ id: "research", skillTool: false, available: 0 }))
          expect(answer.skills).toContainEqual(expect.objectContaining({ id: "alpha", unlisted: "no_skill_tool" }))
        }),
      ],
    },
  ],
  B15: [
    {
      on: "stand-in",
      checks: [
        both(
          is("disabled", { resource: "*" }),
          says({
            skill: { unlisted: "denied" },
            reachability: { model: { listed: false, loadable: false, reasons: ["denied"] }, user: { mention: null } },
          }),
        ),
        is("available", { resource: "allowed-skill" }),
      ],
    },
  ],
  B17: [
    {
      on: "stand-in",
      checks: [
        is("available", { action: "sk?ll", resource: "a*" }),
        is("ask", { action: "*" }),
        is("disabled", { resource: "alpha", file: "agents/team/tester.md" }),
        refuses("agent_not_found", { suggestions: ["team/tester"] }),
      ],
    },
  ],
  B19: [{ on: "real", checks: [writes("rule_added", "alpha deny")] }],
  B21: [
    {
      on: "real",
      checks: [
        is("disabled", { resource: "one", file: "config.json" }),
        is("disabled", { resource: "two", file: "opencode.json" }),
        is("disabled", { resource: "three", file: "opencode.jsonc" }),
        writes("rule_removed", "one deny", "three deny"),
      ],
    },
    {
      on: "stand-in",
      checks: [
        is("available", { action: "*" }),
        is("disabled", { resource: "two", file: "opencode.json" }),
        is("disabled", { resource: "three", file: "opencode.jsonc" }),
        writes("rule_removed", "one deny", "three deny"),
      ],
    },
  ],
  B23: [{ on: "real", checks: [lists({ alpha: "disabled" }), is("disabled", { resource: "alpha" })] }],
  B25: [
    {
      on: "recorded",
      loaded: loaded(["draft", "ask"], ["ship", "deny"]),
      checks: [
        both(writes("rule_removed", "ship deny"), says({ before: "ask", after: "allow" })),
        writes("rule_added", "ship deny", "new-one deny"),
        writes("rule_removed", "new-one deny"),
      ],
    },
  ],
  B27: [
    {
      on: "recorded",
      checks: [writes("rule_added", "alpha deny"), refuses("agent_not_found")],
      more: [
        [
          { action: "disable", id: "alpha", agent: "plan" },
          refuses("scope_unsupported", { manual: { text: expect.stringContaining('"plan"') } }),
        ],
      ],
    },
  ],
  B29: [
    {
      calls: [1],
      on: "recorded",
      loaded: loaded(["alpha", "deny"], ["beta", "ask"]),
      checks: [both(writes("rule_added", "alpha deny", "beta ask", "gamma deny"), marks("gamma"))],
    },
    {
      calls: [2],
      on: "stand-in",
      checks: [both(writes("rule_added", "alpha deny", "beta ask", "gamma deny"), marks("gamma"))],
    },
  ],
  B31: [{ on: "stand-in", checks: [writes("rule_removed", "* allow", "internal-* deny")] }],
  B33: [
    {
      on: "recorded",
      loaded: loaded(["a", "deny"], ["b", "deny"], ["c", "ask"]),
      checks: [writes("rule_removed", "b deny", "c ask"), writes("rule_removed", "c ask"), writes("rule_removed")],
    },
  ],
  B35: [
    {
      on: "recorded",
      loaded: loaded(["a,}", "deny"], ["b//c", "ask"], ["/*d*/", "allow"]),
      checks: [
        is("disabled", { resource: "a,}" }),
        writes("rule_added", "a,} deny", "b//c ask", "/*d*/ allow", "e deny"),
      ],
    },
  ],
  B37: [
    {
      on: "recorded",
      loaded: loaded(["alpha", "ask"]),
      env: { TEST_API_KEY: "key-of-the-environment" },
      checks: [
        writes("rule_changed", "alpha deny"),
        lists({ alpha: "disabled" }),
        is("disabled", { resource: "alpha" }),
      ],
    },
  ],
  B39: [
    {
      on: "recorded",
      checks: [
        refuses("config_unparsable", { line: 3, column: 3, reason: "CommaExpected" }),
        both(refuses("config_unparsable", { line: 3 }), lists({ beta: "available" })),
        refuses("config_unparsable", { line: 3, column: 3 }),
      ],
    },
  ],
  B41: [1, 2, 3].map((call) => ({ calls: [call], on: "recorded", checks: [writes("rule_added", "alpha deny")] })),
  B43: [
    {
      calls: [1],
      on: "recorded",
      loaded: loaded(["alpha", "deny"]),
      checks: [writes("rule_added", "alpha deny", "beta deny")],
    },
    { calls: [2], on: "recorded", checks: [refuses("config_unsupported", { reason: "not_utf8" })] },
  ],
  B45: [
    { on: "recorded", loaded: loaded(["alpha", "deny"]), checks: [writes("rule_added", "alpha deny", "beta deny")] },
  ],
  B47: [
    {
      on: "recorded",
      loaded: loaded(["alpha", "deny"]),
      asUser: true,
      checks: [
        is("disabled", { resource: "alpha" }),
        lists({ alpha: "disabled", beta: "available" }),
        refuses("config_readonly", { realFile: expect.stringMatching(/\/home\/store\/opencode\.jsonc$/) }),
      ],
    },
  ],
  B49: [{ on: "recorded", checks: [refuses("config_unsupported", { reason: "dangling_link" })] }],
  B51: [
    { on: "recorded", heldRenames: 2, checks: [writes("rule_added", "alpha deny")] },
    {
      on: "recorded",
      heldRenames: Number.POSITIVE_INFINITY,
      checks: [refuses("config_readonly", { reason: "EPERM" })],
    },
  ],
  // test/e2e/bugs.test.ts has this one with processes of its own.
  B53: [],
  B55: [
    {
      on: "real",
      checks: [
        lists({ handoff: "available" }),
        both(is("available", { action: "*" }), ({ answer }) => {
          expect(answer.skill).toMatchObject({
            path: expect.stringMatching(/\/(project|home)\/.*\/handoff\/SKILL\.md$/),
          })
          const { path, duplicates } = answer.skill as { path: string; duplicates: string[] }
          expect([path, ...duplicates].filter((file) => file.endsWith("/handoff/SKILL.md"))).toHaveLength(3)
          expect(answer.notices).toContainEqual({ code: "winner_not_stable" })
        }),
      ],
    },
  ],
  B57: [{ on: "real", checks: [lists({ "only-once": "available" })] }],
  B59: [
    {
      on: "real",
      checks: [
        both(lists({ plain: "available", "wrap-up": "available" }), ({ answer, opened }) =>
          expect(answer.skills).toContainEqual(
            expect.objectContaining({ id: "wrap-up", path: `${opened.configDir}/skills/wrap-up/SKILL.md` }),
          ),
        ),
      ],
    },
  ],
  B61: [
    { on: "real", checks: [lists({ plur: "available", sing: "available" })] },
    { on: "stand-in", checks: [lists({ flat: "available", plur: "available", sing: "available" })] },
  ],
  B63: [
    {
      on: "real",
      checks: [lists({ "good-one": "available", "good-two": "available" }), writes("rule_added", "good-one deny")],
      more: [
        [{ action: "inspect", id: "bad" }, names("bad")],
        [{ action: "inspect", id: "worse" }, names("worse")],
      ],
    },
  ],
}

/** Where a case cannot hold to the letter: why, and the fact that was measured. All the rest of it holds. */
export const EXCEPTIONS: Readonly<Record<string, { readonly why: string; readonly measured: string }>> = {
  B11: {
    why: "the host takes no array in the place of `permission`",
    measured:
      "OpenCode 1.18.34 does not start on it; when it comes while the host runs, a write is refused with its place",
  },
  B15: {
    why: "what a user's own mention reaches differs between builds of OpenCode 2, so `inspect` says `null` there",
    measured:
      "early betas refuse the mention of a denied skill, 2.0.8 puts it in without a check; the preview server judges deny and allow alike",
  },
  B25: {
    why: "`enable` takes an exact `ask` out instead of writing `allow` over it",
    measured:
      "the effect turns from ask to allow without a rule; the comment behind it stays in its place, on a line of its own",
  },
  B27: {
    why: "a write knows no agent yet",
    measured:
      "an agent that the host does not know is `agent_not_found`, a known one `scope_unsupported` with the rule to paste; no byte changes",
  },
  B29: {
    why: "in a `.jsonc` the tool marks a rule that ends its line",
    measured: "the new line carries `// skill_management`; the neighbour keeps its own comment",
  },
  B55: {
    why: "the host has one row per name, and not by the place of the file",
    measured:
      "OpenCode 1.18.34 reads all files at once and keeps the one that it read last, in one of four starts not the project's; the others stand in its log alone",
  },
  B63: {
    why: "`list` shows what the host has registered; a file that it has not is named when it is asked for",
    measured:
      "OpenCode 1.18.34 and the preview server register neither file that does not parse; `inspect` names both, with the reason",
  },
}
