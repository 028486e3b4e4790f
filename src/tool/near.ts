import { distance } from "fastest-levenshtein"

/** The names most like a mistyped one, best first: at most `count`, and none that shares less than half of it. */
export function nearNames(wanted: string, known: readonly string[], count = 3): string[] {
  const lower = wanted.toLowerCase()
  const limit = Math.max(2, Math.floor(wanted.length / 2))
  return known
    .map((name) => ({ name, far: name.toLowerCase().includes(lower) ? 0 : distance(lower, name.toLowerCase()) }))
    .filter(({ far }) => far <= limit)
    .sort((a, b) => a.far - b.far || (a.name < b.name ? -1 : 1))
    .slice(0, count)
    .map(({ name }) => name)
}
