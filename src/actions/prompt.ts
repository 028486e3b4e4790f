import type { State, Unlisted } from "../tool/vocabulary.ts"
import type { HostSkill } from "./ports.ts"

/** Why the model is not told of a skill; null when it is. Order: the strongest reason first. */
export function unlistedReason(state: State, skillTool: boolean, skill: HostSkill): Unlisted | null {
  if (!skillTool) return "no_skill_tool"
  if (state === "disabled") return "denied"
  if (skill.description === null) return "no_description"
  return skill.autoinvoke === false ? "autoinvoke_off" : null
}

/** What one agent's prompt pays for all the skills that it lists. `states` are the agent's, in the skills' order. */
export const tokensOf = (states: readonly State[], skillTool: boolean, skills: readonly HostSkill[]): number =>
  skills.reduce(
    (sum, skill, i) => sum + (unlistedReason(states[i] ?? "unknown", skillTool, skill) ? 0 : promptTokens(skill)),
    0,
  )

const known = new WeakMap<HostSkill, number>()

/** What the prompt pays for a listed skill, in estimated tokens; worked out once for each look at the registry. */
export function promptTokens(skill: HostSkill): number {
  const tokens = known.get(skill) ?? estimate(skill)
  known.set(skill, tokens)
  return tokens
}

/** A listed skill's entry in the prompt, as OpenCode 1.18.34 prints it: only the location is escaped (measured). */
export const promptEntry = (skill: HostSkill): string =>
  `  <skill>\n    <name>${nameOf(skill)}</name>\n    <description>${skill.description ?? ""}</description>\n` +
  `    <location>${locationOf(skill)}</location>\n  </skill>\n`

const nameOf = ({ id, name }: HostSkill): string => name ?? id ?? ""

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
}
const locationOf = ({ location }: HostSkill): string =>
  (location ?? "").replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character)

/** What an entry without name, description and location costs (o200k_base). */
const FRAME_TOKENS = 28
/** Characters to a token: paths come in smaller pieces than words. */
const WORDS = 4
const PATHS = 3
/** From the first ideographs on, a character is about three quarters of a token. */
const WIDE = /[\u2e80-\uffff]/g

/** How far this is from a real tokenizer's count stands in docs/reference/hosts.md. */
function estimate(skill: HostSkill): number {
  const words = nameOf(skill) + (skill.description ?? "")
  const wide = words.match(WIDE)?.length ?? 0
  return Math.ceil(FRAME_TOKENS + (words.length + 2 * wide) / WORDS + locationOf(skill).length / PATHS)
}
