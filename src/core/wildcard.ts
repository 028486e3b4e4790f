/**
 * The hosts' pattern language (the same table holds on OpenCode 1.18.34 and on OpenCode 2, Linux):
 * the pattern covers the whole value; `*` is any run, across `/` and line breaks too; `?` is exactly one UTF-16 unit;
 * `\` equals `/`; a final ` *` also matches the value without it; all else is literal and case-sensitive.
 */
export interface Matcher {
  readonly pattern: string
  matches(value: string): boolean
}

/**
 * Compiles a pattern once. Matching takes about pattern + value steps: literal runs are
 * searched, never retried; only a run that holds `?` is looked for at each place.
 */
export function compilePattern(pattern: string): Matcher {
  const matches = compileSlashed(pattern)
  return { pattern, matches: (value) => matches(slashed(value)) }
}

/** The same for values that are `slashed` already. */
export function compileSlashed(pattern: string): (path: string) => boolean {
  const canonical = slashed(pattern)
  return hasWildcard(canonical) ? globMatcher(canonical) : (path) => path === canonical
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
  const whole = runsMatcher(pattern)
  if (!pattern.endsWith(" *")) return whole
  const bare = runsMatcher(pattern.slice(0, -2))
  return (value) => whole(value) || bare(value)
}

/** What stands between two `*`. */
interface Run {
  readonly text: string
  /** Holds a `?`. */
  readonly open: boolean
}

/** The leftmost place of each literal run is always as good as a later one, so nothing is ever tried twice. */
function runsMatcher(pattern: string): (value: string) => boolean {
  const runs = pattern.split("*").map((text): Run => ({ text, open: text.includes("?") }))
  const [first, ...others] = runs
  const last = others.pop()
  if (!first) return () => false
  if (!last) return (value) => value.length === first.text.length && runAt(value, 0, first)
  const least = first.text.length + last.text.length
  return (value) => {
    const end = value.length - last.text.length
    if (value.length < least || !runAt(value, end, last) || !runAt(value, 0, first)) return false
    let from = first.text.length
    for (const run of others) {
      const found = findRun(value, from, end, run)
      if (found < 0) return false
      from = found + run.text.length
    }
    return true
  }
}

function findRun(value: string, from: number, end: number, run: Run): number {
  if (!run.open) {
    const found = value.indexOf(run.text, from)
    return found >= 0 && found + run.text.length <= end ? found : -1
  }
  for (let at = from; at + run.text.length <= end; at++) if (runAt(value, at, run)) return at
  return -1
}

function runAt(value: string, at: number, { text, open }: Run): boolean {
  if (!open) return value.startsWith(text, at)
  for (let i = 0; i < text.length; i++) if (text[i] !== "?" && text[i] !== value[at + i]) return false
  return at + text.length <= value.length
}
