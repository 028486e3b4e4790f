/** The neutral calls as the tool's own: the one place where the two vocabularies meet. */
import type { NeutralCall } from "./corpus.ts"

export type Input = Readonly<Record<string, string>>

/** One call of the tool for each id. A call that is none of the tool's (a load, a loop) has no input. */
export function toolCalls(call: NeutralCall): Input[] {
  const { action, skill, pattern, patterns, effect, agent } = call
  const seenBy = agent === undefined ? {} : { agent }
  const ids = patterns ?? (pattern === undefined ? [] : [pattern])
  switch (action) {
    case "list":
      return [{ action: "list", ...seenBy }]
    case "check":
      return [{ action: "inspect", id: skill ?? "", ...seenBy }]
    case "remove_permission":
      return ids.map((id) => ({ action: "enable", id, ...seenBy }))
    case "set_permission":
      return ids.map((id) =>
        effect === "allow"
          ? { action: "enable", id, ...seenBy }
          : { action: "disable", id, ...(effect === "ask" && { effect }), ...seenBy },
      )
    default:
      return []
  }
}
