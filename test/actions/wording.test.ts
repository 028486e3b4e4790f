import { describe, expect, test } from "vitest"
import { conclusionOf, type Explained, remedyText, winnerText } from "../../src/actions/wording.ts"
import type { Effect, LocatedRule, Origin } from "../../src/core/rule.ts"

const HOME = "/home/u"
const CONFIG = `${HOME}/.config/opencode/opencode.jsonc`

const nowhere = (layer: Origin["layer"]): Origin => ({ layer, file: null, line: null, column: null })
const at = (file: string, line: number, more: Partial<Origin> = {}): Origin => ({
  layer: "global",
  file,
  line,
  column: 3,
  ...more,
})
const rule = (action: string, resource: string, effect: Effect, origin: Origin): LocatedRule => ({
  action,
  resource,
  effect,
  origin,
})
const DEFAULT = rule("*", "*", "allow", nowhere("host-default"))

function conclusion(matching: readonly LocatedRule[], more: Partial<Explained> = {}): string {
  const last = matching.at(-1)
  return conclusionOf({
    id: "pdf",
    agent: "build",
    decision: { effect: last?.effect ?? "ask", rule: last ? matching.length - 1 : null },
    matching,
    unlisted: null,
    pending: null,
    ignored: null,
    home: HOME,
    ...more,
  })
}

describe("the conclusion", () => {
  test.each<[string, readonly LocatedRule[], Partial<Explained>, string]>([
    ["the default", [DEFAULT], {}, "`pdf` is allowed for build by `{*, *, allow}` (the host's default)"],
    [
      "a rule over one of the same file",
      [DEFAULT, rule("skill", "pdf", "allow", at(CONFIG, 12)), rule("skill", "pdf*", "deny", at(CONFIG, 41))],
      {},
      "`pdf` is denied for build by `{skill, pdf*, deny}` in `~/.config/opencode/opencode.jsonc` line 41, which overrides the allow on line 12",
    ],
    [
      "a rule over one of the same line",
      [rule("skill", "pdf", "allow", at(CONFIG, 1)), rule("skill", "*", "ask", at(CONFIG, 1, { column: 40 }))],
      {},
      "`pdf` needs the user's consent for build by `{skill, *, ask}` in `~/.config/opencode/opencode.jsonc` line 1, which overrides the allow before it",
    ],
    [
      "a rule over one of another file",
      [
        rule("skill", "pdf", "deny", at(CONFIG, 3)),
        rule("skill", "pdf", "allow", at("/work/opencode.json", 9, { layer: "project" })),
      ],
      {},
      "`pdf` is allowed for build by `{skill, pdf, allow}` in `/work/opencode.json` line 9, which overrides the deny in `~/.config/opencode/opencode.jsonc` line 3",
    ],
    [
      "an agent's catch-all",
      [DEFAULT, rule("*", "*", "deny", at(`${HOME}/.config/opencode/agents/r.md`, 4, { agent: "r" }))],
      { agent: "r", unlisted: "no_skill_tool" },
      "`pdf` is denied for r by `{*, *, deny}`, the agent's own rule for everything, in `~/.config/opencode/agents/r.md` line 4, which overrides the allow (the host's default); the agent has no `skill` tool, so the model is told of no skill",
    ],
    [
      "a string that speaks of everything",
      [DEFAULT, rule("*", "*", "ask", at(CONFIG, 2))],
      {},
      "`pdf` needs the user's consent for build by `{*, *, ask}`, a rule for everything, in `~/.config/opencode/opencode.jsonc` line 2, which overrides the allow (the host's default)",
    ],
    [
      "no rule at all",
      [],
      {},
      "`pdf` needs the user's consent for build because no rule matches it and the host then asks",
    ],
    [
      "no description",
      [DEFAULT],
      { unlisted: "no_description" },
      "`pdf` is allowed for build by `{*, *, allow}` (the host's default); it has no description, so the model is not told of it",
    ],
    [
      "autoinvoke off",
      [DEFAULT],
      { unlisted: "autoinvoke_off" },
      "`pdf` is allowed for build by `{*, *, allow}` (the host's default); its `autoinvoke` is off, so the model is not told of it",
    ],
    [
      "the environment",
      [DEFAULT, rule("skill", "pdf", "deny", { ...nowhere("content"), line: 1, column: 20 })],
      { unlisted: "denied" },
      "`pdf` is denied for build by `{skill, pdf, deny}` (given by the environment), which overrides the allow (the host's default)",
    ],
    [
      "a rule of unknown origin",
      [DEFAULT, rule("skill", "pdf", "deny", nowhere("unknown"))],
      {},
      "`pdf` is denied for build by `{skill, pdf, deny}` (which no config file accounts for: another plugin or an unread layer adds it), which overrides the allow (the host's default)",
    ],
    [
      "a rule from a reference",
      [DEFAULT, { ...rule("skill", "s3cr3t*", "deny", at(CONFIG, 5)), secret: true }],
      {},
      "`pdf` is denied for build by `{…, …, deny}` in `~/.config/opencode/opencode.jsonc` line 5, which overrides the allow (the host's default)",
    ],
    [
      "a pending restart",
      [DEFAULT],
      { pending: "deny" },
      "`pdf` is allowed for build by `{*, *, allow}` (the host's default); after a restart it is denied",
    ],
  ])("%s", (_, matching, more, expected) => {
    expect(conclusion(matching, more)).toBe(expected)
  })

  const passedOver = rule("skill", "pdf", "deny", at(`${HOME}/.config/opencode/agents/plan.md`, 4, { agent: "plan" }))
  test.each<[NonNullable<Explained["ignored"]>["because"], string]>([
    [
      { kind: "array_in_markdown" },
      "OpenCode 1 passes over `permissions` in a Markdown agent, its word is `permission`",
    ],
    [
      { kind: "key_in_markdown", key: "temperature" },
      "beside `temperature` OpenCode 2 takes the file for one of OpenCode 1 and loses its `permissions`",
    ],
    [
      { kind: "key_in_document", key: "provider" },
      "beside `provider` this build takes the file for one of OpenCode 1 and loses its `permissions`",
    ],
    [{ kind: "malformed" }, "this build drops a file with a malformed section"],
    [
      { kind: "replaced", by: at(CONFIG, 3) },
      "the same key in `~/.config/opencode/opencode.jsonc` line 3 takes its place",
    ],
  ])("a rule that counts for nothing: %j", (because, why) => {
    expect(conclusion([DEFAULT], { ignored: { rule: passedOver, because } })).toBe(
      "`pdf` is allowed for build by `{*, *, allow}` (the host's default); `{skill, pdf, deny}` in " +
        `\`~/.config/opencode/agents/plan.md\` line 4 counts for nothing: ${why}`,
    )
  })
})

describe("what would help", () => {
  test.each<[string, LocatedRule | null, string]>([
    [
      "a later pattern",
      rule("skill", "*", "allow", at(CONFIG, 7)),
      "move or narrow `~/.config/opencode/opencode.jsonc` line 7: it comes after every place where an exact rule could stand",
    ],
    [
      "a later key",
      rule("*", "*", "ask", at(CONFIG, 7)),
      "move line 7 above the `skill` section in `~/.config/opencode/opencode.jsonc`: the later key wins",
    ],
    [
      "an agent's own rule",
      rule("skill", "*", "allow", at(CONFIG, 7, { agent: "plan" })),
      "change `~/.config/opencode/opencode.jsonc` line 7: the rules of the agent `plan` come after all others",
    ],
    [
      "the project",
      rule("skill", "pdf", "deny", at("/w/opencode.json", 2, { layer: "project" })),
      "change `/w/opencode.json` line 2: a project's rules come after the global ones",
    ],
    [
      "a managed file",
      rule("skill", "pdf", "deny", at("/etc/opencode/opencode.json", 2, { layer: "managed" })),
      "change `/etc/opencode/opencode.json` line 2: it comes after the global files",
    ],
    [
      "the environment",
      rule("skill", "pdf", "deny", nowhere("content")),
      "change the environment variable that holds it (`OPENCODE_CONFIG_CONTENT` or `OPENCODE_PERMISSION`)",
    ],
    ["the host", rule("*", "*", "deny", nowhere("built-in-agent")), "give the agent `build` a rule of its own"],
    [
      "another plugin",
      rule("skill", "pdf", "deny", nowhere("unknown")),
      "find the plugin or the layer that adds it: only there can it be changed",
    ],
    ["nothing", null, "give it a rule of its own above the global files"],
  ])("against %s", (_, found, expected) => {
    expect(remedyText({ agent: "build", effect: "ask", rule: found }, HOME)).toBe(expected)
  })
})

test("the rule that wins is named with its place", () => {
  const winner = rule("skill", "*", "allow", at(CONFIG, 7))
  expect(winnerText({ agent: "plan", effect: "allow", rule: winner }, HOME)).toBe(
    "`{skill, *, allow}` in `~/.config/opencode/opencode.jsonc` line 7 wins for plan",
  )
  expect(winnerText({ agent: "plan", effect: "ask", rule: null }, HOME)).toBe(
    "no rule matches it for plan, and the host asks",
  )
})
