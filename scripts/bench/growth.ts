import { firstList } from "./anew.ts"
import { evaluator } from "./evaluation.ts"
import { median, timed } from "./side-by-side.ts"
import { idsOf, rulesetsOf, type Size } from "./world.ts"

const ROUNDS = 9
const TIMES = 4

/** How the time of a first `list` grows with one measure of the installation: the exponent, 1 being linear. */
export const listGrowth = (small: Size, measure: keyof Size): Promise<number> =>
  exponent(small, measure, (size) => medianOf((round) => firstList(size, round)))

/** The same of evaluation alone. */
export async function evaluationGrowth(small: Size, measure: keyof Size): Promise<number> {
  const ours = await evaluator()
  return exponent(small, measure, (size) => {
    const [rulesets, ids] = [rulesetsOf(size), idsOf(size.skills)]
    return medianOf(() => timed(() => ours(rulesets, ids)))
  })
}

async function exponent(small: Size, measure: keyof Size, time: (size: Size) => Promise<number>): Promise<number> {
  const large = { ...small, [measure]: small[measure] * TIMES }
  return Math.log((await time(large)) / (await time(small))) / Math.log(TIMES)
}

async function medianOf(time: (round: number) => Promise<number>): Promise<number> {
  const times: number[] = []
  await time(-1)
  for (let round = 0; round < ROUNDS; round++) times.push(await time(round))
  return median(times)
}
