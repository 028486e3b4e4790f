import type { Answered } from "../../actions/answered.ts"
import { run } from "../../actions/run.ts"
import { decodeOptions } from "../options.ts"
import { isRecord, text } from "../values.ts"
import { opencode2 } from "./host.ts"
import { readSources } from "./layers.ts"
import type { Context } from "./setup.ts"

export async function call(context: Context, input: unknown, given: unknown): Promise<Answered> {
  const caller = isRecord(given) ? given : {}
  const signal = caller.signal
  const place = await locationOf(context)
  const sources = await readSources(place.directory)
  const host = opencode2({
    lists: context.lists,
    ...place,
    version: context.version,
    caller: {
      agent: text(caller.agent),
      session: text(caller.sessionID),
      ...(signal instanceof AbortSignal && { signal }),
    },
    options: decodeOptions(context.options, [...sources.globals, ...sources.higher]),
    sources,
  })
  return run(host, input)
}

/** Both the context (2.0) and the lists (betas) name the directory, and the repository above it. */
async function locationOf(context: Context): Promise<{ directory: string; worktree: string }> {
  const given = isRecord(context.location) ? context.location : await locationInList(context)
  const found = isRecord(given) ? given : {}
  const project = isRecord(found.project) ? found.project : {}
  return {
    directory: text(found.directory) ?? process.cwd(),
    worktree: text(project.directory) ?? "/",
  }
}

async function locationInList({ lists }: Context): Promise<unknown> {
  const list: unknown = await lists.agents().catch(() => null)
  return isRecord(list) ? list.location : null
}
