const SURROGATE = /[\ud800-\udfff]/

/** Sorts by a text of each item, as `compareIds` does. */
export function sortedById<T>(items: readonly T[], idOf: (item: T) => string): T[] {
  // Without surrogates the order is that of the UTF-16 units, which the engine compares itself.
  if (items.some((item) => SURROGATE.test(idOf(item)))) return items.toSorted((a, b) => compareIds(idOf(a), idOf(b)))
  return items.toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : Number(idOf(a) !== idOf(b))))
}

/** Orders by Unicode code points: `list` and every file of ours sort this way, on every platform. */
export function compareIds(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length)
  for (let i = 0; i < shorter; i++)
    if (a.charCodeAt(i) !== b.charCodeAt(i)) return rank(a.charCodeAt(i)) - rank(b.charCodeAt(i))
  return a.length - b.length
}

/** Surrogates come behind all other units, as what they stand for does; so a lone one has its one place too. */
const rank = (unit: number): number => (unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit)
