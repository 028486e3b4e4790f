/** What may differ in a config between before and after a change of one rule. Written apart from `src` on purpose. */
import { type Node, type ParseError, parseTree, visit } from "jsonc-parser"
import { expect } from "vitest"

/** The comment by which the tool marks its own rules. */
export const MARK = "// skill_management"

/** Stands where the rule, or what was made for it, has been cut out. */
const CUT = "\0"

/** The root of a config; comments and trailing commas are allowed, as the hosts do. */
function parsed(text: string): Node {
  const errors: ParseError[] = []
  const root = parseTree(text.replace(/^\uFEFF/, " "), errors, { allowTrailingComma: true })
  expect(errors, text).toEqual([])
  if (root?.type !== "object") throw new Error(`the config is no object: ${text}`)
  return root
}

interface Property {
  readonly key: string
  readonly node: Node
  readonly value: Node
}

const propertiesOf = (node: Node | undefined): Property[] =>
  node?.type !== "object"
    ? []
    : (node.children ?? []).flatMap((property) => {
        const [key, value] = property.children ?? []
        return key && value ? [{ key: String(key.value), node: property, value }] : []
      })

const property = (node: Node | undefined, key: string): Property | undefined =>
  propertiesOf(node).findLast((one) => one.key === key)

interface PlacedRule {
  readonly pattern: unknown
  readonly effect: unknown
  readonly node: Node
}

function placedRules(root: Node): PlacedRule[] {
  const map = propertiesOf(property(property(root, "permission")?.value, "skill")?.value)
  const list = property(root, "permissions")?.value.children ?? []
  return [
    ...map.map(({ key, value, node }) => ({ pattern: key, effect: value.value, node })),
    ...list
      .filter((element) => property(element, "action")?.value.value === "skill")
      .map((element) => ({
        pattern: property(element, "resource")?.value.value,
        effect: property(element, "effect")?.value.value,
        node: element,
      })),
  ]
}

/** The skill rules of a config that parses, in written order, as `pattern effect`. */
export const skillRules = (text: string): string[] =>
  text === "" ? [] : placedRules(parsed(text)).map(({ pattern, effect }) => `${pattern} ${effect}`)

/**
 * Nothing but the rule for `id` differs: every other line is there byte for byte, in its place and with its line end;
 * on a line that the rule shares, all the other text is. Commas are the parser's to judge.
 */
export function expectOnlyRule(before: string, after: string, id: string): void {
  const [old, now] = [linesWithout(before, id), linesWithout(after, id)]
  const shared = (at: number) => [old[at], now[at]].some((line) => line?.includes(CUT))
  const plain = (line: string, at: number) => (shared(at) ? line.replace(/[ \t\0]/g, "") : line)
  expect(now.map(plain), `something besides the rule for ${id} differs`).toEqual(old.map(plain))
  const ends = (text: string) => [...new Set(text.match(/\r\n|\n|\r/g))].sort()
  if (ends(before).length > 0) expect(ends(after), "line ends").toEqual(ends(before))
}

function linesWithout(text: string, id: string): string[] {
  const spans = [...madeForRule(text, id), ...marksAndCommas(text)].sort((a, b) => a.from - b.from)
  let left = ""
  let done = 0
  for (const { from, to, put } of spans) {
    if (from < done) continue
    left += text.slice(done, from) + put
    done = to
  }
  left = (left + text.slice(done)).replace(/\{[\s\0]*\}/g, `{${CUT}}`)
  const lines = left.match(/[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+$/g) ?? []
  return lines.filter((line) => !(line.includes(CUT) && /^[\s\0]*$/.test(line)))
}

interface Span {
  readonly from: number
  readonly to: number
  readonly put: string
}

const spanOf = ({ offset, length }: Node): Span => ({ from: offset, to: offset + length, put: CUT })

/** The rule, or the section around it when it holds nothing else, not even a comment. */
function madeForRule(text: string, id: string): Span[] {
  const root = parsed(text)
  const own = placedRules(root).filter(({ pattern }) => pattern === id)
  const holdsOnly = ({ offset, length, children = [] }: Node) =>
    !/\/[/*]/.test(text.slice(offset, offset + length).replace(MARK, "")) &&
    children.every((child) => own.some(({ node }) => node === child))
  const permission = property(root, "permission")
  const skill = property(permission?.value, "skill")
  const list = property(root, "permissions")
  const sections = [
    ...(skill?.value.type === "object" && holdsOnly(skill.value)
      ? [permission?.value.children?.length === 1 ? permission.node : skill.node]
      : []),
    ...(list?.value.type === "array" && holdsOnly(list.value) ? [list.node] : []),
  ]
  return [...sections, ...own.map(({ node }) => node)].map(spanOf)
}

function marksAndCommas(text: string): Span[] {
  const found: Span[] = []
  visit(text, {
    onSeparator: (separator, from, length) => {
      if (separator === ",") found.push({ from, to: from + length, put: "" })
    },
    onComment: (from, length) => {
      if (text.slice(from, from + length) === MARK) found.push({ from, to: from + length, put: CUT })
    },
  })
  return found
}
