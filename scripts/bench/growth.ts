import { evaluator } from "./evaluation.ts"
import { collectGarbage } from "./garbage.ts"
import { openHost } from "./host.ts"
import { median, timed } from "./side-by-side.ts"
import { configOf, idsOf, rulesetsOf, type Size, skillsOf } from "./world.ts"

const ROUNDS = 9
const TIMES = 4

/** How the time of `list` grows with one measure of the installation, nothing being kept: the exponent, 1 being linear. */
export async function listGrowth(small: Size, measure: keyof Size): Promise<number> {
  return exponent(small, measure, async (size) => {
    await using host = await openHost({
      skills: skillsOf(size.skills),
      rulesets: rulesetsOf(size),
      config: configOf(size),
    })
    return medianOf(() => host.call({ action: "list" }), collectGarbage)
  })
}

/** The same of evaluation alone. */
export async function evaluationGrowth(small: Size, measure: keyof Size): Promise<number> {
  const ours = await evaluator()
  return exponent(small, measure, (size) => {
    const [rulesets, ids] = [rulesetsOf(size), idsOf(size.skills)]
    return medianOf(() => ours(rulesets, ids))
  })
}

async function exponent(small: Size, measure: keyof Size, time: (size: Size) => Promise<number>): Promise<number> {
  const large = { ...small, [measure]: small[measure] * TIMES }
  return Math.log((await time(large)) / (await time(small))) / Math.log(TIMES)
}

async function medianOf(work: () => unknown, before: () => void = () => {}): Promise<number> {
  const times: number[] = []
  await work()
  for (let round = 0; round < ROUNDS; round++) {
    before()
    times.push(await timed(work))
  }
  return median(times)
}
