import { findExact } from "../core/candidates.ts"
import { positionAt } from "../core/config-text.ts"
import { trace } from "../core/evaluate.ts"
import { type LocatedRule, shownRule } from "../core/rule.ts"
import type { EnableBody } from "../tool/answer-schema.ts"
import { cut } from "../tool/budget.ts"
import type { Rehearsal } from "./rehearse.ts"

const MAX_RULES = 20

type RulesMet = Pick<EnableBody, "candidates" | "candidatesTruncated" | "relatedRules" | "relatedRulesTruncated">

/**
 * The rules that `enable` of one skill met, as they stood before: the exact ones of the global files, and whatever
 * else of the configuration matches the id for the caller, broad or from another layer.
 */
export function rulesMet({ caller, world, draft, targets }: Rehearsal, share: number): RulesMet {
  const [target, second] = targets
  const before = draft.outcomes.find(({ agent }) => agent.id === caller.id)?.before
  if (!target || second || !before) return {}
  const exact = findExact(world.files, target.id).map(({ file, rule }) => ({
    effect: rule.effect,
    origin: { layer: "global" as const, file: file.path, ...positionAt(file.text?.raw ?? "", rule.node.offset) },
  }))
  const isExact = ({ origin }: LocatedRule) =>
    exact.some(
      ({ origin: own }) => own.file === origin.file && own.line === origin.line && own.column === origin.column,
    )
  const matching = trace(before, target.id).flatMap((index) => before.rules[index] ?? [])
  const related = matching.filter((rule) => !HOSTS_OWN.includes(rule.origin.layer) && !isExact(rule))
  const most = Math.ceil(MAX_RULES * share)
  return { ...cut("candidates", exact, most), ...cut("relatedRules", related.map(shownRule), most) }
}

const HOSTS_OWN: readonly string[] = ["host-default", "built-in-agent"]
