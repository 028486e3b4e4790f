import { EFFECTS } from "../core/rule.ts"
import { ROW_FIELDS, SCOPES, SOURCES, STATES } from "./vocabulary.ts"

export const ACTIONS = ["list", "inspect", "disable", "enable"] as const
export type Action = (typeof ACTIONS)[number]

export const isWriting = (action: Action): boolean => action === "disable" || action === "enable"

const pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$"
const text = (maxLength: number, description: string) => ({ type: "string", maxLength, pattern, description }) as const

const named = (description: string) => ({ ...text(256, description), minLength: 1 }) as const

/**
 * Every field of the tool's input: its schema and the actions that use it. The published schema, the one handed to a
 * host, the decoder, the types and the reference page all follow from this table.
 */
export const FIELDS = {
  action: { schema: { type: "string", enum: ACTIONS, description: "What to do" }, usedBy: ACTIONS },
  id: { schema: named("Exact skill id"), usedBy: ["inspect", "disable", "enable"] },
  name: { schema: named("Skill name, when the id is not known"), usedBy: ["inspect", "disable", "enable"] },
  match: { schema: text(256, "Pattern over ids: * any run, ? one character"), usedBy: ["list"] },
  where: {
    schema: {
      type: "object",
      description: "Only skills with these traits",
      properties: {
        source: { type: "string", enum: SOURCES },
        scope: { type: "string", enum: SCOPES },
        state: { type: "string", enum: [...STATES, ...EFFECTS.filter((effect) => effect !== "ask")] },
        path: text(256, "Pattern over the file's path"),
      },
      minProperties: 1,
      additionalProperties: false,
    },
    usedBy: ["list"],
  },
  query: { schema: text(120, "Words in id, name, description or path"), usedBy: ["list"] },
  effect: {
    schema: { type: "string", enum: ["deny", "ask"], description: "disable: deny hides (default), ask asks first" },
    usedBy: ["disable"],
  },
  agent: { schema: text(256, "Look through this agent's eyes"), usedBy: ["list", "inspect"] },
  dryRun: { schema: { type: "boolean", description: "Show the change, write nothing" }, usedBy: ["disable", "enable"] },
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
  cursor: { schema: text(2048, "page.nextCursor of the page before"), usedBy: ["list"] },
} as const satisfies Record<string, { schema: object; usedBy: readonly Action[] }>

export type Field = keyof typeof FIELDS
export const FIELD_NAMES = Object.keys(FIELDS).filter((name): name is Field => name in FIELDS)

export const usedBy = (field: Field, action: Action): boolean => FIELDS[field].usedBy.some((name) => name === action)

export const TOOL_NAME = "skill_management"
export const TOOL_DESCRIPTION =
  "Lists this agent's skills and why each is available or not, and hides or returns one by editing the user's global " +
  "OpenCode config. list: all skills. inspect: one skill, its deciding rule and place. disable / enable: one skill " +
  "by id or name; rehearse with dryRun."

/** The published schema: per action, the fields that it uses and no others. */
export const inputSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "Input of skill_management",
  oneOf: ACTIONS.map((action) => ({
    type: "object",
    properties: Object.fromEntries(
      FIELD_NAMES.filter((name) => usedBy(name, action)).map((name) => [
        name,
        name === "action" ? { const: action } : FIELDS[name].schema,
      ]),
    ),
    required: ["action"],
    ...(action !== "list" && { anyOf: [{ required: ["id"] }, { required: ["name"] }] }),
    additionalProperties: false,
  })),
}

/** The schema for a host: one flat object that lets `null` and unknown fields through, so that the answer is ours. */
export const hostInputSchema = {
  type: "object",
  properties: Object.fromEntries(
    FIELD_NAMES.map((name) => [name, name === "action" ? FIELDS.action.schema : lenient(FIELDS[name].schema)]),
  ),
  required: ["action"],
  additionalProperties: true,
}

interface Shape {
  readonly type: string
  readonly enum?: readonly string[]
  readonly pattern?: string
  readonly properties?: Readonly<Record<string, Shape>>
}

/** Patterns are left to the decoder: every prompt pays for what stands here. */
function lenient({ pattern: _, ...shape }: Shape): object {
  const properties = shape.properties && Object.entries(shape.properties).map(([name, inner]) => [name, lenient(inner)])
  return {
    ...shape,
    type: [shape.type, "null"],
    ...(shape.enum && { enum: [...shape.enum, null] }),
    ...(properties && { properties: Object.fromEntries(properties), additionalProperties: true }),
  }
}
