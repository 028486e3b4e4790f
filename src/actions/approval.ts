import { compileRuleset, decide } from "../core/evaluate.ts"
import { type Effect, isWider, type Rule } from "../core/rule.ts"
import { idsOf } from "../core/world.ts"
import type { Notice } from "../tool/answer-schema.ts"
import { TOOL_NAME } from "../tool/input-schema.ts"
import { notice } from "../tool/notices.ts"
import { approvalRequired, notPermitted, type Problem } from "../tool/problems.ts"
import type { Rehearsal } from "./rehearse.ts"
import { deniedByHost } from "./world.ts"

/** What the caller's own rules say to a change, and what has to be asked of the user first. */
export interface Approval {
  readonly ask: readonly string[]
  readonly notices: readonly Notice[]
}

/** One ruleset's word on one resource; `said` is false where no rule speaks of this tool. */
interface Word {
  readonly effect: Effect
  readonly said: boolean
}

/**
 * Judges a change by the rules for the action `skill_management`: resource `enable:<id>` where it makes a skill more
 * available to any agent, `disable:<id>` where it makes one less so. The stricter word counts of the caller's merged
 * rules and of the same without the project's layers. `granted` are resources that the user has just allowed.
 */
export function judge(rehearsal: Rehearsal, granted: ReadonlySet<string>): Approval | Problem {
  const { scene, caller } = rehearsal
  const wanted = resourcesOf(rehearsal)
  const reachable = scene.agents.filter((agent) => !agent.hidden && !deniedByHost(agent, ""))
  const known = reachable.length > 0 ? reachable : scene.agents
  const agents = scene.verified ? [caller] : known
  const merged = agents.map((agent) => wordsOf(agent.host.rules))
  const own = agents.map((agent) => wordsOf(scene.observation.withoutProject(agent.host, TOOL_NAME)))
  const worst = (words: readonly ((resource: string) => Word)[], effect: Effect) =>
    wanted.filter((resource) => words.some((word) => word(resource).effect === effect))

  const denied = worst([...merged, ...own], "deny")
  if (denied.length > 0) return notPermitted(denied, caller.id, "rule")
  const asks = worst([...merged, ...own], "ask").filter((resource) => !granted.has(resource))
  const { ask } = scene.host
  const answerable = new Set(worst(merged, "ask"))
  if (asks.length > 0 && (!ask || !scene.verified || asks.some((resource) => !answerable.has(resource))))
    return approvalRequired(asks, reasonNotAsked(rehearsal, ask !== undefined))
  const silent = wanted.some((resource) => resource.startsWith("enable:") && !own.every((word) => word(resource).said))
  return { ask: asks, notices: silent ? [notice("approval_not_configured")] : [] }
}

function reasonNotAsked({ scene }: Rehearsal, canAsk: boolean): string {
  if (!canAsk) return "this host lets no plugin ask"
  return scene.verified ? "the rule that says so stands outside the project" : "the calling agent is not known"
}

/** What the change does to whom, as resources of this tool's own action. */
function resourcesOf({ draft }: Rehearsal): string[] {
  const ids = new Set(draft.targets.flatMap(({ wish }) => [wish.id, ...idsOf(wish)]))
  const found = new Set<string>()
  for (const { before, after } of draft.outcomes)
    for (const id of ids) {
      const [was, becomes] = [decide(before, id).effect, decide(after, id).effect]
      if (was !== becomes) found.add(`${isWider(was, becomes) ? "enable" : "disable"}:${id}`)
    }
  return [...found]
}

/** No rule, or an `allow` for every action, says nothing about this tool; measured: both hosts start so. */
function wordsOf(rules: readonly Rule[]): (resource: string) => Word {
  const compiled = compileRuleset(rules, TOOL_NAME)
  return (resource) => {
    const { effect, rule } = decide(compiled, resource)
    const deciding = rule === null ? undefined : compiled.rules[rule]
    const said = deciding !== undefined && !(deciding.effect === "allow" && deciding.action === "*")
    return { effect: said ? effect : "allow", said }
  }
}
