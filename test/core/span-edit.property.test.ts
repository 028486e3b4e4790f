import fc from "fast-check"
import { getNodeValue, type Node, type ParseError, parseTree } from "jsonc-parser"
import { describe, expect, test } from "vitest"
import {
  applyEdits,
  type Edit,
  insertMembers,
  type Json,
  type Member,
  removeMembers,
} from "../../src/core/span-edit.ts"

const numRuns = Number(process.env.SPAN_EDIT_RUNS ?? 300)
const settings = { numRuns, seed: Number(process.env.SPAN_EDIT_SEED ?? 20250607) }
const OWN = "// ours"
const USED = "// shared"

function parsed(text: string): Node {
  const errors: ParseError[] = []
  const root = parseTree(text.replace(/^\ufeff/, " "), errors, { allowTrailingComma: true })
  if (!root || errors.length > 0) throw new Error(`does not parse: ${JSON.stringify(text)}`)
  return root
}

function containersOf(node: Node): Node[] {
  const own = node.type === "object" || node.type === "array" ? [node] : []
  return [...own, ...(node.children ?? []).flatMap(containersOf)]
}

/** What a container holds, with its keys in order and its duplicates. */
const contentOf = (container: Node): Json[] =>
  (container.children ?? []).map((child) =>
    child.type === "property"
      ? [child.children?.[0]?.value, getNodeValue(child.children?.[1] as Node)]
      : getNodeValue(child),
  )

/** The same container in the text before and after: edits inside it leave the order of containers in front of it alone. */
const pick = (text: string, index: number): Node => {
  const all = containersOf(parsed(text))
  return all[index % all.length] as Node
}

const breaks = /\r\n|\n|\r/
const blankLines = (text: string): number => text.split(breaks).filter((line) => !line.trim()).length

interface Comment {
  readonly text: string
  /** The member on whose line it stands or which it stands above; -1 for none. */
  readonly owner: number
  /** Whether it follows that member with no other one behind it on the line. */
  readonly trails: boolean
  /** Whether only the member's comma holds it there. */
  readonly viaComma: boolean
}

/** The comments beside the members, and those in the members of `opened`, in order. */
function commentsOf(text: string, container: Node, opened: ReadonlySet<number> = new Set()): Comment[] {
  const members = container.children ?? []
  const bounds = [container.offset + 1, ...members.map((member) => member.offset + member.length)]
  return bounds.flatMap((from, i) => {
    const gap = text.slice(from, members[i]?.offset ?? container.offset + container.length - 1)
    const tokens = gap.match(/\r\n|\n|\r|,|\/\/[^\r\n]*|\/\*[\s\S]*?\*\//g) ?? []
    const isBreak = (token: string) => /^[\r\n]/.test(token)
    const member = opened.has(i) ? members[i] : undefined
    const inner = member ? innerComments(text, member) : []
    const beside = tokens.flatMap((token, at) => {
      if (!token.startsWith("/")) return []
      const rest = tokens.slice(at + 1)
      const line = tokens.slice(tokens.slice(0, at).findLastIndex(isBreak) + 1, at)
      // A comma on a later line takes the rest of its line along to its member, unless the next one is there.
      const onComma = line.includes(",") && (i === members.length || rest.some(isBreak))
      const direct = i > 0 && !tokens.slice(0, at).some(isBreak)
      const follows = direct || (i > 0 && onComma)
      const comma = rest.indexOf(",")
      const above = i < members.length && !(comma >= 0 && rest.slice(comma).some(isBreak))
      const trails = direct && (i === members.length || rest.some(isBreak))
      return [{ text: token, owner: follows ? i - 1 : above ? i : -1, trails, viaComma: follows && !direct }]
    })
    return [...beside, ...inner.map((text) => ({ text, owner: i, trails: true, viaComma: false }))]
  })
}

/** The comments in a member, which belong to nothing else. */
const innerComments = (text: string, { offset, length }: Node): string[] =>
  (text.slice(offset, offset + length).match(/"(?:[^"\\]|\\.)*"|\/\/[^\r\n]*|\/\*[\s\S]*?\*\//g) ?? []).filter((word) =>
    word.startsWith("/"),
  )

function expectOrdered(text: string, edits: readonly Edit[]) {
  let at = 0
  for (const { offset, length } of edits) {
    expect(offset).toBeGreaterThanOrEqual(at)
    at = offset + length
  }
  expect(at).toBeLessThanOrEqual(text.length)
}

// Documents with blanks, line breaks and comments wherever the grammar allows them.

const triviaOf = (eol: string) =>
  fc
    .array(
      fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom(" ", "  ", "\t") },
        { weight: 4, arbitrary: fc.constantFrom(eol, `${eol}  `, `${eol}\t`, `${eol}${eol}`) },
        { weight: 2, arbitrary: fc.constantFrom("/* c */", "/**/", `/* c${eol}  d */`) },
        { weight: 2, arbitrary: fc.constantFrom(`// c, "x": 1${eol}`, `${USED}${eol}`, ` ${USED}${eol}  `) },
      ),
      { maxLength: 3 },
    )
    .map((pieces) => pieces.join(""))

const wildDocument = fc.constantFrom("\n", "\r\n", "\r", "mixed").chain((eol) => {
  const trivia =
    eol === "mixed"
      ? fc.oneof(triviaOf("\n"), triviaOf("\r\n"))
      : fc.oneof({ weight: 2, arbitrary: triviaOf(eol) }, { weight: 1, arbitrary: fc.constantFrom("", " ") })
  return fc.letrec<{ value: string; container: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 2, withCrossShrink: true },
      fc.constantFrom("1", "true", '"x"', '"// no, {comment}"'),
      tie("container"),
    ),
    container: fc
      .tuple(
        fc.boolean(),
        fc.array(fc.tuple(trivia, trivia, trivia, tie("value"), trivia), { maxLength: 4 }),
        fc.boolean(),
        trivia,
      )
      .map(([isObject, members, trailing, end]) => {
        const list = members.map(([a, b, c, value, d], i) => a + (isObject ? `"k${i}"${b}:${c}` : "") + value + d)
        const inner = list.join(",") + (trailing && list.length > 0 ? "," : "") + end
        return isObject ? `{${inner}}` : `[${inner}]`
      }),
  })).container
})
const wild = fc
  .tuple(fc.constantFrom("", "\ufeff", "// head\n"), wildDocument, fc.constantFrom("", "\n", " // tail"))
  .map((parts) => parts.join(""))

const values = fc.constantFrom<Json>(
  1,
  "deny",
  "{env:X}",
  { x: "deny" },
  { s: { x: "deny", y: "ask" } },
  [{ a: "b" }],
  {},
)
const additions = fc.array(fc.tuple(values, fc.boolean()), { minLength: 1, maxLength: 3 })
const index = fc.nat({ max: 50 })

const membersFor = (container: Node, list: readonly (readonly [Json, boolean])[], mark = true): Member[] =>
  list.map(([value, marked], i) => ({
    ...(container.type === "object" ? { key: `n${i}` } : {}),
    value,
    ...(marked && mark ? { marker: OWN } : {}),
  }))
const contentFor = (members: readonly Member[]): Json[] =>
  members.map(({ key, value }) => (key === undefined ? value : [key, value]))

describe("any document", () => {
  test("inserted members follow the old ones, comments keep their members, removing restores every byte", () => {
    const law = fc.property(wild, index, additions, (text, at, list) => {
      const container = pick(text, at)
      const count = container.children?.length ?? 0
      const members = membersFor(container, list)
      const edits = insertMembers(text, container, members)
      expectOrdered(text, edits)
      const after = applyEdits(text, edits)
      const grown = pick(after, at % containersOf(parsed(text)).length)
      expect(contentOf(grown)).toEqual([...contentOf(container), ...contentFor(members)])

      if (count === 0) {
        for (const { offset, length } of edits) expect(text.slice(offset, offset + length).trim()).toBe("")
        const from = container.offset
        const raw = text.slice(from, from + container.length)
        expect(after.slice(0, from) + raw + after.slice(from + grown.length)).toBe(text)
        return
      }
      expect(edits.every(({ length }) => length === 0)).toBe(true)
      const kept = commentsOf(after, grown).filter(({ text }) => text !== OWN)
      const owners = (comments: readonly Comment[]) => comments.map(({ text, owner }) => [text, owner])
      expect(owners(kept)).toEqual(owners(commentsOf(text, container)))
      const added = members.map((_, i) => count + i)
      expect(applyEdits(after, removeMembers(after, grown, added, OWN))).toBe(text)
    })
    fc.assert(law, settings)
  })

  test("removing some of the inserted members leaves what inserting the others gives", () => {
    const law = fc.property(wild, index, additions, fc.nat({ max: 2 }), (text, at, list, gone) => {
      const container = pick(text, at)
      const count = container.children?.length ?? 0
      fc.pre(count > 0 && list.length > 1 && gone < list.length)
      const members = membersFor(container, list, false)
      const after = applyEdits(text, insertMembers(text, container, members))
      const grown = pick(after, at % containersOf(parsed(text)).length)
      const others = members.filter((_, i) => i !== gone)
      const expected = applyEdits(text, insertMembers(text, container, others))
      expect(applyEdits(after, removeMembers(after, grown, [count + gone]))).toBe(expected)
    })
    fc.assert(law, settings)
  })

  test("removing leaves the others, their comments and comma habit, and no new blank line", () => {
    const marker = fc.constantFrom(undefined, USED)
    const law = fc.property(wild, index, fc.array(fc.nat({ max: 3 })), marker, (text, at, indexes, taken) => {
      const container = pick(text, at)
      const edits = removeMembers(text, container, indexes, taken)
      expectOrdered(text, edits)
      expect(edits.every((edit) => edit.text === "")).toBe(true)
      const after = applyEdits(text, edits)
      const shrunk = pick(after, at % containersOf(parsed(text)).length)
      const gone = new Set(indexes)
      const survivors = (container.children ?? []).map((_, i) => i).filter((i) => !gone.has(i))
      expect(contentOf(shrunk)).toEqual(contentOf(container).filter((_, i) => !gone.has(i)))
      expect(blankLines(after)).toBeLessThanOrEqual(blankLines(text))

      const expected = commentsOf(text, container, gone).filter(
        ({ text, owner, trails }) => !(gone.has(owner) && trails && text === taken),
      )
      const left = commentsOf(after, shrunk)
      expect(left.map(({ text }) => text)).toEqual(expected.map(({ text }) => text))
      expected.forEach(({ owner, viaComma }, i) => {
        if (survivors.includes(owner) && !viaComma) expect(survivors[left[i]?.owner ?? -1]).toBe(owner)
      })

      const hasTrailingComma = (text: string, { children = [], offset, length }: Node) => {
        const last = children.at(-1)
        const end = last ? text.slice(last.offset + last.length, offset + length - 1) : ""
        return end.replace(/\/\/[^\r\n]*|\/\*[\s\S]*?\*\//g, "").includes(",")
      }
      expect(hasTrailingComma(after, shrunk)).toBe(survivors.length > 0 && hasTrailingComma(text, container))
    })
    fc.assert(law, settings)
  })
})

// Documents of one style: there the result must be what the same hand would have written.

interface Hand {
  readonly eol: string
  readonly unit: string
  readonly colon: string
  readonly form: "lines" | "leading" | "one line" | "minified"
  readonly trailing: boolean
  readonly pad: string
}

const hands: fc.Arbitrary<Hand> = fc.record({
  eol: fc.constantFrom("\n", "\r\n", "\r"),
  unit: fc.constantFrom("  ", "    ", "\t", "   "),
  colon: fc.constantFrom(": ", ":", " : "),
  form: fc.constantFrom("lines", "lines", "leading", "one line", "minified"),
  trailing: fc.boolean(),
  pad: fc.constantFrom(" ", ""),
})

interface Entry {
  readonly key: string
  readonly value: Json
  readonly comment: string
}

const isNested = (value: Json): value is { readonly [k: string]: Json } => typeof value === "object" && value !== null

function write(entries: readonly Entry[], hand: Hand, depth = 1): string {
  const nested = (value: { readonly [k: string]: Json }, inner: Hand) =>
    write(
      Object.entries(value).map(([key, inside]) => ({ key, value: inside, comment: "" })),
      inner,
      depth + 1,
    )
  // Nested maps of a comma-first document are written the plain way.
  const inner: Hand = hand.form === "leading" ? { ...hand, form: "lines", trailing: false } : hand
  const body = ({ key, value }: Entry) =>
    JSON.stringify(key) +
    (hand.form === "minified" ? ":" : hand.colon) +
    (isNested(value) ? nested(value, inner) : JSON.stringify(value))
  if (hand.form === "minified") return `{${entries.map(body).join(",")}}`
  if (hand.form === "one line") return `{${hand.pad}${entries.map(body).join(", ")}${hand.pad}}`
  const indent = hand.unit.repeat(depth)
  const close = `${hand.eol}${hand.unit.repeat(depth - 1)}}`
  const lines = entries.map((entry, i) => {
    const isLast = i === entries.length - 1
    const lead = hand.form === "leading" ? (i > 0 ? ", " : "  ") : ""
    const comma = hand.form === "lines" && (!isLast || hand.trailing) ? "," : ""
    return hand.eol + indent + lead + body(entry) + comma + entry.comment
  })
  return `{${lines.join("")}${close}`
}

const entries = (prefix: string, minLength: number) =>
  fc
    .array(
      fc.record({
        value: fc.constantFrom<Json>("allow", 1, { x: "deny" }, { x: { y: "ask", z: "deny" } }),
        comment: fc.constantFrom("", "", " // note"),
      }),
      { minLength, maxLength: 4 },
    )
    .map((list) => list.map((entry, i) => ({ ...entry, key: `${prefix}${i}` })))

describe("a document of one style", () => {
  // Two old members: from one alone neither comma-first nor the blank behind a comma can be told.
  const law = (
    check: (text: string, old: readonly Entry[], added: readonly Entry[], hand: Hand, bom: string) => void,
  ) =>
    fc.property(hands, entries("k", 2), entries("n", 1), fc.constantFrom("", "\ufeff"), (hand, old, added, bom) => {
      check(bom + write(old, hand), old, added, hand, bom)
    })

  test("inserting writes what its author would have written", () => {
    const check = law((text, old, added, hand, bom) => {
      const plain = added.map((entry) => ({ ...entry, comment: "" }))
      const expected = bom + write([...old, ...plain], hand)
      const members = plain.map(({ key, value }) => ({ key, value }))
      expect(applyEdits(text, insertMembers(text, parsed(text), members))).toBe(expected)
    })
    fc.assert(check, settings)
  })

  test("removing leaves what its author would have written", () => {
    const check = law((_, old, added, hand, bom) => {
      const all = [...old, ...added].map((entry) => ({ ...entry, comment: entry.comment && ` ${OWN}` }))
      const text = bom + write(all, hand)
      const gone = all.flatMap(({ key }, i) => (key.startsWith("n") !== (i % 2 === 0) ? [i] : []))
      const rest = all.filter((_, i) => !gone.includes(i))
      expect(applyEdits(text, removeMembers(text, parsed(text), gone, OWN))).toBe(bom + write(rest, hand))
    })
    fc.assert(check, settings)
  })
})
