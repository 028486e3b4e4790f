import { EFFECTS } from "../core/rule.ts"
import { FINDINGS, ROW_FIELDS, SCOPES, SOURCES, STATES } from "./vocabulary.ts"

export const ACTIONS = ["list", "inspect", "disable", "enable", "undo", "reconcile"] as const
export type Action = (typeof ACTIONS)[number]

export const isWriting = (action: Action): boolean => action !== "list" && action !== "inspect"

/** No control characters. */
export const PLAIN_TEXT = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$"
const text = (maxLength: number, description: string) =>
  ({ type: "string", maxLength, pattern: PLAIN_TEXT, description }) as const

const nonEmpty = (description?: string) =>
  ({ type: "string", minLength: 1, maxLength: 256, pattern: PLAIN_TEXT, ...(description && { description }) }) as const

const traits = {
  source: { type: "string", enum: SOURCES },
  scope: { type: "string", enum: SCOPES },
  state: { type: "string", enum: [...STATES, ...EFFECTS.filter((effect) => effect !== "ask")] },
  path: text(256, "Pattern over the path"),
} as const
const finding = { finding: { type: "string", enum: FINDINGS } } as const

/**
 * Every field of the tool's input: its schema and the actions that use it. The published schema, the one handed to a
 * host, the decoder, the types and the reference page all follow from this table.
 */
export const FIELDS = {
  action: { schema: { type: "string", enum: ACTIONS, description: "What to do" }, usedBy: ACTIONS },
  id: { schema: nonEmpty("Exact skill id"), usedBy: ["inspect", "disable", "enable"] },
  name: { schema: nonEmpty("When the id is not known"), usedBy: ["inspect", "disable", "enable"] },
  ids: {
    schema: {
      type: "array",
      items: nonEmpty(),
      minItems: 1,
      maxItems: 500,
      description: "Several ids",
    },
    usedBy: ["disable", "enable"],
  },
  match: {
    schema: { ...text(256, "Pattern over ids: *, ?"), minLength: 1 },
    usedBy: ["list", "disable", "enable"],
  },
  where: {
    schema: {
      type: "object",
      description: "Traits; reconcile: finding",
      properties: { ...traits, ...finding },
      minProperties: 1,
      additionalProperties: false,
    },
    usedBy: ["list", "disable", "enable", "reconcile"],
  },
  query: { schema: text(120, "Text in id, name, description or path"), usedBy: ["list"] },
  effect: {
    schema: { type: "string", enum: ["deny", "ask"], description: "deny hides, ask asks first" },
    usedBy: ["disable"],
  },
  rule: {
    schema: { type: "string", enum: ["exact", "pattern"], description: "pattern: match as one rule" },
    usedBy: ["disable"],
  },
  agent: { schema: text(256, "As this agent sees it"), usedBy: ["list", "inspect"] },
  dryRun: {
    schema: { type: "boolean", description: "Rehearse only" },
    usedBy: ["disable", "enable", "undo", "reconcile"],
  },
  plan: {
    schema: {
      type: "string",
      maxLength: 67,
      pattern: "^[\\w-]{16}(\\.[\\w-]{16}){3}$",
      description: "plan.token",
    },
    usedBy: ["disable", "enable", "reconcile"],
  },
  change: { schema: text(64, "undo: which; default the newest"), usedBy: ["undo"] },
  note: { schema: text(200, "Why"), usedBy: ["disable", "enable"] },
  limit: {
    schema: { type: "integer", minimum: 0, maximum: 500, description: "Rows; 0: summary only" },
    usedBy: ["list"],
  },
  fields: {
    schema: {
      type: "array",
      items: { type: "string", enum: ROW_FIELDS },
      minItems: 1,
      description: "Row fields wanted",
    },
    usedBy: ["list"],
  },
  cursor: { schema: text(2048, "page.nextCursor"), usedBy: ["list"] },
} as const satisfies Record<string, { schema: object; usedBy: readonly Action[] }>

export type Field = keyof typeof FIELDS
export const FIELD_NAMES = Object.keys(FIELDS).filter((name): name is Field => name in FIELDS)

export const usedBy = (field: Field, action: Action): boolean => FIELDS[field].usedBy.some((name) => name === action)

export const TOOL_NAME = "skill_management"
export const TOOL_DESCRIPTION =
  "Lists this agent's skills and why each is available or not; hides or returns them by editing the user's global " +
  "OpenCode config. list: all. inspect: one, its deciding rule and place. disable, enable: one by id or name; several " +
  "by ids, match, where: the first call answers with a plan, the second sends its token. undo: take a change back. " +
  "reconcile: tidy records."

/** The schema of a field as one action reads it: what `where` may say depends on it. */
export function fieldSchema(field: Field, action: Action) {
  const { schema } = FIELDS[field]
  if (field !== "where") return schema
  return { ...FIELDS.where.schema, properties: action === "reconcile" ? finding : traits }
}

function anyOf(...fields: readonly Field[]) {
  return { anyOf: fields.map((field) => ({ required: [field] })) }
}

/** What names the skills of a call, one of these ways. */
const named = anyOf("id", "name")
const several = { oneOf: [named, anyOf("ids"), anyOf("match", "where")] }
const TARGETS: Readonly<Partial<Record<Action, object>>> = {
  inspect: named,
  // A pattern is written as it is, so nothing narrows it.
  disable: {
    ...several,
    if: { properties: { rule: { const: "pattern" } }, required: ["rule"] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required: ["match"], not: { required: ["where"] } },
  },
  enable: several,
}

/** The published schema: per action, the fields that it uses and no others. */
export const inputSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "Input of skill_management",
  oneOf: ACTIONS.map((action) => ({
    type: "object",
    properties: Object.fromEntries(
      FIELD_NAMES.filter((name) => usedBy(name, action)).map((name) => [
        name,
        name === "action" ? { const: action } : fieldSchema(name, action),
      ]),
    ),
    required: ["action"],
    ...TARGETS[action],
    additionalProperties: false,
  })),
}

/** Fields whose name says enough to a model. */
const PLAIN_NAMES: readonly Field[] = ["note", "cursor"]

/** The schema for a host: one flat object that lets `null` and unknown fields through, so that the answer is ours. */
export const hostInputSchema = {
  type: "object",
  properties: Object.fromEntries(
    FIELD_NAMES.map((name) => {
      const { description, ...bare } = FIELDS[name].schema
      if (name === "action") return [name, bare]
      return [name, lenient(PLAIN_NAMES.includes(name) ? bare : { ...bare, description })]
    }),
  ),
  required: ["action"],
  additionalProperties: true,
}

interface Shape {
  readonly type: string
  readonly description?: string | undefined
  readonly enum?: readonly string[]
  readonly items?: Shape
  readonly properties?: Readonly<Record<string, Shape>>
}

/** Types, words and meaning; bounds are left to the decoder, as every prompt pays for what stands here. */
function lenient({ type, enum: words, items, properties, description }: Shape): object {
  const inner = properties && Object.entries(properties).map(([name, shape]) => [name, lenient(shape)])
  return {
    type: [type, "null"],
    ...(words && { enum: [...words, null] }),
    ...(items && { items: { type: items.type, ...(items.enum && { enum: items.enum }) } }),
    ...(inner && { properties: Object.fromEntries(inner) }),
    ...(description && { description }),
  }
}
