import type { FileChange } from "./candidates.ts"
import { parseJsonc } from "./config-text.ts"
import { findExactRules } from "./dialect/edit.ts"
import { type CreatedSection, removeRule, restoredDocument, setEffect } from "./dialect/section.ts"
import type { Effect } from "./rule.ts"
import type { SidecarRecord } from "./sidecar.ts"
import { applyEdits } from "./span-edit.ts"

/** What one change made of the exact rule for an id in one file; null is no rule. */
export interface RuleChange {
  readonly id: string
  readonly before: Effect | null
  readonly after: Effect | null
  /** The section that was made for it. */
  readonly created?: CreatedSection
}

/** The rules that a change of a file is about. `records` are those of the sidecar afterwards. */
export function rulesChanged(
  { file, before, after }: FileChange,
  ids: readonly string[],
  records: readonly SidecarRecord[],
): RuleChange[] {
  const [old, fresh] = [before, after].map((text) => (text === null ? undefined : parseJsonc(text)))
  return ids.flatMap((id): RuleChange[] => {
    const [was, becomes] = [old, fresh].map((root) => findExactRules(root, id).at(-1)?.effect ?? null)
    if (was === undefined || becomes === undefined || was === becomes) return []
    const created = records.find((record) => record.file === file.name && record.id === id)?.sections?.[0]
    return [{ id, before: was, after: becomes, ...(created && { created }) }]
  })
}

/**
 * A file's text with these rules as they were before the change; null is no file. Undefined where that cannot be told:
 * somebody else changed a rule since, or it was taken out and its former place is not known.
 */
export function withoutRules(now: string, rules: readonly RuleChange[]): string | null | undefined {
  let text: string | null = now
  for (const { id, before, after, created } of rules.toReversed()) {
    const root: ReturnType<typeof parseJsonc> = text === null ? undefined : parseJsonc(text)
    const [rule, second] = findExactRules(root, id)
    if (text === null || !root || !rule || second || rule.effect !== after) return undefined
    if (before !== null) text = applyEdits(text, setEffect(text, rule, before))
    else {
      const whole: string | null | undefined = created && restoredDocument(text, root, rule, created)
      text = whole === undefined ? applyEdits(text, removeRule(text, root, rule, created)) : whole
    }
  }
  return text
}

/** A file's text without one change of ours: its former text where nobody wrote since, else without our rules. */
export function textWithout(
  now: string | null,
  change: FileChange,
  rules: readonly RuleChange[],
): string | null | undefined {
  if (now === change.after) return change.before
  if (now === null || now === change.before) return now
  return withoutRules(now, rules)
}
