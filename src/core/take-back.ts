import type { FileChange } from "./candidates.ts"
import { parseJsonc } from "./config-text.ts"
import { findExactRules } from "./dialect/edit.ts"
import { type CreatedSection, removeRule, restoredDocument, setEffect } from "./dialect/section.ts"
import { applyEdits } from "./span-edit.ts"

/**
 * A file's text without one change of ours: its former text where nobody wrote since, else with our rule alone taken
 * back. Undefined where that cannot be told. Null is no file.
 */
export function textWithout(
  now: string | null,
  change: FileChange,
  id: string,
  created: CreatedSection | undefined,
): string | null | undefined {
  if (now === change.after) return change.before
  if (now === null || now === change.before) return now
  const root = parseJsonc(now)
  const [rule, second] = findExactRules(root, id)
  const [former] = change.before === null ? [] : findExactRules(parseJsonc(change.before), id)
  if (!root || !rule || second) return undefined
  if (former) return applyEdits(now, setEffect(now, rule, former.effect))
  const whole = created && restoredDocument(now, root, rule, created)
  return whole === undefined ? applyEdits(now, removeRule(now, root, rule, created)) : whole
}
