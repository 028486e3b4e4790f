/** Orders by Unicode code points: `list` and every file of ours sort this way, on every platform. */
export function compareIds(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length)
  for (let i = 0; i < shorter; i++)
    if (a.charCodeAt(i) !== b.charCodeAt(i)) return rank(a.charCodeAt(i)) - rank(b.charCodeAt(i))
  return a.length - b.length
}

/** Surrogates come behind all other units, as what they stand for does; so a lone one has its one place too. */
const rank = (unit: number): number => (unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit)
