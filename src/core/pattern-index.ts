import { compileSlashed, isLiteral, literalEnds, slashed } from "./wildcard.ts"

/** Rules that are gone slow down the search for those that are there. */
const MAX_NEW_PATTERNS = 1_000
const MAX_VALUES = 50_000

/**
 * Numbered patterns, found by what a value has to be, start with or end with: a value meets only those that can match
 * it, and each of them once, for agents share most of their patterns.
 */
export class PatternIndex {
  readonly #numbers = new Map<string, number>()
  readonly #matchers: ((path: string) => boolean)[] = []
  readonly #literals = new Map<string, number[]>()
  readonly #starts = new Affixes((value, depth) => value.charCodeAt(depth))
  readonly #ends = new Affixes((value, depth) => value.charCodeAt(value.length - 1 - depth))
  /** What matches, by value, `\\` written as `/`. */
  readonly #found = new Map<string, readonly number[]>()
  /** How many patterns there were when it was first asked. */
  #atFirst: number | undefined

  /** How many patterns there are; their numbers are the smaller ones. */
  get size(): number {
    return this.#matchers.length
  }

  /** The patterns themselves. */
  texts(): string[] {
    return [...this.#numbers.keys()]
  }

  /** So much has come since it was first asked that one who keeps it should rather start anew. */
  get isFull(): boolean {
    return this.size > 2 * (this.#atFirst ?? this.size) + MAX_NEW_PATTERNS || this.#found.size > MAX_VALUES
  }

  /** A pattern's number, which it has from now on. */
  add(pattern: string): number {
    const known = this.#numbers.get(pattern)
    if (known !== undefined) return known
    const number = this.#matchers.push(compileSlashed(pattern)) - 1
    this.#numbers.set(pattern, number)
    if (isLiteral(pattern)) {
      append(this.#literals, slashed(pattern), number)
      this.#found.delete(slashed(pattern))
      return number
    }
    const { start, end } = literalEnds(pattern)
    if (start === "") this.#ends.add(end, number)
    else this.#starts.add(start, number)
    if (this.#found.size > 0) this.#found.clear()
    return number
  }

  /** The numbers of the patterns that match a value, in no order. */
  matching(value: string): readonly number[] {
    this.#atFirst ??= this.size
    const path = slashed(value)
    const known = this.#found.get(path)
    if (known) return known
    const likely: number[] = []
    this.#starts.collect(path, likely)
    this.#ends.collect(path, likely)
    const found = likely.filter((number) => this.#matchers[number]?.(path))
    for (const number of this.#literals.get(path) ?? []) found.push(number)
    this.#found.set(path, found)
    return found
  }
}

/** For each pattern the places in a list of what matches each value; null for one that is nobody's. */
export function placesByPattern(matching: readonly (readonly number[] | null)[]): readonly (number[] | undefined)[] {
  const found: number[][] = []
  matching.forEach((patterns, place) => {
    for (const pattern of patterns ?? []) {
      const places = found[pattern] ?? []
      found[pattern] = places
      places.push(place)
    }
  })
  return found
}

interface Alike {
  readonly length: number
  readonly numbers: Map<number, number[]>
}

/**
 * Numbers by a text that a value has at one end. Texts are told apart by length and hash alone, the value's being
 * taken once, unit by unit; whoever is found by chance does not match anyway.
 */
class Affixes {
  /** From short to long: there are few lengths, however many patterns. */
  #byLength: Alike[] = []
  readonly #unit: (value: string, depth: number) => number

  constructor(unit: (value: string, depth: number) => number) {
    this.#unit = unit
  }

  add(affix: string, number: number): void {
    const { length } = affix
    const known = this.#byLength.find((alike) => alike.length === length)
    const alike = known ?? { length, numbers: new Map() }
    if (!known) this.#byLength = [...this.#byLength, alike].sort((a, b) => a.length - b.length)
    append(alike.numbers, this.#hash(affix, 0, length, 0), number)
  }

  /** Adds the numbers whose text the value seems to have at this end. */
  collect(value: string, found: number[]): void {
    let hash = 0
    let depth = 0
    for (const { length, numbers } of this.#byLength) {
      if (length > value.length) break
      hash = this.#hash(value, depth, length, hash)
      depth = length
      for (const number of numbers.get(hash) ?? []) found.push(number)
    }
  }

  #hash(text: string, from: number, to: number, before: number): number {
    let hash = before
    for (let depth = from; depth < to; depth++) hash = (Math.imul(hash, 31) + this.#unit(text, depth)) | 0
    return hash
  }
}

function append<K>(map: Map<K, number[]>, key: K, number: number): void {
  const alike = map.get(key)
  if (alike) alike.push(number)
  else map.set(key, [number])
}
