import { decide } from "../core/evaluate.ts"
import type { Effect } from "../core/rule.ts"
import type { DisableBody, EnableBody, Next, Notice } from "../tool/answer-schema.ts"
import { cut } from "../tool/budget.ts"
import type { Outcome } from "../tool/envelope.ts"
import { excerptDiff } from "../tool/excerpt.ts"
import type { Request } from "../tool/input.ts"
import { notice } from "../tool/notices.ts"
import type { Reason } from "../tool/vocabulary.ts"
import type { Committed } from "./commit.ts"
import { impactOf } from "./impact.ts"
import type { Rehearsal } from "./rehearse.ts"
import { deniedByHost } from "./world.ts"

export type Verification = DisableBody["verification"]

const MAX_DIFF_LINES = 200
const MAX_NAMES = 60

/** The answer to a write or its rehearsal, with the fields in the contract's order. */
export function renderChange(
  rehearsal: Rehearsal,
  request: Request,
  verification: Verification,
  committed: Committed | null,
  notices: readonly Notice[],
  share: number,
): Outcome {
  const { scene, caller, wish, result, sidecar } = rehearsal
  const plan = result.kind === "change" ? result.plan : null
  const outcomes = plan?.outcomes ?? (result.kind === "unchanged" ? result.outcomes : [])
  const own = outcomes.find(({ agent }) => agent.id === caller.id)
  const before: Effect = own ? decide(own.before, wish.id).effect : "ask"
  const after: Effect = own ? decide(own.after, wish.id).effect : "ask"
  const reason: Reason = plan ? plan.reason : unchangedReason(rehearsal)
  const diffs = (plan?.changes ?? []).map((change) => excerptDiff(change.file.name, change.before, change.after))
  const lines = diffs.flatMap(({ diff }) => (diff === "" ? [] : diff.split("\n")))
  const shownLines = Math.ceil(MAX_DIFF_LINES * share)
  const names = Math.ceil(MAX_NAMES * share)
  const reached = new Set(outcomes.map(({ agent }) => agent.id))
  const unaffected = outcomes
    .filter(({ agent, before: was, after: becomes }) => {
      const same = decide(was, wish.id).effect === decide(becomes, wish.id).effect
      return agent.deniedByHost && same
    })
    .map(({ agent }) => agent.id)
  const changed = plan !== null && committed !== null
  const common: DisableBody = {
    changed,
    reason,
    targets: [{ id: wish.id, before, after, changed, reason }],
    before,
    after,
    diff: lines.slice(0, shownLines).join("\n"),
    ...(lines.length > shownLines && { diffTruncated: { shown: shownLines, total: lines.length } }),
    impact: plan ? impactOf(outcomes, [wish.id], scene.skills) : [],
    ...cut("unaffected", unaffected, names),
    ...cut(
      "unpredicted",
      scene.agents.map(({ id }) => id).filter((id) => !reached.has(id)),
      names,
    ),
    verification,
    takesEffect: takesEffect(rehearsal, notices),
    backup: committed?.backup ?? null,
    sidecar: { file: sidecar.path, written: committed?.sidecarWritten ?? false },
    change: committed?.change ?? null,
  }
  const masked = diffs.some((diff) => diff.masked)
  return {
    body: request.action === "enable" ? withPlace(common, rehearsal) : common,
    notices: masked ? [...notices, notice("diff_excerpt")] : notices,
    next: nextOf(request, rehearsal, committed !== null),
  }
}

function withPlace(common: DisableBody, { result }: Rehearsal): EnableBody {
  const rule = result.kind === "change" ? result.plan.rule : null
  return {
    ...common,
    location: rule?.file ?? null,
    rule: rule && {
      effect: rule.effect,
      origin: { layer: "global", file: rule.file, line: rule.line, column: rule.column },
    },
  }
}

function unchangedReason({ caller, wish }: Rehearsal): Reason {
  if (wish.effect === "allow") return "already_enabled"
  return deniedByHost(caller, wish.id) ? "already_denied_by_agent" : "already_disabled"
}

function takesEffect({ scene }: Rehearsal, notices: readonly Notice[]): "now" | "restart" {
  const stale = notices.some(({ code }) => code === "host_not_reloaded")
  return scene.host.reloads && !stale ? "now" : "restart"
}

function nextOf(request: Request, { wish, result }: Rehearsal, written: boolean): Next[] {
  if (result.kind === "unchanged") return [{ why: "which rule decides", input: { action: "inspect", id: wish.id } }]
  if (!written) {
    const { dryRun: _, ...call } = request
    return [{ why: "make this change", input: { ...call } }]
  }
  const back = request.action === "enable" ? "disable" : "enable"
  return [{ why: "take it back", input: { action: back, id: wish.id } }]
}
