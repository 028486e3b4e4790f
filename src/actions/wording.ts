import type { Decision } from "../core/evaluate.ts"
import { type LocatedRule, type Origin, shownRule } from "../core/rule.ts"
import type { Unlisted } from "../tool/vocabulary.ts"
import type { HostSkill } from "./ports.ts"

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
    unknown: "of unknown place",
  }
  return `(${words[origin.layer] ?? origin.layer})`
}

const EFFECT_WORDS = { allow: "allowed", ask: "asked for first", deny: "denied" } as const

const UNLISTED_WORDS: Record<Unlisted, string> = {
  denied: "",
  no_description: "it has no description, so the model is not told of it",
  autoinvoke_off: "its `autoinvoke` is off, so the model is not told of it",
  no_skill_tool: "the agent has no `skill` tool, so the model is told of no skill",
}

/** One sentence that a person understands: the effect, the deciding rule and its place, what that overrides. */
export function conclusionOf(
  skill: HostSkill,
  agent: string,
  decision: Decision,
  matching: readonly LocatedRule[],
  unlisted: Unlisted | null,
  home: string,
): string {
  const name = `\`${skill.id ?? skill.name ?? "?"}\``
  const deciding = matching.at(-1)
  const why = deciding
    ? `by ${ruleText(deciding)} ${placeText(deciding.origin, home)}`
    : "because no rule matches it and the host then asks"
  const overridden = matching.slice(0, -1).findLast((rule) => rule.effect !== decision.effect)
  const over = overridden
    ? `, which overrides the ${overridden.effect} ${overridden.origin.line === null ? placeText(overridden.origin, home) : `${ruleText(overridden)} ${placeText(overridden.origin, home)}`}`
    : ""
  const extra = unlisted && UNLISTED_WORDS[unlisted] ? `; ${UNLISTED_WORDS[unlisted]}` : ""
  return `${name} is ${EFFECT_WORDS[decision.effect]} for ${agent} ${why}${over}${extra}`
}
