/** Configs as users write them: one value, many hands. */
import fc from "fast-check"

/** A config as its keys in written order: plain objects would move integer-like keys to the front. */
export type Value = string | number | boolean | Entries | readonly Value[]
export interface Entries {
  readonly entries: readonly (readonly [string, Value])[]
}
export const isEntries = (value: Value): value is Entries => typeof value === "object" && !Array.isArray(value)

/** The same as a plain object: of duplicate keys the last. */
export function plainOf(value: Value): unknown {
  if (Array.isArray(value)) return value.map(plainOf)
  return isEntries(value) ? Object.fromEntries(value.entries.map(([key, inner]) => [key, plainOf(inner)])) : value
}

/** How a user writes: none of it may change what a config means, and all of it must survive an edit. */
export interface Hand {
  readonly indent: "" | "  " | "\t"
  readonly eol: "\n" | "\r\n"
  readonly trailing: boolean
  readonly comments: boolean
  readonly bom: boolean
  readonly final: boolean
}

export const hand: fc.Arbitrary<Hand> = fc.record({
  indent: fc.constantFrom("" as const, "  " as const, "\t" as const),
  eol: fc.constantFrom("\n" as const, "\r\n" as const),
  trailing: fc.boolean(),
  comments: fc.boolean(),
  bom: fc.boolean(),
  final: fc.boolean(),
})

export const textOf = (value: Value, hand: Hand): string =>
  (hand.bom ? "\ufeff" : "") + write(value, hand, 0) + (hand.final ? hand.eol : "")

function write(value: Value, hand: Hand, depth: number): string {
  if (!isEntries(value) && !Array.isArray(value)) return JSON.stringify(value)
  const [open, close] = isEntries(value) ? "{}" : "[]"
  const members = isEntries(value)
    ? value.entries.map(
        ([key, inner]) => `${JSON.stringify(key)}:${hand.indent ? " " : ""}${write(inner, hand, depth + 1)}`,
      )
    : (value as readonly Value[]).map((inner) => write(inner, { ...hand, indent: "" }, depth + 1))
  if (members.length === 0) return `${open}${close}`
  if (!hand.indent) return `${open}${members.join(",")}${hand.trailing ? "," : ""}${close}`
  const lines = members.map((member, i) => {
    const comma = i < members.length - 1 || hand.trailing ? "," : ""
    const comment = hand.comments && (i + depth) % 2 === 0 ? ` // note ${depth}.${i}` : ""
    return `${hand.eol}${hand.indent.repeat(depth + 1)}${member}${comma}${comment}`
  })
  return `${open}${lines.join("")}${hand.eol}${hand.indent.repeat(depth)}${close}`
}
