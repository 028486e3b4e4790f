import type { Node } from "jsonc-parser"

export type Json = string | number | boolean | null | readonly Json[] | { readonly [k: string]: Json }

/**
 * A member to write: `key` for objects, absent for array elements. `marker` is a same-line comment that is written only
 * where the member ends its line; a value that spans lines carries it on its innermost last member.
 */
export interface Member {
  readonly key?: string
  readonly value: Json
  readonly marker?: string
}

/** How new members of one container are written. `separator` and `pad` matter on one line, `eol` and `unit` on several. */
export interface Style {
  readonly eol: string
  readonly unit: string
  readonly colon: string
  readonly separator: string
  readonly pad: string
  readonly trailingComma: boolean
  /** The last element's layout filled with a new element's strings; undefined where the two differ in more than that. */
  readonly shape: (value: Json) => string | undefined
}

/** What can stand between two members: a blank, a line break, a comma, a comment. The first character tells which. */
export interface Token {
  readonly text: string
  readonly start: number
  readonly end: number
}

export const isBreak = ({ text }: Token): boolean => text[0] === "\n" || text[0] === "\r"
export const isComma = ({ text }: Token): boolean => text === ","
export const isComment = ({ text }: Token): boolean => text[0] === "/"

/** The tokens of a stretch that holds no values, in order and without holes. */
export function tokens(text: string, from: number, to: number): Token[] {
  const found = text.slice(from, to).matchAll(/\r\n|[ \t\r\n,]|\/\/[^\r\n]*|\/\*[\s\S]*?\*\//g)
  return Array.from(found, (match) => {
    const start = from + match.index
    return { text: match[0], start, end: start + match[0].length }
  })
}

export const endOf = (node: Node): number => node.offset + node.length

/** The offset of the closing bracket of a container. */
export const closeOf = (container: Node): number => endOf(container) - 1

/** The member that a value stands for in its container: its property, or itself as array element or root. */
export const memberOf = (value: Node): Node => (value.parent?.type === "property" ? value.parent : value)

/** The tokens behind each member, up to the next one or the closing bracket. */
export const gapsOf = (text: string, container: Node): Token[][] =>
  (container.children ?? []).map((member, i, all) =>
    tokens(text, endOf(member), all[i + 1]?.offset ?? closeOf(container)),
  )

/** The tokens in front of a member, down to the previous one or the opening bracket. */
export function gapBefore(text: string, container: Node, member: Node): Token[] {
  const previous = container.children?.[container.children.indexOf(member) - 1]
  return tokens(text, previous ? endOf(previous) : container.offset + 1, member.offset)
}

export function lineStart(text: string, offset: number): number {
  const line = text.slice(0, offset).lastIndexOf("\n") + 1
  return line + text.slice(line, offset).lastIndexOf("\r") + 1
}

export const blanksAt = (text: string, offset: number): string => /[ \t]*/y.exec(text.slice(offset))?.[0] ?? ""

/** The indent of the line on which the offset lies. */
export const indentAt = (text: string, offset: number): string => blanksAt(text, lineStart(text, offset))

/** The line break that ends the line of the offset; on a last line without one, the break before it. */
export function eolNear(text: string, offset: number): string {
  const before = text.slice(0, lineStart(text, offset)).match(/(?:\r\n|\n|\r)$/)
  return (/\r\n|\n|\r/.exec(text.slice(offset)) ?? before)?.[0] ?? "\n"
}

const isContainer = (node: Node): boolean => node.type === "object" || node.type === "array"
const isFilled = (node: Node): boolean => isContainer(node) && !!node.children?.length

function outwards(node: Node): Node[] {
  return [node, ...(node.parent ? outwards(node.parent) : [])]
}

function inwards(node: Node): Node[] {
  return [node, ...(node.children ?? []).flatMap(inwards)]
}

/** Whether a new block in this container's document goes on lines of its own; a root without members says nothing against it. */
export function isMultiline(text: string, container: Node): boolean {
  const root = outwards(container).at(-1) ?? container
  return !isFilled(root) || /[\r\n]/.test(text.slice(root.offset, endOf(root)))
}

/** What one level adds to the indent, read off the nearest container that shows it. */
export function unitOf(text: string, container: Node): string {
  const chain = outwards(container)
  const stepIn = (node: Node) => {
    const member = isContainer(node) ? node.children?.at(-1) : undefined
    if (!member) return ""
    const [outer, inner] = [indentAt(text, memberOf(node).offset), indentAt(text, member.offset)]
    return inner.startsWith(outer) ? inner.slice(outer.length) : ""
  }
  for (const node of chain) {
    const unit = stepIn(node)
    if (unit) return unit
  }
  for (const node of inwards(chain.at(-1) ?? container)) {
    const unit = stepIn(node)
    if (unit) return unit
  }
  return "  "
}

function nearestProperty(node: Node): Node | undefined {
  const last = node.children?.at(-1)
  if (last?.type === "property") return last
  if (last && isFilled(last)) return nearestProperty(last)
  return outwards(node).find(({ type }) => type === "property")
}

function colonOf(text: string, container: Node): string {
  const property = nearestProperty(container)
  if (!property) return ": "
  const column = (offset: number) => offset - lineStart(text, offset)
  // A run of blanks aligns a column; the shortest run of that column is what a member has without alignment.
  const shortest = (span: (property: Node) => [number, number], instead: string) =>
    (property.parent?.children ?? [])
      .map(span)
      .filter(([, to]) => column(to) === column(span(property)[1]))
      .map(([from, to]) => text.slice(from, to))
      .map((blanks) => (/^[ \t]*$/.test(blanks) ? blanks.slice(0, 1) : instead))
      .reduce((a, b) => (b.length < a.length ? b : a))
  const colonAt = ({ colonOffset, offset }: Node) => colonOffset ?? offset
  const before = shortest((p) => [p.children?.[0] ? endOf(p.children[0]) : p.offset, colonAt(p)], "")
  const after = shortest((p) => [colonAt(p) + 1, p.children?.[1]?.offset ?? colonAt(p) + 1], " ")
  return `${before}:${after}`
}

function separatorOf(text: string, container: Node, colon: string): string {
  const last = container.children?.at(-1)
  const gap = last ? gapBefore(text, container, last) : []
  const comma = gap.findIndex(isComma)
  const behind = gap.slice(comma + 1)
  if (comma >= 0 && behind.every(({ text }) => /^[ \t]/.test(text))) return `,${behind[0]?.text ?? ""}`
  return colon.endsWith(":") ? "," : ", "
}

function padOf(text: string, container: Node): string {
  const models = [container.children?.at(-1), ...outwards(container)].filter((node) => node?.type === "object")
  const model = models.find((node) => node && isFilled(node) && !/[\r\n]/.test(text.slice(node.offset, endOf(node))))
  return model ? blanksAt(text, model.offset + 1).slice(0, 1) : " "
}

function copyShape(text: string, model: Node | undefined, value: Json): string | undefined {
  if (model?.type !== "object" || !isMap(value)) return undefined
  let copy = ""
  let filling = ""
  let at = model.offset
  const keys = new Set<string>()
  for (const property of model.children ?? []) {
    const [key, old] = property.children ?? []
    const next = key && Object.hasOwn(value, key.value) ? value[key.value] : undefined
    if (!key || old?.type !== "string" || typeof next !== "string") return undefined
    keys.add(key.value)
    filling += text.slice(at, key.offset) + text.slice(endOf(key), old.offset)
    copy += text.slice(at, old.offset) + literal(next)
    at = endOf(old)
  }
  const rest = text.slice(at, endOf(model))
  const same = keys.size === Object.keys(value).length && keys.size === model.children?.length
  return same && !(filling + rest).includes("/") ? copy + rest : undefined
}

/** The habits of a container's last member; where it has none, those of what encloses it. `at` is where the text will go. */
export function styleOf(text: string, container: Node, at: number): Style {
  const colon = colonOf(text, container)
  const last = container.children?.at(-1)
  const model = outwards(container).find(isFilled)
  const behind = (node: Node) => tokens(text, endOf(node.children?.at(-1) ?? node), closeOf(node))
  return {
    eol: eolNear(text, at),
    unit: unitOf(text, container),
    colon,
    separator: separatorOf(text, container, colon),
    pad: padOf(text, container),
    trailingComma: !!model && behind(model).some(isComma),
    shape: (value) => copyShape(text, last, value),
  }
}

const isList = (value: Json): value is readonly Json[] => Array.isArray(value)
const isMap = (value: Json): value is { readonly [k: string]: Json } =>
  typeof value === "object" && value !== null && !isList(value)

// The host substitutes {env:…} and {file:…} in the raw text, so a literal one must not look like a placeholder.
const literal = (value: Json): string => JSON.stringify(value).replace(/\{(?=env:|file:)/g, "\\u007b")

function contentOf(value: Json): Member[] {
  if (isList(value)) return value.map((element) => ({ value: element }))
  return isMap(value) ? Object.entries(value).map(([key, inner]) => ({ key, value: inner })) : []
}

function renderInline(value: Json, style: Style): string {
  const content = contentOf(value)
  if (content.length === 0) return literal(value)
  const inner = content.map((member) => renderFlat(member, style)).join(style.separator)
  return isList(value) ? `[${inner}]` : `{${style.pad}${inner}${style.pad}}`
}

/** A member on one line. */
export function renderFlat({ key, value }: Member, style: Style): string {
  return key === undefined
    ? (style.shape(value) ?? renderInline(value, style))
    : literal(key) + style.colon + renderInline(value, style)
}

/** A value on as many lines as it has levels; `indent` is that of the line on which it starts. */
export function renderBlock(value: Json, style: Style, indent: string, marker?: string): string {
  const content = contentOf(value)
  const last = content.pop()
  if (!last) return literal(value)
  const [open, close] = isList(value) ? ["[", "]"] : ["{", "}"]
  const lines = renderLines([...content, marker === undefined ? last : { ...last, marker }], style, indent + style.unit)
  return open + lines + style.eol + indent + close
}

/**
 * Members on lines of their own, each with the line break in front of it. `lead` is the comma and its blanks in
 * documents that put it first; `endsLine` tells whether the last of them may carry its marker.
 */
export function renderLines(
  members: readonly Member[],
  style: Style,
  indent: string,
  lead = "",
  endsLine = true,
): string {
  const line = (member: Member, i: number) => {
    const { key, value, marker } = member
    const isLast = i === members.length - 1
    const spans = key !== undefined && contentOf(value).length > 0
    const body = spans
      ? literal(key) + style.colon + renderBlock(value, style, indent, marker)
      : renderFlat(member, style)
    const comma = !lead && (!isLast || style.trailingComma) ? "," : ""
    const mark = marker !== undefined && !spans && (!isLast || endsLine) ? ` ${marker}` : ""
    return style.eol + indent + lead + body + comma + mark
  }
  return members.map(line).join("")
}
