/** Orders by Unicode code points: `list` and every file of ours sort this way, on every platform. */
export function compareIds(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length)
  for (let i = 0; i < shorter; i++)
    if (a.charCodeAt(i) !== b.charCodeAt(i)) return (a.codePointAt(i) ?? 0) - (b.codePointAt(i) ?? 0)
  return a.length - b.length
}
