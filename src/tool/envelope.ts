import type { Generation } from "../core/rule.ts"
import type { Next, Notice } from "./answer-schema.ts"
import type { Action } from "./input-schema.ts"
import { warningOf } from "./notices.ts"
import type { Problem } from "./problems.ts"

/** The action's own part of an answer. */
export interface Outcome {
  readonly body: object
  readonly notices: readonly Notice[]
  readonly next: readonly Next[]
  readonly problem?: Problem
}

export interface Answer {
  readonly schemaVersion: 1
  readonly action: Action | "unknown"
  readonly ok: boolean
  readonly next: readonly Next[]
  readonly [field: string]: unknown
}

/** In bytes. */
const LARGEST_CALL = 4 * 1024

/** Whether a call is written out; whoever made a longer one has it. */
export const isShort = (call: object): boolean => Buffer.byteLength(render(call)) <= LARGEST_CALL

/** Puts the envelope around an outcome, keys in the contract's order. */
export function envelope(
  action: Action | "unknown",
  host: { readonly generation: Generation; readonly version: string | null },
  { body, notices, next, problem }: Outcome,
): Answer {
  return {
    schemaVersion: 1,
    action,
    ok: problem === undefined,
    warnings: notices.map(warningOf),
    notices,
    ...(problem && { error: problem }),
    host: { generation: host.generation, version: host.version },
    ...body,
    next: next.filter(({ input }) => isShort(input)).slice(0, 2),
  }
}

/** Invisible and control characters, which a terminal or a model may take for something else. */
const HIDDEN = /[\p{Cf}\u0080-\u009f\u2028\u2029]/gu

/**
 * The answer's text: top-level keys on lines of their own, a top-level array's elements one per line, each compact.
 * The hosts cut long outputs by whole lines.
 */
export function render(answer: object): string {
  const fields = Object.entries(answer).map(([key, value]) => `${JSON.stringify(key)}:${renderField(value)}`)
  return escapeHidden(`{\n${fields.join(",\n")}\n}`)
}

function renderField(value: unknown): string {
  if (!Array.isArray(value) || value.length === 0) return JSON.stringify(value)
  return `[\n${value.map((element) => JSON.stringify(element)).join(",\n")}\n]`
}

/** A text as it stands in an answer. */
export const renderText = (text: string): string => escapeHidden(JSON.stringify(text))

const escapeHidden = (json: string): string =>
  json.replace(HIDDEN, (character) =>
    Array.from(
      { length: character.length },
      (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`,
    ).join(""),
  )
