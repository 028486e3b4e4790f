import { decide } from "../core/evaluate.ts"
import type { ApplyBody, ChangeBody, EnableBody, Next, Notice, UndoBody } from "../tool/answer-schema.ts"
import { cut, fitted } from "../tool/budget.ts"
import { envelope, type Outcome } from "../tool/envelope.ts"
import { excerptDiff } from "../tool/excerpt.ts"
import { notice } from "../tool/notices.ts"
import type { Problem } from "../tool/problems.ts"
import type { Reason } from "../tool/vocabulary.ts"
import { changeNotices } from "./change-notices.ts"
import type { Committed } from "./commit.ts"
import { rulesMet } from "./enable-rules.ts"
import { impactOf, tokensSaved } from "./impact.ts"
import { tokenOf } from "./plan-token.ts"
import type { Rehearsal, Target } from "./rehearse.ts"
import { newest, pastChanges } from "./undo.ts"

type Verification = ChangeBody["verification"]

export const REHEARSED: Verification = { method: "simulated", ok: true, detail: "not written: a rehearsal" }
export const UNCHANGED: Verification = { method: "none", ok: true, detail: "nothing had to be written" }
export const SIMULATED: Verification = {
  method: "simulated",
  ok: true,
  detail: "the written files were read back and evaluated; this host reads them at its next start",
}
export const CONFIRMED: Verification = { method: "host", ok: true, detail: "the running host shows the new effect" }
export const NOT_RELOADED: Verification = {
  method: "simulated",
  ok: true,
  detail: "the written files were read back and evaluated; the host has not read them yet",
}

const MAX_DIFF_LINES = 200
const MAX_NAMES = 60
const MAX_TARGETS = 200

/** The answer to a write or its rehearsal. With a plan it holds counts and exceptions; without, all that was found. */
export async function answerChange(
  rehearsal: Rehearsal,
  verification: Verification,
  committed: Committed | null,
  approved: readonly Notice[],
  problem?: Problem,
): Promise<Outcome> {
  const { request, scene } = rehearsal
  const notices = [...scene.notices, ...changeNotices(rehearsal), ...approved, ...(committed?.notices ?? [])]
  if (verification === NOT_RELOADED) notices.push(notice("host_not_reloaded"))
  const short = request.plan !== undefined && problem === undefined
  const past = request.action === "undo" && request.dryRun === true ? newest(await pastChanges(scene.host)) : undefined
  const diffs = short
    ? []
    : rehearsal.draft.changes.map((change) => excerptDiff(change.file.name, change.before, change.after))
  if (diffs.some(({ masked }) => masked)) notices.push(notice("diff_excerpt"))
  const lines = diffs.flatMap(({ diff }) => (diff === "" ? [] : diff.split("\n")))
  const plans = committed === null && request.action !== "undo" && rehearsal.targets.some(({ changed }) => changed)
  const token = plans ? tokenOf(rehearsal) : null
  const result = resultOf(rehearsal, verification, committed)
  const whole = short ? null : changeBody(rehearsal, result, lines, token)
  const body = (share: number): object => {
    if (!whole) return applyBody(rehearsal, result, share)
    if (request.action === "enable") return withPlace(whole(share), rehearsal, share)
    return request.action === "undo" ? withUndone(whole(share), rehearsal, past) : whole(share)
  }
  return fitted(
    (share) => ({
      body: body(share),
      notices,
      next: nextOf(rehearsal, committed, token),
      ...(problem && { problem }),
    }),
    (outcome) => envelope(request.action, scene.host, outcome),
  )
}

/** What became of the whole change. */
function resultOf(
  { request, scene, sidecar, draft, targets }: Rehearsal,
  verification: Verification,
  committed: Committed | null,
) {
  const stale = verification === NOT_RELOADED || !scene.host.reloads
  return {
    changed: committed !== null,
    reason: reasonOf(
      draft.targets.length === 1 ? [] : targets.filter(({ changed }) => changed),
      targets,
      MIXED[request.action],
    ),
    verification,
    takesEffect: stale ? ("restart" as const) : ("now" as const),
    backup: committed?.backup ?? null,
    sidecar: { file: sidecar.path, written: committed?.sidecarWritten ?? false },
    change: committed?.change ?? null,
  }
}

/** What different reasons come to; those of `reconcile` have nothing in common. */
const MIXED: { readonly [action: string]: Reason | undefined } = { enable: "enabled", disable: "disabled" }

/** The reason that all share. */
function reasonOf(counting: readonly Target[], all: readonly Target[], mixed: Reason | null = null): Reason | null {
  const [first, ...others] = counting.length > 0 ? counting : all
  if (!first) return null
  return others.every(({ reason }) => reason === first.reason) ? first.reason : mixed
}

const shownTarget = ({ id, before, after, changed, reason }: Target, written: boolean) => ({
  id,
  before,
  after,
  changed: changed && written,
  reason,
})

function changeBody(
  rehearsal: Rehearsal,
  result: ReturnType<typeof resultOf>,
  lines: readonly string[],
  token: string | null,
): (share: number) => ChangeBody {
  const { scene, targets, draft } = rehearsal
  const { changed, reason, ...rest } = result
  const reached = new Set(draft.outcomes.map(({ agent }) => agent.id))
  const unaffected = draft.outcomes
    .filter(
      ({ agent, before, after }) =>
        agent.deniedByHost && targets.every(({ id }) => decide(before, id).effect === decide(after, id).effect),
    )
    .map(({ agent }) => agent.id)
  const unpredicted = scene.agents.map(({ id }) => id).filter((id) => !reached.has(id))
  const [target, second] = targets
  const shown = targets.map((one) => shownTarget(one, changed))
  const ids = targets.filter((one) => one.changed).map(({ id }) => id)
  const impact = impactOf(draft.outcomes, ids, scene.skills)
  return (share) => {
    const most = (count: number) => Math.ceil(count * share)
    return {
      changed,
      reason,
      ...cut("targets", shown, most(MAX_TARGETS)),
      ...(target && !second && { before: target.before, after: target.after }),
      diff: lines.slice(0, most(MAX_DIFF_LINES)).join("\n"),
      ...(lines.length > most(MAX_DIFF_LINES) && {
        diffTruncated: { shown: most(MAX_DIFF_LINES), total: lines.length },
      }),
      impact: impact(share),
      ...cut("unaffected", unaffected, most(MAX_NAMES)),
      ...cut("unpredicted", unpredicted, most(MAX_NAMES)),
      ...rest,
      ...(token !== null && { plan: { token, count: ids.length } }),
    }
  }
}

/** Counts, and the targets that were left as they were. */
function applyBody(rehearsal: Rehearsal, result: ReturnType<typeof resultOf>, share: number): ApplyBody {
  const { targets, draft, scene } = rehearsal
  const { changed, reason, ...rest } = result
  const exceptions = targets.filter((target) => !target.changed)
  const tokens = cut("tokens", draft.outcomes, Math.ceil(MAX_NAMES * share))
  return {
    changed,
    reason,
    counts: { targets: targets.length, changed: targets.length - exceptions.length, unchanged: exceptions.length },
    ...cut(
      "targets",
      exceptions.map((target) => shownTarget(target, false)),
      Math.ceil(MAX_NAMES * share),
    ),
    ...tokens,
    tokens: Object.fromEntries(tokensSaved(tokens.tokens, scene.skills)),
    ...rest,
  }
}

function withPlace(whole: ChangeBody, rehearsal: Rehearsal, share: number): EnableBody {
  const { rule } = rehearsal.draft
  return {
    ...whole,
    location: rule?.file ?? null,
    rule: rule && {
      effect: rule.effect,
      origin: { layer: "global", file: rule.file, line: rule.line, column: rule.column },
    },
    ...rulesMet(rehearsal, share),
  }
}

function withUndone(whole: ChangeBody, { undoes }: Rehearsal, changes: UndoBody["changes"]): UndoBody {
  return { ...whole, undoes: undoes ?? "", ...(changes && { changes }) }
}

function nextOf({ request, scene, targets }: Rehearsal, committed: Committed | null, token: string | null): Next[] {
  const [target, second] = targets
  if (!targets.some(({ changed }) => changed))
    return target && !second ? [{ why: "which rule decides", input: { action: "inspect", id: target.id } }] : []
  if (committed === null) {
    if (scene.host.options.writes === "operator") return []
    const { dryRun: _, plan: __, ...call } = request
    const plan = (request.id ?? request.name) === undefined && token !== null
    return [{ why: plan ? "apply exactly this" : "make this change", input: { ...call, ...(plan && { plan: token }) } }]
  }
  const why = request.action === "undo" ? "make it again" : "take it back"
  return [{ why, input: { action: "undo", change: committed.change } }]
}
