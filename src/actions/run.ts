import { type Answer, envelope, type Outcome, render } from "../tool/envelope.ts"
import { decodeInput, type Request } from "../tool/input.ts"
import { ACTIONS, type Action } from "../tool/input-schema.ts"
import { internal, isProblem, type Problem, registryUnavailable, unsupportedHost } from "../tool/problems.ts"
import { change } from "./change.ts"
import { inspect } from "./inspect.ts"
import { list } from "./list.ts"
import { type Host, HostUnavailable } from "./ports.ts"

/** One call of the tool, from input to answer. Never throws: what nobody foresaw becomes `internal`. */
export async function run(host: Host, input: unknown): Promise<{ readonly answer: Answer; readonly text: string }> {
  const action = actionOf(input)
  const result = await perform(host, input).catch(toProblem)
  const outcome: Outcome = isProblem(result) ? { body: {}, notices: [], next: [], problem: result } : result
  // A registry may hold ids that no call can name; what is offered has to work.
  const next = outcome.next.filter((call) => !isProblem(decodeInput(call.input)))
  const answer = envelope(action, host, { ...outcome, next })
  return { answer, text: render(answer) }
}

async function perform(host: Host, input: unknown): Promise<Outcome | Problem> {
  const decoded = decodeInput(input)
  if (isProblem(decoded)) return decoded
  const { request, notices } = decoded
  const actions: Record<Action, (request: Request) => Promise<Outcome | Problem>> = {
    list: (call) => list(host, call, notices),
    inspect: (call) => inspect(host, call, notices),
    disable: (call) => change(host, call),
    enable: (call) => change(host, call),
    undo: (call) => change(host, call),
    reconcile: (call) => change(host, call),
  }
  return actions[request.action](request)
}

function toProblem(error: unknown): Problem {
  if (error instanceof HostUnavailable) return error.part === "both" ? unsupportedHost() : registryUnavailable()
  return internal(error instanceof Error ? error.name : "failure")
}

function actionOf(input: unknown): Action | "unknown" {
  const given = typeof input === "object" && input !== null && "action" in input ? input.action : undefined
  return ACTIONS.find((name) => name === given) ?? "unknown"
}
