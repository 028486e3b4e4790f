import type { Node } from "jsonc-parser"
import { type Document, isAlias, isMap, isNode, isScalar, isSeq, LineCounter, type Pair, parseDocument } from "yaml"

/** YAML as the tree that the config readers understand; none where it is not sound, or no map. */
export function parseHead(head: string): { node: Node | undefined; lines: LineCounter } {
  const lines = new LineCounter()
  const document = parseDocument(head, { lineCounter: lines, logLevel: "silent" })
  const good = document.errors.length === 0 && isMap(document.contents)
  return { node: good ? nodeOf(document.contents, document, 0) : undefined, lines }
}

const MAX_DEPTH = 32

function nodeOf(given: unknown, document: Document, depth: number): Node {
  const yaml = isAlias(given) ? given.resolve(document) : given
  const [offset = 0, end = offset] = (isNode(yaml) && yaml.range) || []
  const place = { offset, length: end - offset }
  if (depth > MAX_DEPTH) return { type: "null", value: null, ...place }
  if (isMap(yaml)) return { type: "object", ...place, children: propertiesOf(yaml.items, document, depth) }
  if (isSeq(yaml))
    return { type: "array", ...place, children: yaml.items.map((item) => nodeOf(item, document, depth + 1)) }
  const value: unknown = isScalar(yaml) ? yaml.value : null
  if (typeof value === "string") return { type: "string", value, ...place }
  if (typeof value === "number") return { type: "number", value, ...place }
  if (typeof value === "boolean") return { type: "boolean", value, ...place }
  return { type: "null", value: null, ...place }
}

/** Pairs as properties; a merge key stands for the pairs of the map that it names, but for keys that are there before it. */
function propertiesOf(pairs: readonly Pair[], document: Document, depth: number): Node[] {
  const found: Node[] = []
  for (const { key, value } of pairs) {
    const keyNode: Node = { ...nodeOf(key, document, depth + 1), type: "string" }
    const valueNode = nodeOf(value, document, depth + 1)
    if (keyNode.value === "<<" && valueNode.type === "object") {
      const known = new Set(found.map(keyOf))
      found.push(...(valueNode.children ?? []).filter((property) => !known.has(keyOf(property))))
    } else
      found.push({ type: "property", offset: keyNode.offset, length: keyNode.length, children: [keyNode, valueNode] })
  }
  return found
}

const keyOf = (property: Node): string => String(property.children?.[0]?.value)
