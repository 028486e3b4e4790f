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
import { placeText, ruleText } from "./wording.ts"

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
        `\`${id}\` stays ${problem.blocked[0]?.effect ?? "deny"}: ${winnerText(problem.blocked, host)}`,
        "change that rule where it stands; nothing was written here",
        blockedData(problem.blocked),
      )
    case "not_effective": {
      const [harm] = problem.sideEffects
      return harm
        ? notEffective(
            `no edit reaches \`${id}\` alone: \`${harm.id}\` would turn from ${harm.before} to ${harm.after} for ${harm.agent}`,
            "write the section as a map by hand, with a `*` entry that keeps its meaning",
            {
              sideEffects: problem.sideEffects.slice(0, SHOWN),
              ...(problem.sideEffects.length > SHOWN && {
                sideEffectsTruncated: { shown: SHOWN, total: problem.sideEffects.length },
              }),
            },
          )
        : notEffective(
            `a rule for \`${id}\` in the global files would not win: ${winnerText(problem.blocked, host)}`,
            "move or change that rule; nothing was written",
            blockedData(problem.blocked),
          )
    }
  }
}

function winnerText(blocked: readonly Blocked[], host: Host): string {
  const [first] = blocked
  if (!first) return "another rule decides"
  return first.rule
    ? `${ruleText(first.rule)} ${placeText(first.rule.origin, host.home)} wins for ${first.agent}`
    : `no rule matches it for ${first.agent}, and the host asks`
}

const blockedData = (blocked: readonly Blocked[]) => ({
  blocked: blocked.slice(0, SHOWN).map(({ agent, effect, rule }) => ({ agent, effect, rule: rule && shownRule(rule) })),
  ...(blocked.length > SHOWN && { blockedTruncated: { shown: SHOWN, total: blocked.length } }),
})
