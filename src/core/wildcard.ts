/**
 * The hosts' pattern language (the same table holds on OpenCode 1.18.34 and on OpenCode 2, Linux):
 * the pattern covers the whole value; `*` is any run, across `/` and line breaks too; `?` is exactly one UTF-16 unit;
 * `\` equals `/`; a final ` *` also matches the value without it; all else is literal and case-sensitive.
 */
export interface Matcher {
  readonly pattern: string
  matches(value: string): boolean
}

/** Compiles a pattern once. Matching takes about pattern + value steps: literal runs are searched, never retried. */
export function compilePattern(pattern: string): Matcher {
  const canonical = slashed(pattern)
  const matches = hasWildcard(canonical) ? globMatcher(canonical) : (value: string) => value === canonical
  return { pattern, matches: (value) => matches(slashed(value)) }
}

/** True when a pattern can only mean the one value that it spells. */
export const isLiteral = (pattern: string): boolean => !hasWildcard(pattern)

/** What every value that a pattern matches starts and ends with, once `\\` is written as `/`. */
export function literalEnds(pattern: string): { readonly start: string; readonly end: string } {
  const canonical = slashed(pattern)
  // A final ` *` may be missing from the value, blank and all.
  const bare = canonical.endsWith(" *") ? canonical.slice(0, -2) : canonical
  const [start = "", ...others] = bare.split(/[*?]/)
  return { start, end: bare === canonical ? (others.at(-1) ?? start) : "" }
}

const hasWildcard = (pattern: string): boolean => pattern.includes("*") || pattern.includes("?")

/** Both hosts take `\\` for `/`, in patterns and in values. */
export const slashed = (text: string): string => (text.includes("\\") ? text.replaceAll("\\", "/") : text)

function globMatcher(pattern: string): (value: string) => boolean {
  const runs = pattern.split("*")
  const whole = (value: string) => matchRuns(runs, value)
  if (!pattern.endsWith(" *")) return whole
  const bareRuns = pattern.slice(0, -2).split("*")
  return (value) => whole(value) || matchRuns(bareRuns, value)
}

/** The leftmost place of each literal run is always as good as a later one, so nothing is ever tried twice. */
function matchRuns(runs: readonly string[], value: string): boolean {
  const first = runs[0] ?? ""
  if (runs.length === 1) return value.length === first.length && runAt(value, 0, first)
  const last = runs.at(-1) ?? ""
  const lastStart = value.length - last.length
  if (lastStart < first.length || !runAt(value, 0, first) || !runAt(value, lastStart, last)) return false
  let from = first.length
  for (const run of runs.slice(1, -1)) {
    const found = findRun(value, from, lastStart, run)
    if (found < 0) return false
    from = found + run.length
  }
  return true
}

function findRun(value: string, from: number, end: number, run: string): number {
  if (!run.includes("?")) {
    const found = value.indexOf(run, from)
    return found >= 0 && found + run.length <= end ? found : -1
  }
  for (let at = from; at + run.length <= end; at++) if (runAt(value, at, run)) return at
  return -1
}

function runAt(value: string, at: number, run: string): boolean {
  if (!run.includes("?")) return value.startsWith(run, at)
  for (let i = 0; i < run.length; i++) if (run[i] !== "?" && run[i] !== value[at + i]) return false
  return at + run.length <= value.length
}
