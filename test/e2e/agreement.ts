/** The tool's word beside a host's, agent by agent and skill by skill, and the ledger of where they differ. */
import { readFileSync } from "node:fs"
import { parse } from "jsonc-parser"
import { expect } from "vitest"
import type { Host } from "../../src/actions/ports.ts"
import { run } from "../../src/actions/run.ts"
import type { LayerDocument } from "../../src/core/document.ts"
import type { Effect, LocatedRule, Origin, Rule } from "../../src/core/rule.ts"
import type { InspectBody, ListBody } from "../../src/tool/answer-schema.ts"
import { naiveMatch } from "../core/reference.ts"

export const numberFrom = (variable: string, usual: number): number => Number(process.env[variable] ?? usual)

type ShownRule = Rule & { readonly origin: Origin }
/** Effect and deciding rule of one skill for one agent. */
interface Decided {
  readonly effect: string
  readonly rule: ShownRule | null
}

/** What the tool says: `inspect` and `list` in full, the model behind them, and the texts that it read. */
export interface Said {
  readonly inspected: ReadonlyMap<string, ReadonlyMap<string, Decided>>
  readonly listed: ReadonlyMap<string, ReadonlyMap<string, string>>
  readonly skillTool: ReadonlyMap<string, boolean>
  /** The agents that `model_differs` names. */
  readonly differing: readonly string[]
  readonly documents: readonly LayerDocument[]
  tail(agent: string): readonly LocatedRule[]
}

const EFFECT_OF: Record<string, Effect> = { available: "allow", ask: "ask", disabled: "deny" }
const effectOf = (state: string): string => EFFECT_OF[state] ?? state

export type Inspected = Pick<InspectBody, "agents" | "rules"> & { readonly notices: readonly { data?: unknown }[] }

/** One answer of `inspect`, by agent. */
export const decisionsIn = ({ agents, rules }: Inspected): Map<string, Decided> =>
  new Map(
    agents.map(({ id, state, rule }) => [
      id,
      { effect: effectOf(state), rule: rule === null ? null : ((rules[rule] as ShownRule | undefined) ?? null) },
    ]),
  )

/** One answer of `list`, by skill. */
export const effectsIn = ({ skills }: Pick<ListBody, "skills">): Map<string, string> =>
  new Map(skills.map(({ id, state }) => [String(id), effectOf(String(state))]))

/** Asks the tool everything. To be done in the host's environment. */
export async function toolSays(host: Host, skills: readonly string[]): Promise<Said> {
  const call = async (input: object) => {
    const { answer } = await run(host, input)
    expect(answer).toMatchObject({ ok: true })
    return answer as unknown as Inspected & ListBody
  }
  const observation = await host.observe()
  const inspected = new Map<string, Map<string, Decided>>()
  let differing: string[] = []
  for (const id of skills) {
    const answer = await call({ action: "inspect", id })
    inspected.set(id, decisionsIn(answer))
    const notice = answer.notices.find((one) => "code" in one && one.code === "model_differs")
    differing = (notice?.data as { agents: string[] } | undefined)?.agents ?? []
  }
  const listed = new Map<string, Map<string, string>>()
  const skillTool = new Map<string, boolean>()
  for (const { id } of observation.agents) {
    const answer = await call({ action: "list", agent: id, limit: 100 })
    listed.set(id, effectsIn(answer))
    for (const agent of answer.summary.agents) skillTool.set(agent.id, agent.skillTool)
  }
  const { loaded } = observation.model
  return { inspected, listed, skillTool, differing, documents: observation.layers(new Map()), tail: loaded.tail }
}

/** What the host does with a skill, by the rule that it names; `undefined` where it names none. */
export interface Verdict {
  readonly skill: string
  readonly effect: Effect
  readonly rule?: Rule | null
}

/** What the host says of one config. */
export interface Heard {
  /** Every agent's whole ruleset. */
  readonly rules: ReadonlyMap<string, readonly Rule[]>
  readonly verdicts: ReadonlyMap<string, readonly Verdict[]>
}

/** A way in which a host differs from the model, and says so with its rules. */
export interface Divergence {
  readonly reason: string
  explains(difference: {
    readonly real: readonly Rule[]
    readonly predicted: readonly LocatedRule[]
    readonly said: Said
    readonly agent: string
  }): boolean
}

const triple = ({ action, resource, effect }: Rule): string => `${action} ${resource} ${effect}`
export const sameRules = (a: readonly Rule[], b: readonly Rule[]): boolean =>
  a.map(triple).join("\n") === b.map(triple).join("\n")
export const ofSkills = <R extends Rule>(rules: readonly R[]): R[] =>
  rules.filter((rule) => naiveMatch(rule.action, "skill"))

/** What the host may put before any configuration for an agent, as far as it speaks of skills. */
type BasesOf = (agent: string, said: Said) => readonly (readonly Rule[])[]

/** Compares config after config, and counts. */
export class Ledger {
  private readonly count = { configs: 0, agents: 0, accounted: 0, verdicts: 0, places: 0 }
  private readonly verdicts = new Map<string, number>()
  private readonly deciding = new Map<string, number>()
  private readonly known = new Map<string, number>()
  private readonly skills = new Set<string>()
  private disagreements = 0

  private readonly divergences: readonly Divergence[]
  private readonly basesOf: BasesOf
  constructor(divergences: readonly Divergence[], basesOf: BasesOf) {
    this.divergences = divergences
    this.basesOf = basesOf
  }

  /** Every disagreement that no known divergence explains, as text. `home` is the host's. */
  compare(said: Said, heard: Heard, home: string): string[] {
    this.count.configs++
    const found: string[] = []
    for (const [agent, rules] of heard.rules) found.push(...this.compareRules(said, agent, ofSkills(rules)))
    for (const [agent, verdicts] of heard.verdicts)
      for (const verdict of verdicts)
        found.push(...this.compareVerdict(said, agent, verdict, heard.rules.get(agent) ?? [], home))
    this.disagreements += found.length
    return found
  }

  /** The whole ruleset that the configuration alone foretells, for each way the agent may start. */
  predictions(said: Said, agent: string): LocatedRule[][] {
    const tail = said.tail(agent)
    return this.basesOf(agent, said).map((base) => [...base.map((rule) => ({ ...rule, origin: NOWHERE })), ...tail])
  }

  private compareRules(said: Said, agent: string, real: readonly Rule[]): string[] {
    this.count.agents++
    const predictions = this.predictions(said, agent)
    const differs = said.differing.includes(agent)
    if (predictions.some((predicted) => sameRules(real, predicted))) {
      this.count.accounted++
      return differs ? [`${agent}: \`model_differs\` without a difference`] : []
    }
    const explains = (one: Divergence) =>
      predictions.some((predicted) => one.explains({ real, predicted, said, agent }))
    const reason = this.divergences.find(explains)?.reason
    if (reason !== undefined) tally(this.known, reason)
    const lists = [real, ...predictions].map((rules) => rules.map(triple).join(", "))
    return [
      ...(differs ? [] : [`${agent}: a difference without \`model_differs\``]),
      ...(reason === undefined ? [`${agent}: ${lists.join("\n  not ")}`] : []),
    ]
  }

  private compareVerdict(said: Said, agent: string, verdict: Verdict, real: readonly Rule[], home: string): string[] {
    const { skill, effect } = verdict
    this.count.verdicts++
    this.skills.add(skill)
    tally(this.verdicts, effect)
    const decided = said.inspected.get(skill)?.get(agent)
    const rule = decided?.rule ?? null
    tally(this.deciding, rule?.origin.layer ?? "none matches")
    const matching = ofSkills(real).filter(({ resource }) => naiveMatch(resource, skill))
    const deciding = verdict.rule ?? matching.at(-1)
    const shown = (one: Rule | null | undefined) => one && (rule && isHidden(rule) ? one.effect : triple(one))
    const pairs: [what: string, tool: unknown, host: unknown][] = [
      ["inspect", decided?.effect, effect],
      ["list", said.listed.get(agent)?.get(skill), effect],
      ["the rule", shown(rule) ?? undefined, shown(deciding)],
    ]
    if (verdict.rule !== undefined) pairs.push(["the skill tool", said.skillTool.get(agent), verdict.rule !== null])
    if (rule?.origin.file && !isHidden(rule)) {
      this.count.places++
      pairs.push(["the place", standsAt(rule, home), true])
    }
    return pairs
      .filter(([, tool, host]) => tool !== host)
      .map(([what, tool, host]) => `${agent}, ${skill}, ${what}: ${tool}, not ${host} ${JSON.stringify(rule?.origin)}`)
  }

  get counts() {
    const { count, skills, disagreements } = this
    return { ...count, skills: skills.size, disagreements, known: Object.fromEntries(this.known) }
  }

  report(host: string): string {
    const { configs, agents, accounted, verdicts, places, skills, disagreements } = this.counts
    const list = (counts: ReadonlyMap<string, number>) => [...counts].map((one) => one.join(" ")).join(", ") || "none"
    const share = ((100 * accounted) / agents).toFixed(1)
    return [
      `agreement with ${host}`,
      `  ${configs} configs, ${agents} agents, ${skills} skills`,
      `  model accounts for ${accounted} agents (${share} %), model unknown for ${agents - accounted}`,
      `  known divergences, in agents: ${list(this.known)}`,
      `  ${verdicts} verdicts: ${list(this.verdicts)}`,
      `  decided by: ${list(this.deciding)}; ${places} places looked up`,
      `  ${disagreements} disagreements`,
    ].join("\n")
  }
}

const NOWHERE: Origin = { layer: "unknown", file: null, line: null, column: null }

const tally = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1)

/** Holds what a reference was replaced by. */
const isHidden = (rule: Rule): boolean => rule.action === "…"

/** Whether a rule is written where its origin says: as an element, as a key with its effect, or as an effect alone. */
function standsAt({ action, resource, effect, origin: { file, line, column } }: ShownRule, home: string): boolean {
  const text = readFileSync((file ?? "").replace(/^~\//, `${home}/`), "utf8")
  const here = text.split(/\r\n|\n|\r/)[(line ?? 0) - 1]?.slice((column ?? 0) - 1) ?? ""
  if (here.startsWith("{")) {
    const element = parse(here, [], { allowTrailingComma: true })
    return element.action === action && element.resource === resource && element.effect === effect
  }
  const [, quoted, plain, value = ""] = /^(?:"((?:[^"\\]|\\.)*)"|([^":]+?))\s*:\s*"?(\w+)/.exec(here) ?? []
  const key = quoted === undefined ? plain : String(JSON.parse(`"${quoted}"`))
  if (key === undefined) return action === "*" && resource === "*" && here.replace('"', "").startsWith(effect)
  const written = { true: "allow", false: "deny" }[value] ?? value
  const names = [key, key.replace(/^(~(?=$|\/)|\$HOME)/, home)]
  return written === effect && (names.includes(resource) || (resource === "*" && key === action))
}
