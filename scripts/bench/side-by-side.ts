/** What is measured is what the engine makes of the code in the end. */
const WARM_UPS = 8

/**
 * Two ways of the same work in turns, so that the machine's mood meets both; medians, in ms.
 */
export async function sideBySide(rounds: number, ours: () => unknown, theirs: () => unknown) {
  const times = { ours: [] as number[], theirs: [] as number[] }
  for (let round = 0; round < WARM_UPS; round++) for (const warmUp of [ours, theirs]) await warmUp()
  for (let round = 0; round < rounds; round++) {
    times.ours.push(await timed(ours))
    times.theirs.push(await timed(theirs))
  }
  return { ours: median(times.ours), theirs: median(times.theirs) }
}

export async function timed(work: () => unknown): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

export const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0
