import { openHost } from "./host.ts"
import { timed } from "./side-by-side.ts"
import { configOf, rulesetsOf, type Size, skillsOf } from "./world.ts"

/** The first `list` of a host that has just started, in ms: nothing of it has been met before, whichever round it is. */
export async function firstList(size: Size, round: number): Promise<number> {
  await using host = await openHost(renamed(installationOf(size), round))
  return timed(() => host.call({ action: "list" }))
}

export const installationOf = (size: Size) => ({
  skills: skillsOf(size.skills),
  rulesets: rulesetsOf(size),
  config: configOf(size),
})

/** The same with other names for all skills, and so other rules. */
const renamed = <T>(installation: T, round: number): T =>
  JSON.parse(JSON.stringify(installation).replaceAll(/(?<!agent)-(\d+)/g, `-$1x${round}`))
