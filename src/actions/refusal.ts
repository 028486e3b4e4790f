import { join } from "node:path"
import type { Blocked } from "../core/outcome.ts"
import type { PlanProblem } from "../core/plan.ts"
import { shownRule } from "../core/rule.ts"
import type { Wish } from "../core/world.ts"
import {
  blockedElsewhere,
  configUnparsable,
  configUnsupported,
  idNotExpressible,
  notEffective,
  type Problem,
  predictionFailed,
} from "../tool/problems.ts"
import type { Host } from "./ports.ts"
import { placeText, remedyText, ruleText, winnerText } from "./wording.ts"

const SHOWN = 20

/** What a planner's refusal says to a person; without a wish where no single skill is asked for. */
export function refusal(
  problem: PlanProblem,
  wish: Wish | null,
  caller: string,
  host: Host,
  manual: { readonly file: string; readonly text: string } | null,
): Problem {
  const id = wish?.id ?? ""
  switch (problem.kind) {
    case "config_unparsable":
      return configUnparsable({ ...problem, file: join(host.configDirectory, problem.file) })
    case "config_unsupported":
      return configUnsupported({ ...problem, file: join(host.configDirectory, problem.file) })
    case "id_not_expressible":
      return idNotExpressible(id, problem.hits)
    case "prediction_failed":
      return predictionFailed(caller, problem.agents, manual)
    case "blocked_elsewhere":
      return blockedElsewhere(
        `\`${id}\` stays ${problem.blocked[0]?.effect ?? "deny"}: ${winner(problem.blocked, host)}`,
        `${remedy(problem.blocked, host)}; nothing was written here`,
        blockedData(problem.blocked),
      )
    case "not_effective": {
      const [harm] = problem.sideEffects
      return harm
        ? notEffective(
            `no edit reaches \`${id}\` alone: \`${harm.id}\` would turn from ${harm.before} to ${harm.after} for ${harm.agent}`,
            shadowed(problem.blocked, host),
            {
              ...blockedData(problem.blocked),
              sideEffects: problem.sideEffects.slice(0, SHOWN),
              ...(problem.sideEffects.length > SHOWN && {
                sideEffectsTruncated: { shown: SHOWN, total: problem.sideEffects.length },
              }),
            },
          )
        : notEffective(
            `a rule for \`${id}\` in the global files would not win: ${winner(problem.blocked, host)}`,
            `${remedy(problem.blocked, host)}; nothing was written`,
            blockedData(problem.blocked),
          )
    }
  }
}

const winner = ([first]: readonly Blocked[], { home }: Host): string =>
  first ? winnerText(first, home) : "another rule decides"

/** An entry beside it would take the place of a value that speaks of all skills. */
function shadowed([first]: readonly Blocked[], { home }: Host): string {
  const rule = first?.rule
  const value = rule?.origin.file ? `${ruleText(rule)} ${placeText(rule.origin, home)}` : "the section"
  return `write ${value} as a map by hand, with a \`*\` entry that keeps its meaning`
}

const remedy = ([first]: readonly Blocked[], { home }: Host): string =>
  first ? remedyText(first, home) : "inspect shows the rules that decide"

const blockedData = (blocked: readonly Blocked[]) => ({
  blocked: blocked.slice(0, SHOWN).map(({ agent, effect, rule }) => ({ agent, effect, rule: rule && shownRule(rule) })),
  ...(blocked.length > SHOWN && { blockedTruncated: { shown: SHOWN, total: blocked.length } }),
})
