/**
 * The few words of JSON Schema that the contract needs, written so that the TypeScript types follow from the schema
 * (`FromSchema`). Objects are closed: a published answer holds nothing that its schema does not name.
 */
export const object = <const P extends Record<string, unknown>, const O extends Extract<keyof P, string> = never>(
  properties: P,
  ...optional: O[]
): {
  readonly type: "object"
  readonly properties: P
  readonly required: readonly Exclude<Extract<keyof P, string>, O>[]
  readonly additionalProperties: false
} => ({
  type: "object",
  properties,
  required: Object.keys(properties).filter(
    (key): key is Exclude<Extract<keyof P, string>, O> => !optional.some((name) => name === key),
  ),
  additionalProperties: false,
})

export const array = <const I>(items: I) => ({ type: "array", items }) as const
export const oneOf = <const V extends readonly string[]>(...values: V) => ({ type: "string", enum: values }) as const
export const nullable = <const S>(schema: S) => ({ anyOf: [schema, { type: "null" }] }) as const

export const string = { type: "string" } as const
export const integer = { type: "integer" } as const
export const boolean = { type: "boolean" } as const
export const strings = array(string)
/** Stands beside an array that was cut. */
export const truncated = object({ shown: integer, total: integer })
export const numbersByName = { type: "object", additionalProperties: integer } as const
/** Details of an error or a notice; each code documents its own. */
export const data = { type: "object", additionalProperties: true } as const
