import { compilePattern, isLiteral, literalEnds, type Matcher, slashed } from "./wildcard.ts"

/**
 * Patterns by what a value has to be, start with or end with, so that a value meets only those that can match it, and
 * each of them once: agents share most of their patterns.
 */
export class PatternIndex {
  readonly #matchers = new Map<string, Matcher>()
  readonly #literals = new Map<string, Matcher[]>()
  readonly #starts = new Affixes((value, length) => value.slice(0, length))
  readonly #ends = new Affixes((value, length) => value.slice(value.length - length))
  readonly #found = new Map<string, readonly Matcher[]>()

  /** Knows a pattern from now on; the same pattern is the same matcher. */
  add(pattern: string): Matcher {
    const known = this.#matchers.get(pattern)
    if (known) return known
    const matcher = compilePattern(pattern)
    const { start, end } = literalEnds(pattern)
    if (isLiteral(pattern)) append(this.#literals, slashed(pattern), matcher)
    else if (start === "") this.#ends.add(end, matcher)
    else this.#starts.add(start, matcher)
    this.#matchers.set(pattern, matcher)
    this.#found.clear()
    return matcher
  }

  /** The patterns that match a value, in no order. */
  matching(value: string): readonly Matcher[] {
    const known = this.#found.get(value)
    if (known) return known
    const path = slashed(value)
    const patterns = [...this.#starts.of(path), ...this.#ends.of(path)].filter((matcher) => matcher.matches(value))
    const found = [...(this.#literals.get(path) ?? []), ...patterns]
    this.#found.set(value, found)
    return found
  }
}

/** Matchers by a text at one end of the values that they match; there are few lengths of it, however many matchers. */
class Affixes {
  readonly #matchers = new Map<string, Matcher[]>()
  readonly #lengths = new Set<number>()
  readonly #cut: (value: string, length: number) => string

  constructor(cut: (value: string, length: number) => string) {
    this.#cut = cut
  }

  add(affix: string, matcher: Matcher): void {
    append(this.#matchers, affix, matcher)
    this.#lengths.add(affix.length)
  }

  /** The matchers whose text the value has at this end. */
  of(value: string): Matcher[] {
    const found: Matcher[] = []
    for (const length of this.#lengths)
      if (length <= value.length) found.push(...(this.#matchers.get(this.#cut(value, length)) ?? []))
    return found
  }
}

function append(map: Map<string, Matcher[]>, key: string, matcher: Matcher): void {
  const alike = map.get(key)
  if (alike) alike.push(matcher)
  else map.set(key, [matcher])
}
