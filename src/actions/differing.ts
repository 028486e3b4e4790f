import { type LocatedRule, shownRule } from "../core/rule.ts"
import type { Notice } from "../tool/answer-schema.ts"
import { cut } from "../tool/budget.ts"
import { notice } from "../tool/notices.ts"
import type { Agent, Scene } from "./world.ts"

const MAX_NAMES = 20
const MAX_RULES = 8
const MAX_TEXT = 120

/**
 * The remark on agents whose rules the model does not account for: both sequences of the caller, or of the first of
 * them, so that a reader sees where they part. `predicted` is the configuration's share, which should end `real`.
 */
export function modelDiffers(scene: Scene, agents: readonly Agent[]): Notice[] {
  const shown = agents.find((agent) => agent === scene.caller) ?? agents[0]
  if (!shown) return []
  const predicted = scene.observation.model.loaded.tail(shown.id)
  return [
    notice("model_differs", {
      ...cut(
        "agents",
        agents.map(({ id }) => id),
        MAX_NAMES,
      ),
      agent: shown.id,
      ...ending("predicted", predicted),
      ...ending("real", shown.attributed.rules),
    }),
  ]
}

/** The last rules decide, so a long sequence loses its first ones. */
const ending = (name: string, rules: readonly LocatedRule[]) => ({
  [name]: rules.slice(-MAX_RULES).map(plain),
  ...(rules.length > MAX_RULES && { [`${name}Truncated`]: { shown: MAX_RULES, total: rules.length } }),
})

/** A rule as it may be shown, without its place. */
function plain(rule: LocatedRule) {
  const { action, resource, effect } = shownRule(rule)
  return { action: shorten(action), resource: shorten(resource), effect }
}

const shorten = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text)
