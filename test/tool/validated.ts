/** What every answer of the tool must be, whatever was asked. Tests hand each reply through `validated`. */
import { Ajv2020 } from "ajv/dist/2020.js"
import { expect } from "vitest"
import { answerSchema } from "../../src/tool/answer-schema.ts"
import { inputSchema } from "../../src/tool/input-schema.ts"

export interface Answer {
  readonly schemaVersion: number
  readonly action: string
  readonly ok: boolean
  readonly warnings: readonly string[]
  readonly notices: readonly { readonly code: string; readonly data?: Readonly<Record<string, unknown>> }[]
  readonly error?: {
    readonly code: string
    readonly message: string
    readonly hint?: string
    readonly data?: Readonly<Record<string, unknown>>
  }
  readonly host: { readonly generation: string; readonly version: string | null }
  readonly next: readonly { readonly why: string; readonly input: Readonly<Record<string, unknown>> }[]
  readonly [field: string]: unknown
}

const ajv = new Ajv2020({ strict: true, strictRequired: false, allErrors: true })
const isAnswer = ajv.compile(answerSchema)
/** The published input schema, for the calls that answers suggest. */
export const isPublishedInput = ajv.compile(inputSchema)

/** Stands in the environment of every world: no answer may ever show it. */
export const SECRET = "s3cr3t-of-the-environment"

const seen = { errors: new Set<string>(), notices: new Set<string>() }
/** The codes that went through `validated` in this test file, sorted. */
export const seenCodes = () => ({ errors: [...seen.errors].sort(), notices: [...seen.notices].sort() })

export const MAX_BYTES = 32_768
export const MAX_LINES = 1_500

/** Checks a reply against the published schema and the laws of the envelope; returns the answer. */
export function validated(reply: { readonly text: string; readonly answer?: unknown }): Answer {
  const { text } = reply
  const answer = JSON.parse(text) as Answer
  expect(isAnswer(answer) ? [] : isAnswer.errors?.slice(0, 12), text.slice(0, 600)).toEqual([])
  if (reply.answer !== undefined) expect(reply.answer, "the structured output says the same").toEqual(answer)
  expect(text, "shape of the text").toBe(shapeOf(answer))
  expect(keyOrderFault(answer)).toBeNull()
  expect(Buffer.byteLength(text, "utf8"), "bytes of the answer").toBeLessThanOrEqual(MAX_BYTES)
  expect(text.split("\n").length, "lines of the answer").toBeLessThanOrEqual(MAX_LINES)
  expect(text, "an environment value is shown").not.toContain(SECRET)
  expect(answer.warnings.length, "one warning for each notice").toBe(answer.notices.length)
  expect(answer.next.length).toBeLessThanOrEqual(2)
  for (const { input } of answer.next)
    expect(isPublishedInput(input) ? [] : isPublishedInput.errors, `next: ${JSON.stringify(input)}`).toEqual([])
  for (const sentence of [...answer.warnings, ...(answer.error ? [answer.error.message] : [])]) {
    expect(sentence).toMatch(/^[^A-Z\s]/)
    expect(sentence).not.toMatch(/\.$|\n\s+at |\bundefined\b|\[object /)
  }
  if (answer.error) seen.errors.add(answer.error.code)
  for (const { code } of answer.notices) seen.notices.add(code)
  return answer
}

/** A refusal with this code that says what to do, and why. */
export function refused(reply: { readonly text: string; readonly answer?: unknown }, code: string): Answer {
  const answer = validated(reply)
  expect(answer.error?.code, answer.error?.message ?? "it was not refused").toBe(code)
  expect(answer.ok).toBe(false)
  return answer
}

/** The same text, built another way: top-level keys on lines of their own, an array's elements one per line. */
function shapeOf(answer: object): string {
  const lines: string[] = ["{"]
  const entries = Object.entries(answer)
  for (const [at, [key, value]] of entries.entries()) {
    const comma = at < entries.length - 1 ? "," : ""
    if (Array.isArray(value) && value.length > 0) {
      lines.push(`${JSON.stringify(key)}:[`)
      for (const [i, element] of value.entries())
        lines.push(`${JSON.stringify(element)}${i < value.length - 1 ? "," : ""}`)
      lines.push(`]${comma}`)
    } else lines.push(`${JSON.stringify(key)}:${JSON.stringify(value)}${comma}`)
  }
  return escaped([...lines, "}"].join("\n"))
}

function escaped(text: string): string {
  let out = ""
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0
    const hidden = (code >= 0x80 && code <= 0x9f) || code === 0x2028 || code === 0x2029 || /^\p{Cf}$/u.test(character)
    out += hidden
      ? Array.from({ length: character.length }, (_, i) => unit(character.charCodeAt(i))).join("")
      : character
  }
  return out
}

const unit = (code: number): string => `\\u${code.toString(16).padStart(4, "0")}`

const HEAD = ["schemaVersion", "action", "ok", "warnings", "notices", "error", "host"]
/** The contract's fields of each action, in its order; fields of ours may stand between them. */
const BODIES: Record<string, readonly string[]> = {
  list: ["callerAgent", "summary", "skills", "config", "sidecar", "consistency"],
  inspect: ["conclusion", "skill", "idDerivation", "rules", "agents", "caller", "reachability"],
  disable: [
    ..."changed reason targets before after diff impact unaffected unpredicted".split(" "),
    ..."verification takesEffect backup sidecar change".split(" "),
  ],
  enable: [
    ..."changed reason targets before after diff impact unaffected unpredicted".split(" "),
    ..."verification takesEffect backup sidecar change location rule candidates relatedRules".split(" "),
  ],
}

function keyOrderFault(answer: Answer): string | null {
  const keys = Object.keys(answer)
  const order = [...HEAD, ...(BODIES[answer.action] ?? []), "next"]
  const known = keys.filter((key) => order.includes(key))
  const wanted = order.filter((key) => key in answer)
  if (known.join() !== wanted.join()) return `${known.join()} instead of ${wanted.join()}`
  const head = HEAD.filter((key) => key in answer).length
  return keys.slice(0, head).join() === wanted.slice(0, head).join() && keys.at(-1) === "next" ? null : keys.join()
}
