/** The parts that configs for agreement with the hosts are generated from: small, so that rules of many places meet. */
import fc from "fast-check"
import { type Entries, hand, isEntries, textOf, type Value } from "../core/handwriting.ts"

export interface GeneratedConfig {
  /** Texts by path below a sandbox. */
  readonly files: Readonly<Record<string, string>>
  /** `ROOT` stands for the sandbox. */
  readonly env: Readonly<Record<string, string>>
}

/** What patterns can tell apart, and what a careless reader of keys would trip over. */
export const SKILLS = [
  ..."a docx pdf pdf-forms PDF lark lark-mail 7 10 constructor".split(" "),
  ...["lark mail", "team/release", "~/notes", "Übersicht"],
]

const RESOURCES = [
  ...SKILLS,
  ..."pdf* pdf-* *-mail lark?mail ? ?? 1? *a* team/* ~/* $HOME/notes ~ *notes zz*".split(" "),
  ...["lark *", "team\\release", "__proto__", "Über*"],
]

const weighted = <T>(choices: readonly (readonly [weight: number, arbitrary: fc.Arbitrary<T>])[]): fc.Arbitrary<T> =>
  fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })))

const effect = fc.constantFrom<Value>("allow", "ask", "deny")
const action = weighted([
  [8, fc.constant("skill")],
  [1, fc.constantFrom("*", "s*", "sk?ll", "skill *")],
  [1, fc.constantFrom("bash", "edit", "7")],
])
const resourceOr = (others: readonly string[]) =>
  weighted([
    [12, fc.constantFrom(...RESOURCES)],
    [1, fc.constant("*")],
    ...(others.length > 0 ? [[1, fc.constantFrom(...others)] as const] : []),
  ])

/** Now and then a key stands twice. */
const map = (key: fc.Arbitrary<string>, value: fc.Arbitrary<Value>, maxLength: number): fc.Arbitrary<Value> => {
  const entry = fc.tuple(key, value)
  return weighted([
    [7, fc.uniqueArray(entry, { maxLength, selector: ([name]) => name })],
    [1, fc.array(entry, { maxLength })],
  ]).map((entries) => ({ entries }))
}

/** `permission` with patterns of the common kind and these. */
export const permission = (...resources: string[]): fc.Arbitrary<Value> =>
  weighted([
    [1, effect],
    [
      11,
      map(
        action,
        weighted([
          [1, effect],
          [6, map(resourceOr(resources), effect, 5)],
        ]),
        3,
      ),
    ],
  ])

export const tools = map(fc.constantFrom("skill", "skill", "s*", "bash", "write", "*"), fc.boolean(), 2)

export const permissions = (...resources: string[]): fc.Arbitrary<Value> =>
  fc.array(
    fc.tuple(action, resourceOr(resources), effect).map(
      ([a, r, e]): Value => ({
        entries: [
          ["action", a],
          ["resource", r],
          ["effect", e],
        ],
      }),
    ),
    { maxLength: 5 },
  )

/** Each of these sections with its chance in a hundred, in any order. */
export const sections = (given: Record<string, readonly [chance: number, value: fc.Arbitrary<Value>]>) =>
  fc
    .tuple(
      ...Object.entries(given).map(([key, [chance, value]]) =>
        maybe(
          chance,
          value.map((section) => [key, section] as const),
        ),
      ),
    )
    .chain((all) => fc.shuffledSubarray(all, { minLength: all.length }))
    .map((all): Entries => ({ entries: all.filter((section) => section !== null) }))

export const maybe = <T>(chance: number, value: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  weighted<T | null>([
    [100 - chance, fc.constant(null)],
    [chance, value],
  ])

export const agentsOf = (names: readonly string[], agent: fc.Arbitrary<Value>): fc.Arbitrary<Value> =>
  map(fc.constantFrom(...names), agent, 3)

export const documentText = (document: fc.Arbitrary<Entries>): fc.Arbitrary<string> =>
  fc.tuple(document, hand).map(([value, how]) => textOf(value, how))

export const agentText = (head: fc.Arbitrary<Entries>): fc.Arbitrary<string> =>
  fc
    .tuple(head, fc.constantFrom("\n", "\r\n"), fc.boolean())
    .map(([value, eol, quoted]) => ["---", ...yaml(value, quoted), "---", "Do as you are told.", ""].join(eol))

/** Lines of YAML: maps as blocks, lists in flow style. */
function yaml({ entries }: Entries, quoted: boolean): string[] {
  return entries.flatMap(([key, value]) => {
    const name = quoted ? JSON.stringify(key) : scalar(key)
    if (!isEntries(value)) return [`${name}: ${typeof value === "string" && !quoted ? scalar(value) : flow(value)}`]
    if (value.entries.length === 0) return [`${name}: {}`]
    return [`${name}:`, ...yaml(value, quoted).map((line) => `  ${line}`)]
  })
}

/** Without quotes where YAML allows it; a loose value stays as it is, as users leave it. */
const scalar = (text: string): string => (/^[\w$][^#]*$/.test(text) ? text : JSON.stringify(text))

const flow = (value: Value): string => textOf(value, { ...plain, trailing: false })
const plain = { indent: "", eol: "\n", comments: false, bom: false, final: false } as const

/** Picks files with their chance in a hundred. */
export const filesOf = (given: Record<string, readonly [chance: number, text: fc.Arbitrary<string>]>) =>
  fc
    .tuple(
      ...Object.entries(given).map(([path, [chance, text]]) =>
        maybe(
          chance,
          text.map((written) => [path, written] as const),
        ),
      ),
    )
    .map((files) => Object.fromEntries(files.filter((file) => file !== null)))
