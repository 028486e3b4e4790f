import { bounded } from "../tool/budget.ts"
import { type Answer, envelope, type Outcome } from "../tool/envelope.ts"
import { ACTIONS } from "../tool/input-schema.ts"
import { internal, type Problem } from "../tool/problems.ts"

export interface Answered {
  readonly answer: Answer
  readonly text: string
}

type Told = Parameters<typeof envelope>[1]

export function answered(host: Told, input: unknown, outcome: Outcome): Answered {
  const given = typeof input === "object" && input !== null && "action" in input ? input.action : undefined
  return bounded(envelope(ACTIONS.find((name) => name === given) ?? "unknown", host, outcome))
}

/**
 * Answers also where the call throws, so that nothing is thrown into the host. The rest of the plugin is imported by the
 * first call: an update or an uninstallation may have taken its files from under the running host.
 */
export const guarded = (host: Told, input: unknown, call: () => Promise<Answered>): Promise<Answered> =>
  call().catch((error: unknown) => answered(host, input, failure(unforeseen(error))))

export const failure = (problem: Problem): Outcome => ({ body: {}, notices: [], next: [], problem })

export const unforeseen = (error: unknown): Problem => internal(error instanceof Error ? error.name : "failure")

/** Asks for something until it came, and keeps it. */
export function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | undefined
  return () => {
    asked ??= ask().catch((error: unknown) => {
      asked = undefined
      throw error
    })
    return asked
  }
}
