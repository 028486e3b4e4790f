import type { FromSchema } from "json-schema-to-ts"
import type { Notice } from "./answer-schema.ts"
import { isShort } from "./envelope.ts"
import {
  ACTIONS,
  type Action,
  FIELD_NAMES,
  type FIELDS,
  type Field,
  fieldSchema,
  isWriting,
  PLAIN_TEXT,
  usedBy,
} from "./input-schema.ts"
import { nearNames } from "./near.ts"
import { notice } from "./notices.ts"
import { invalidInput, isProblem, type Problem } from "./problems.ts"

type Value<F extends Field> = FromSchema<(typeof FIELDS)[F]["schema"]>

/** A call of the tool, decoded: only fields that its action uses, each of the right type. */
export type Request = { readonly action: Action } & { readonly [F in Exclude<Field, "action">]?: Value<F> }

export interface Decoded {
  readonly request: Request
  /** What a reading action passed over. */
  readonly notices: readonly Notice[]
}

/**
 * Decodes a call. `null` counts as absent. Reading actions pass over fields that they do not use; a writing action
 * refuses them, so that a mistyped `dryrun` never becomes a write.
 */
export function decodeInput(input: unknown): Decoded | Problem {
  if (!isObject(input))
    return invalidInput("the input is not an object", 'call with {"action": "list"}', { field: null })
  const action = decodeAction(input.action)
  if (isProblem(action)) return action
  const given = Object.entries(input).filter(
    ([key, value]) => key !== "action" && value !== null && value !== undefined,
  )
  const notices: Notice[] = []
  const values: Record<string, unknown> = { action }
  for (const [key, value] of given) {
    const field = FIELD_NAMES.find((name) => name === key)
    // `agent` on a write has an answer of its own, which names the rule to paste.
    const scoped = field === "agent" && (action === "disable" || action === "enable")
    if (field !== undefined && (usedBy(field, action) || scoped)) {
      const fault = faultOf(fieldSchema(field, action), value, field)
      if (fault)
        return invalidInput(fault.message, `\`${fault.field}\`: ${fault.wants}`, {
          field: fault.field,
          wants: fault.wants,
        })
      values[field] = withoutNulls(value)
    } else if (isWriting(action)) return refuseField(action, key, field !== undefined, input)
    else if (notices.length < MAX_NOTICES) notices.push(passedOver(action, key, field !== undefined))
  }
  // Every value was checked against the schema that its type follows from.
  const request = values as Request
  return targetFault(request) ?? { request, notices }
}

/** More remarks on one call help nobody. */
const MAX_NOTICES = 10

function decodeAction(value: unknown): Action | Problem {
  const action = ACTIONS.find((name) => name === value)
  if (action) return action
  const near = typeof value === "string" ? nearNames(value, ACTIONS) : []
  const message =
    typeof value === "string" ? `\`${shorten(value)}\` is not an action` : "`action` is missing or not a string"
  return invalidInput(message, `one of ${ACTIONS.join(", ")}`, { field: "action", wants: ACTIONS, suggestions: near })
}

function passedOver(action: Action, key: string, known: boolean): Notice {
  const field = shorten(key)
  if (known) return notice("field_ignored", { field })
  const [nearest] = nearNames(key, fieldsOf(action), 1)
  return notice("field_unknown", { field, ...(nearest && { nearest }) })
}

function refuseField(action: Action, key: string, known: boolean, input: Record<string, unknown>): Problem {
  const field = shorten(key)
  const fields = fieldsOf(action)
  const [nearest] = known ? [] : nearNames(key, fields, 1)
  const valid = validCall(action, input, nearest ? { [nearest]: input[key] } : {})
  return invalidInput(
    known ? `\`${field}\` is not used by ${action}` : `\`${field}\` is not a field of ${action}`,
    nearest ? `did you mean \`${nearest}\`?` : `leave it out; ${action} uses ${fields.join(", ")}`,
    { field, ...(nearest && { nearest }), ...(isShort(valid) && { valid }) },
  )
}

/** The call as it was meant: what is right of it, the mistyped field under its name, and a target. */
function validCall(action: Action, input: Record<string, unknown>, meant: Record<string, unknown>) {
  const right = Object.entries({ ...meant, ...input }).filter(([name, value]) => {
    const field = fieldsOf(action).find((other) => other === name)
    return (
      field !== undefined &&
      field !== "action" &&
      value !== null &&
      faultOf(fieldSchema(field, action), value, field) === null
    )
  })
  const call = { action, ...Object.fromEntries(right) }
  if (!targetFault(call as Request)) return call
  const others = Object.entries(call).filter(([name]) => !TARGET_FIELDS.some((field) => field === name))
  const { id = "the-skill" } = call as Request
  return { ...Object.fromEntries(others), id }
}

const fieldsOf = (action: Action): Field[] => FIELD_NAMES.filter((name) => usedBy(name, action))

/** Ways to name the skills of a change; the fields of one way narrow each other. */
const WAYS: readonly (readonly Field[])[] = [["id", "name"], ["ids"], ["match", "where"]]

const TARGET_FIELDS: readonly Field[] = [...WAYS.flat(), "rule"]

/** A call names its skills in exactly one way. */
function targetFault(request: Request): Problem | null {
  const { action } = request
  if (action === "list" || action === "undo" || action === "reconcile") return null
  const ways = action === "inspect" ? WAYS.slice(0, 1) : WAYS
  const example = `for example ${JSON.stringify({ action, id: "the-skill" })}`
  const given = ways.filter((fields) => fields.some((field) => field !== "action" && request[field] !== undefined))
  const [way, second] = given
  if (!way) {
    const names = ways.flat().map((field) => `\`${field}\``)
    return invalidInput(`${action} needs ${names.slice(0, -1).join(", ")} or ${names.at(-1)}`, example, { field: "id" })
  }
  if (second)
    return invalidInput(
      `\`${way[0]}\` and \`${second[0]}\` name skills in two ways`,
      "give `id` or `name`, or `ids`, or `match` and `where`",
      { field: second[0] },
    )
  if (request.rule === "pattern" && (request.match === undefined || request.where !== undefined))
    return invalidInput('`rule: "pattern"` writes `match` as it is, so it needs `match` alone', "leave out the rest", {
      field: "rule",
    })
  return null
}

interface FieldFault {
  readonly field: string
  readonly message: string
  readonly wants: string
}

interface Shape {
  readonly type: string
  readonly enum?: readonly string[]
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly minProperties?: number
  readonly items?: Shape
  readonly properties?: Readonly<Record<string, Shape>>
}

/** Checks a value against the few schema words that the input table uses. */
function faultOf(shape: Shape, value: unknown, field: string): FieldFault | null {
  const fault = (message: string, wants: string): FieldFault => ({ field, message: `\`${field}\` ${message}`, wants })
  switch (shape.type) {
    case "string":
      if (typeof value !== "string") return fault("is not a string", "a string")
      if (shape.enum && !shape.enum.includes(value))
        return fault(`cannot be \`${shorten(value)}\``, `one of ${shape.enum.join(", ")}`)
      if (value.length < (shape.minLength ?? 0)) return fault("is empty", "text")
      // Code points, as JSON Schema counts.
      if (shape.maxLength !== undefined && [...value].length > shape.maxLength)
        return fault(`is longer than ${shape.maxLength} characters`, `at most ${shape.maxLength} characters`)
      if (!shape.pattern || new RegExp(shape.pattern).test(value)) return null
      return shape.pattern === PLAIN_TEXT
        ? fault("holds a control character", "text without control characters")
        : fault("is not a token of this tool", "the `plan.token` of a rehearsal")
    case "boolean":
      return typeof value === "boolean" ? null : fault("is not a boolean", "true or false")
    case "integer": {
      const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = shape
      const inRange = typeof value === "number" && Number.isInteger(value) && value >= minimum && value <= maximum
      return inRange ? null : fault("is not a whole number in range", `a whole number from ${minimum} to ${maximum}`)
    }
    case "array":
      if (!Array.isArray(value) || value.length < (shape.minItems ?? 0))
        return fault("is not a filled list", "a list with at least one element")
      if (value.length > (shape.maxItems ?? value.length))
        return fault(`has more than ${shape.maxItems} elements`, `at most ${shape.maxItems} elements`)
      return firstFault(value.map((item) => (shape.items ? faultOf(shape.items, item, field) : null)))
    default:
      return objectFault(shape, value, field, fault)
  }
}

function objectFault(
  shape: Shape,
  value: unknown,
  field: string,
  fault: (message: string, wants: string) => FieldFault,
) {
  const names = Object.keys(shape.properties ?? {})
  if (!isObject(value)) return fault("is not an object", `an object with ${names.join(", ")}`)
  const entries = Object.entries(value).filter(([, item]) => item !== null && item !== undefined)
  if (entries.length < (shape.minProperties ?? 0))
    return fault("is empty", `an object with at least one of ${names.join(", ")}`)
  return firstFault(
    entries.map(([key, item]) => {
      const inner = names.includes(key) ? shape.properties?.[key] : undefined
      const path = `${field}.${shorten(key)}`
      return inner
        ? faultOf(inner, item, path)
        : { field: path, message: `\`${field}\` has no \`${shorten(key)}\``, wants: `only ${names.join(", ")}` }
    }),
  )
}

/** `null` counts as absent inside an object too. */
const withoutNulls = (value: unknown): unknown =>
  isObject(value) ? Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== null)) : value

const firstFault = (faults: readonly (FieldFault | null)[]): FieldFault | null =>
  faults.find((fault) => fault !== null) ?? null

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** A user's word in a message: long ones are shortened, control characters shown as `?`. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be echoed
export const shorten = (word: string): string => word.slice(0, 60).replace(/[\u0000-\u001f\u007f-\u009f]/g, "?")
