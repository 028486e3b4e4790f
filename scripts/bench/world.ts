/** An installation of any size: skills, rules about some of them, agents that share most of their rules. */
import type { Effect, Rule } from "../../src/core/rule.ts"

export interface Size {
  readonly skills: number
  readonly agents: number
  /** Of each agent. */
  readonly rules: number
}

const TOPICS = ["pdf", "docx", "sheet", "deploy", "review", "lint", "design", "audit", "mail", "chart"]
const VERBS = ["read", "write", "check", "plan", "merge", "draw", "scan", "sort", "send", "fix"]

export const idOf = (i: number): string => `${TOPICS[i % 10]}-${VERBS[Math.floor(i / 10) % 10]}-${i}`
export const idsOf = (count: number): string[] => Array.from({ length: count }, (_, i) => idOf(i))

const EFFECTS: readonly Effect[] = ["deny", "allow", "ask"]
/** Of ten rules seven name one skill, as bulk disabling leaves them; the others are patterns of each kind. */
const RESOURCES: readonly ((i: number) => string)[] = [
  ...Array.from({ length: 7 }, () => (i: number) => idOf(i * 3)),
  (i) => `${TOPICS[i % 10]}-${VERBS[i % 7]}-${i}*`,
  (i) => `*-${i}`,
  (i) => `${TOPICS[i % 9]}-*-${i}?`,
]

const ruleOf = (i: number): Rule => ({
  action: "skill",
  resource: (RESOURCES[i % RESOURCES.length] ?? idOf)(i),
  effect: EFFECTS[i % EFFECTS.length] ?? "deny",
})

/**
 * Each agent's rules: the host's share, which denies every third agent all that nothing allows; what all share; and a
 * twentieth of its own at the end.
 */
export function rulesetsOf(size: Size): Rule[][] {
  const { shared, own } = partsOf(size)
  const everything = (effect: Effect): Rule => ({ action: "*", resource: "*", effect })
  return own.map((rules, i) => [everything("allow"), ...(i % 3 === 2 ? [everything("deny")] : []), ...shared, ...rules])
}

function partsOf({ agents, rules }: Size): { shared: Rule[]; own: Rule[][] } {
  const count = Math.floor(rules / 20)
  return {
    shared: Array.from({ length: Math.max(0, rules - count - 1) }, (_, i) => ruleOf(i)),
    own: Array.from({ length: agents }, (_, agent) =>
      Array.from({ length: count }, (_, i) => ruleOf(rules + agent * count + i)),
    ),
  }
}

/** The OpenCode 1 config that these rules come from. */
export function configOf(size: Size): string {
  const { shared, own } = partsOf(size)
  const permission = (rules: readonly Rule[]) => ({
    skill: Object.fromEntries(rules.map(({ resource, effect }) => [resource, effect])),
  })
  const sections = own.map((rules, i) => [`agent-${i}`, { permission: permission(rules) }])
  return JSON.stringify({ permission: permission(shared), agent: Object.fromEntries(sections) }, null, 2)
}

/** A config of about so many characters that has nothing to do with skills, comments and all. */
export function largeConfig(length: number): string {
  const entry = (i: number) =>
    `    // Entry ${i}: why it is here.\n    "entry-${i}": { "npm": "a-provider", "name": "Provider ${i}" },\n`
  const entries = Array.from({ length: Math.ceil(length / entry(10_000).length) }, (_, i) => entry(i))
  return `{\n  "permission": {\n    "skill": {}\n  },\n  "provider": {\n${entries.join("")}  },\n}\n`
}

/** Skills as the host's registry has them, with descriptions of a usual length: about 280 characters. */
export const skillsOf = (count: number) =>
  idsOf(count).map((name, i) => ({
    name,
    location: `/home/user/.config/opencode/skills/${name}/SKILL.md`,
    description:
      `Use this skill to ${VERBS[i % 10]} ${TOPICS[i % 7]} files, or whenever the user asks for ${TOPICS[i % 9]} number ${i}. ` +
      `It knows how to ${VERBS[i % 3]} what others wrote, to ${VERBS[i % 7]} several of them at once, and to tell when one ` +
      `is broken. Do not use it for ${TOPICS[i % 4]} files that only have to be shown, nor where a tool of the host will do.`,
  }))
