import type { Outcome } from "../tool/envelope.ts"
import { decodeInput, type Request } from "../tool/input.ts"
import type { Action } from "../tool/input-schema.ts"
import { isProblem, type Problem, registryUnavailable, unsupportedHost } from "../tool/problems.ts"
import { type Answered, answered, failure, once, unforeseen } from "./answered.ts"
import { type Host, HostUnavailable } from "./ports.ts"

/** One call of the tool, from input to answer. Never throws: what nobody foresaw becomes `internal`. */
export async function run(host: Host, input: unknown): Promise<Answered> {
  const result = await perform(host, input).catch(toProblem)
  const outcome = isProblem(result) ? failure(result) : result
  // A registry may hold ids that no call can name; what is offered has to work.
  const next = outcome.next.filter((call) => !isProblem(decodeInput(call.input)))
  return answered(host, input, { ...outcome, next })
}

/** Each is imported when it is first asked for: what writes costs nothing where nobody writes. */
const parts = {
  list: once(() => import("./list.ts")),
  inspect: once(() => import("./inspect.ts")),
  change: once(() => import("./change.ts")),
}

async function perform(host: Host, input: unknown): Promise<Outcome | Problem> {
  const decoded = decodeInput(input)
  if (isProblem(decoded)) return decoded
  const { request, notices } = decoded
  const change = async (call: Request) => (await parts.change()).change(host, call)
  const actions: Record<Action, (request: Request) => Promise<Outcome | Problem>> = {
    list: async (call) => (await parts.list()).list(host, call, notices),
    inspect: async (call) => (await parts.inspect()).inspect(host, call, notices),
    disable: change,
    enable: change,
    undo: change,
    reconcile: change,
  }
  return actions[request.action](request)
}

function toProblem(error: unknown): Problem {
  if (error instanceof HostUnavailable) return error.part === "both" ? unsupportedHost() : registryUnavailable()
  return unforeseen(error)
}
