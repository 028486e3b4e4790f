import { type FileChange, findExact, takeOut } from "../core/candidates.ts"
import { compileAll, firstOf, outcomesOf, sideEffectsOf } from "../core/outcome.ts"
import { type Draft, merged } from "../core/plan-all.ts"
import { compareSidecar, type SidecarRecord } from "../core/sidecar.ts"
import { isLiteral } from "../core/wildcard.ts"
import { type World, worldWith } from "../core/world.ts"
import { cut } from "../tool/budget.ts"
import { notEffective, type Problem } from "../tool/problems.ts"
import { globalSkillRules } from "./records.ts"
import { refusal } from "./refusal.ts"
import type { Ground } from "./rehearse.ts"
import { protectedAmong } from "./targets.ts"

const SHOWN = 20

export interface Reconciliation {
  readonly draft: Draft
  /** Protected skills that a finding names: their records and rules are left as they are. */
  readonly leftOut: readonly string[]
}

/**
 * Brings records, rules and registry together: records without a rule go, recorded rules of skills that are gone go
 * with their records, exact rules of registered skills get a record. A second run finds nothing.
 */
export function reconciliation({ world, scene, caller, request }: Ground): Reconciliation | Problem {
  const wanted = request.where && "finding" in request.where ? request.where.finding : undefined
  const isWanted = (finding: string): boolean => wanted === undefined || wanted === finding
  const isOwn = (record: SidecarRecord): boolean => record.generation === world.generation
  const leftOut = new Set<string>()
  const isFree = (id: string): boolean => {
    const guarded = protectedAmong(scene.host, [id]).length > 0
    if (guarded) leftOut.add(id)
    return !guarded
  }
  const registered = new Set(world.skills)
  const rules = globalSkillRules(scene.observation)
  const findings = compareSidecar(world.records.filter(isOwn), rules, registered)
  const stale = new Set(isWanted("staleSidecarIds") ? findings.staleSidecarIds : [])
  const gone = isWanted("missingFromRegistry") ? findings.missingFromRegistry.filter(isFree) : []
  const hasRule = (record: SidecarRecord): boolean =>
    rules.some(
      ({ file, resource, effect }) => file === record.file && resource === record.id && effect === record.effect,
    )
  /** Each id once, with what became of it last. */
  const reasons = new Map<string, "record_dropped" | "record_added" | "rule_removed">()

  let records = world.records.filter((record) => {
    const drops = isOwn(record) && stale.has(record.id) && !hasRule(record) && isFree(record.id)
    if (drops) reasons.set(record.id, "record_dropped")
    return !drops
  })
  const edits: FileChange[] = []
  let next: World = world
  for (const id of gone) {
    const recorded = records.filter((record) => isOwn(record) && record.id === id)
    const exact = findExact(next.files, id).filter(({ file, rule }) =>
      recorded.some((record) => record.file === file.name && record.effect === rule.effect),
    )
    const taken = takeOut(next, id, exact)
    if ("kind" in taken) return refusal(taken, { id, effect: "allow" }, caller.id, scene.host, { file: "", text: "" })
    if (recorded.length > 0) reasons.set(id, taken.length > 0 ? "rule_removed" : "record_dropped")
    edits.push(...taken)
    records = records.filter((record) => !recorded.includes(record))
    next = worldWith(next, new Map(taken.map(({ file, after }) => [file.name, after])), records)
  }
  if (isWanted("unrecordedRules"))
    for (const { file, resource, effect, secret } of rules.toReversed()) {
      if (secret || !isLiteral(resource) || !registered.has(resource)) continue
      const isItsOwn = (record: SidecarRecord) => isOwn(record) && record.file === file && record.id === resource
      if (records.some((record) => isItsOwn(record) && hasRule(record)) || !isFree(resource)) continue
      // Somebody else may have given our rule another effect: what stood there before it is still known.
      const adopted = { ...world.records.find(isItsOwn), generation: world.generation, file, id: resource, effect }
      records = [...records.filter((record) => !isItsOwn(record)), adopted]
      reasons.set(resource, "record_added")
    }

  const before = compileAll(world.rulesets(new Map()))
  const after = compileAll(next.rulesets(new Map()), before)
  const sideEffects = before.flatMap((was, i) => sideEffectsOf(world, gone, was, after[i] ?? was))
  if (sideEffects.length > 0)
    return notEffective("taking the rules of missing skills out would change other skills", "remove them by hand", {
      ...cut("sideEffects", sideEffects, SHOWN),
    })
  const draft = {
    targets: [...reasons].map(([id, reason]) => ({ wish: { id, effect: "allow" as const }, reason })),
    changes: merged(edits),
    edits,
    records,
    outcomes: outcomesOf(world, firstOf(before), firstOf(after)),
    unreached: [],
    rule: null,
  }
  return { draft, leftOut: [...leftOut] }
}
