import type { Decision } from "../core/evaluate.ts"
import type { Ignored } from "../core/ignored.ts"
import type { Blocked } from "../core/outcome.ts"
import { isCatchAll } from "../core/predict.ts"
import { type Effect, type LocatedRule, type Origin, shownRule } from "../core/rule.ts"
import type { Unlisted } from "../tool/vocabulary.ts"

/** A rule as people read it: `{skill, pdf*, deny}`. */
export function ruleText(rule: LocatedRule): string {
  const { action, resource, effect } = shownRule(rule)
  return `\`{${action}, ${resource}, ${effect}}\``
}

/** Where a rule stands, in words. */
export function placeText(origin: Origin, home: string): string {
  if (origin.file !== null) {
    const file = origin.file.startsWith(`${home}/`) ? `~${origin.file.slice(home.length)}` : origin.file
    return `in \`${file}\`${origin.line === null ? "" : ` line ${origin.line}`}`
  }
  const words: Partial<Record<Origin["layer"], string>> = {
    "host-default": "the host's default",
    "built-in-agent": "built into the agent",
    content: "given by the environment",
    unknown: "which no config file accounts for: another plugin or an unread layer adds it",
  }
  return `(${words[origin.layer] ?? origin.layer})`
}

const EFFECT_WORDS = { allow: "is allowed", ask: "needs the user's consent", deny: "is denied" } as const

const UNLISTED_WORDS: Record<Exclude<Unlisted, "denied">, string> = {
  no_description: "it has no description, so the model is not told of it",
  autoinvoke_off: "its `autoinvoke` is off, so the model is not told of it",
  no_skill_tool: "the agent has no `skill` tool, so the model is told of no skill",
}

const unlistedText = (reason: Unlisted): string | null => (reason === "denied" ? null : UNLISTED_WORDS[reason])

export interface Explained {
  readonly id: string
  readonly agent: string
  readonly decision: Decision
  /** All rules that match, in order. */
  readonly matching: readonly LocatedRule[]
  readonly unlisted: Unlisted | null
  /** The effect after a restart, where that differs. */
  readonly pending: Effect | null
  /** A rule that would have decided otherwise, if the host did not pass over it. */
  readonly ignored: { readonly rule: LocatedRule; readonly because: Ignored["because"] } | null
  readonly home: string
}

/** One sentence that a person understands: the effect, the deciding rule and its place, what that overrides. */
export function conclusionOf(given: Explained): string {
  const { id, agent, decision, matching, unlisted, pending, ignored, home } = given
  const deciding = matching.at(-1)
  const why = deciding
    ? `by ${ruleText(deciding)}${catchAllText(deciding)} ${placeText(deciding.origin, home)}`
    : "because no rule matches it and the host then asks"
  const overridden = matching.slice(0, -1).findLast((rule) => rule.effect !== decision.effect)
  const over = deciding && overridden ? `, which overrides the ${overriddenText(overridden, deciding, home)}` : ""
  const remarks = [
    unlisted && unlistedText(unlisted),
    ignored &&
      `${ruleText(ignored.rule)} ${placeText(ignored.rule.origin, home)} counts for nothing: ${ignoredText(ignored.because, home)}`,
    pending && `after a restart it ${EFFECT_WORDS[pending]}`,
  ]
  const rest = remarks.flatMap((remark) => (remark ? [`; ${remark}`] : [])).join("")
  return `\`${id}\` ${EFFECT_WORDS[decision.effect]} for ${agent} ${why}${over}${rest}`
}

function catchAllText(rule: LocatedRule): string {
  if (!isCatchAll(rule) || rule.origin.line === null) return ""
  return rule.origin.agent === undefined ? ", a rule for everything," : ", the agent's own rule for everything,"
}

/** In the same file the line is enough. */
function overriddenText({ effect, origin }: LocatedRule, deciding: LocatedRule, home: string): string {
  const near = origin.file !== null && origin.file === deciding.origin.file && origin.line !== null
  if (near) return origin.line === deciding.origin.line ? `${effect} before it` : `${effect} on line ${origin.line}`
  return `${effect} ${origin.layer === "unknown" ? "(of unknown origin)" : placeText(origin, home)}`
}

function ignoredText(because: Ignored["because"], home: string): string {
  switch (because.kind) {
    case "array_in_markdown":
      return "OpenCode 1 passes over `permissions` in a Markdown agent, its word is `permission`"
    case "key_in_markdown":
      return `beside \`${because.key}\` OpenCode 2 takes the file for one of OpenCode 1 and loses its \`permissions\``
    case "key_in_document":
      return `beside \`${because.key}\` this build takes the file for one of OpenCode 1 and loses its \`permissions\``
    case "malformed":
      return "this build drops a file with a malformed section"
    case "replaced":
      return `the same key ${placeText(because.by, home)} takes its place`
  }
}

/** Which rule wins, and where it stands. */
export function winnerText({ rule, agent }: Blocked, home: string): string {
  return rule
    ? `${ruleText(rule)} ${placeText(rule.origin, home)} wins for ${agent}`
    : `no rule matches it for ${agent}, and the host asks`
}

/** What would help against a rule that this tool does not touch. */
export function remedyText({ rule, agent }: Blocked, home: string): string {
  if (!rule) return "give it a rule of its own above the global files"
  const { layer, file, line } = rule.origin
  const at = file === null ? "" : `${placeText(rule.origin, home).replace(/^in /, "")}`
  if (rule.origin.agent !== undefined && file !== null)
    return `change ${at}: the rules of the agent \`${rule.origin.agent}\` come after all others`
  switch (layer) {
    case "global":
      return rule.action === "skill"
        ? `move or narrow ${at}: it comes after every place where an exact rule could stand`
        : `move line ${line} above the \`skill\` section in ${at.replace(/ line \d+$/, "")}: the later key wins`
    case "project":
      return `change ${at}: a project's rules come after the global ones`
    case "explicit":
    case "managed":
      return `change ${at}: it comes after the global files`
    case "content":
      return "change the environment variable that holds it (`OPENCODE_CONFIG_CONTENT` or `OPENCODE_PERMISSION`)"
    case "host-default":
    case "built-in-agent":
      return `give the agent \`${agent}\` a rule of its own`
    default:
      return "find the plugin or the layer that adds it: only there can it be changed"
  }
}
