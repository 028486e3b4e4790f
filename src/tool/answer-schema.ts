import type { FromSchema } from "json-schema-to-ts"
import { EFFECTS, LAYERS } from "../core/rule.ts"
import { ACTIONS, type Action } from "./input-schema.ts"
import {
  array,
  boolean,
  data,
  integer,
  nullable,
  numbersByName,
  object,
  oneOf,
  string,
  strings,
  truncated,
} from "./schema.ts"
import {
  ERROR_CODES,
  NOTICE_CODES,
  REACH_REASONS,
  REASONS,
  ROW_FIELDS,
  SCOPES,
  SOURCES,
  STATES,
  UNLISTED,
} from "./vocabulary.ts"

const effect = { type: "string", enum: EFFECTS } as const
const state = { type: "string", enum: STATES } as const
const unlisted = { type: "string", enum: UNLISTED } as const

const envelope = {
  schemaVersion: { const: 1 },
  warnings: strings,
  notices: array(object({ code: { type: "string", enum: NOTICE_CODES }, data }, "data")),
  host: object({ generation: oneOf("opencode-1", "opencode-2"), version: nullable(string) }),
  next: array(object({ why: string, input: data })),
} as const

const failed = object(
  { code: { type: "string", enum: ERROR_CODES }, message: string, hint: string, data },
  "hint",
  "data",
)

const rowFields = {
  id: nullable(string),
  name: nullable(string),
  autoinvoke: nullable(boolean),
  source: { type: "string", enum: SOURCES },
  scope: { type: "string", enum: SCOPES },
  state,
  path: nullable(string),
  description: nullable(string),
  tokens: integer,
  unlisted,
  pending: state,
  truncated: strings,
} as const

/** A row of `list`; `fields` may leave any of them out. */
export const rowSchema = object(rowFields, ...ROW_FIELDS, "truncated")

const agentSummary = object({
  id: string,
  hidden: boolean,
  skillTool: boolean,
  available: integer,
  ask: integer,
  disabled: integer,
  tokens: integer,
})

const listFields = {
  callerAgent: object({ id: nullable(string), verified: boolean }),
  summary: object(
    {
      total: integer,
      available: integer,
      disabled: integer,
      ask: integer,
      diverged: integer,
      derivedIds: integer,
      agents: array(agentSummary),
      agentsTruncated: truncated,
    },
    "agentsTruncated",
  ),
  skills: array(rowSchema),
  page: object({ total: integer, returned: integer, nextCursor: nullable(string) }),
  config: object(
    {
      file: string,
      realFile: string,
      configDir: string,
      configDirs: strings,
      hadPermissions: boolean,
      dialect: oneOf("permission", "permissions"),
      notes: strings,
    },
    "realFile",
  ),
  sidecar: object({ file: string, ok: boolean, error: nullable(string) }),
  consistency: object(
    {
      staleSidecarIds: strings,
      staleSidecarIdsTruncated: truncated,
      unrecordedRules: array(object({ resource: string, effect })),
      unrecordedRulesTruncated: truncated,
      missingFromRegistry: strings,
      missingFromRegistryTruncated: truncated,
    },
    "staleSidecarIdsTruncated",
    "unrecordedRulesTruncated",
    "missingFromRegistryTruncated",
  ),
} as const

const origin = object(
  {
    layer: { type: "string", enum: LAYERS },
    file: nullable(string),
    line: nullable(integer),
    column: nullable(integer),
    agent: string,
  },
  "agent",
)
const rule = object({ action: string, resource: string, effect, origin })

const agentView = {
  id: string,
  hidden: boolean,
  mode: string,
  state,
  explicit: boolean,
  rule: nullable(integer),
  unlisted,
} as const

const reachReasons = array({ type: "string", enum: REACH_REASONS } as const)

const section = object({ path: strings, pathTruncated: truncated, was: nullable(string) }, "pathTruncated")
const record = object(
  {
    generation: oneOf("opencode-1", "opencode-2"),
    file: string,
    id: string,
    effect,
    previous: effect,
    note: string,
    sections: array(section),
    sectionsTruncated: truncated,
  },
  "previous",
  "note",
  "sections",
  "sectionsTruncated",
)

const inspectFields = {
  conclusion: string,
  skill: object(
    {
      ...rowFields,
      realPath: nullable(string),
      flags: object({ disableModelInvocation: nullable(boolean), autoinvoke: nullable(boolean) }),
      supportingFiles: object({ count: integer, first: strings }),
      duplicates: strings,
      duplicatesTruncated: truncated,
      record: nullable(record),
    },
    "unlisted",
    "pending",
    "truncated",
    "duplicatesTruncated",
  ),
  idDerivation: object({ from: oneOf("registry", "path", "name"), note: string }),
  rules: array(rule),
  rulesTruncated: truncated,
  agents: array(object(agentView, "unlisted")),
  agentsTruncated: truncated,
  caller: object(
    { ...agentView, verified: boolean, trace: array(integer), traceTruncated: truncated },
    "unlisted",
    "traceTruncated",
  ),
  reachability: object({
    model: object({ listed: boolean, loadable: boolean, reasons: reachReasons }),
    user: object({ mention: nullable(boolean), reasons: reachReasons }),
  }),
} as const

const place = object({ effect, origin })

const reason = { type: "string", enum: REASONS } as const
const target = object({ id: string, before: effect, after: effect, changed: boolean, reason })

const resultFields = {
  verification: object({ method: oneOf("host", "simulated", "none"), ok: boolean, detail: string }),
  takesEffect: oneOf("now", "restart"),
  backup: nullable(string),
  sidecar: object({ file: string, written: boolean }),
  change: nullable(string),
} as const

const changeFields = {
  changed: boolean,
  reason: nullable(reason),
  targets: array(target),
  targetsTruncated: truncated,
  before: effect,
  after: effect,
  diff: string,
  diffTruncated: truncated,
  impact: array(
    object(
      {
        agents: strings,
        agentsTruncated: truncated,
        direction: oneOf("narrower", "wider"),
        before: effect,
        after: effect,
        ids: strings,
        idsTruncated: truncated,
        count: integer,
        tokens: numbersByName,
        skillTool: boolean,
      },
      "agentsTruncated",
      "idsTruncated",
      "skillTool",
    ),
  ),
  unaffected: strings,
  unaffectedTruncated: truncated,
  unpredicted: strings,
  unpredictedTruncated: truncated,
  ...resultFields,
  plan: object({ token: string, count: integer }),
} as const

/** With a plan an answer is short: counts, and the targets that were left as they were. */
const applyFields = {
  changed: boolean,
  reason: nullable(reason),
  counts: object({ targets: integer, changed: integer, unchanged: integer }),
  targets: array(target),
  targetsTruncated: truncated,
  tokens: numbersByName,
  tokensTruncated: truncated,
  ...resultFields,
} as const

const pastChange = object(
  {
    change: string,
    time: string,
    action: string,
    targets: strings,
    targetsTruncated: truncated,
    note: string,
    undoneBy: string,
  },
  "targetsTruncated",
  "note",
  "undoneBy",
)

const listBody = object(listFields, "config", "sidecar", "consistency")
const inspectBody = object(inspectFields, "rulesTruncated", "agentsTruncated")
/** `before` and `after` are the caller's effects on one target; `plan` stands in a rehearsal. */
const OPTIONAL = [
  "targetsTruncated",
  "before",
  "after",
  "diffTruncated",
  "unaffectedTruncated",
  "unpredictedTruncated",
  "plan",
] as const
const changeBody = object(changeFields, ...OPTIONAL)
/** `candidates` and `relatedRules` belong to one target. */
const enableBody = object(
  {
    ...changeFields,
    location: nullable(string),
    rule: nullable(place),
    candidates: array(place),
    candidatesTruncated: truncated,
    relatedRules: array(rule),
    relatedRulesTruncated: truncated,
  },
  ...OPTIONAL,
  "candidates",
  "candidatesTruncated",
  "relatedRules",
  "relatedRulesTruncated",
)
const undoBody = object({ ...changeFields, undoes: string, changes: array(pastChange) }, ...OPTIONAL, "changes")
const applyBody = object(applyFields, "targetsTruncated", "tokensTruncated")

export type Notice = FromSchema<typeof envelope.notices.items>
export type Next = FromSchema<typeof envelope.next.items>
export type Row = FromSchema<typeof rowSchema>
export type ListBody = FromSchema<typeof listBody>
export type InspectBody = FromSchema<typeof inspectBody>
export type ChangeBody = FromSchema<typeof changeBody>
export type EnableBody = FromSchema<typeof enableBody>
export type UndoBody = FromSchema<typeof undoBody>
export type ApplyBody = FromSchema<typeof applyBody>

/** A whole answer: the envelope around an action's own fields. `ok: true` carries no error, `ok: false` always one. */
const answer = (action: Action, body: { properties: Record<string, unknown>; required: readonly string[] }) => ({
  ...object({ ...envelope, action: { const: action }, ok: boolean, error: failed, ...body.properties }),
  required: [...Object.keys(envelope), "action", "ok", ...body.required],
  if: { properties: { ok: { const: false } } },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ["error"] },
  else: { properties: { error: false } },
})

/** An error without any of the action's fields. */
const failure = object({
  ...envelope,
  action: { type: "string", enum: [...ACTIONS, "unknown"] },
  ok: { const: false },
  error: failed,
})

/** Every answer of the tool is one of these. `list` keeps its fields even when it fails on an unparsable config. */
export const answerSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "Answer of skill_management",
  type: "object",
  anyOf: [
    answer("list", listBody),
    answer("inspect", inspectBody),
    answer("disable", changeBody),
    answer("enable", enableBody),
    answer("undo", undoBody),
    answer("reconcile", changeBody),
    answer("disable", applyBody),
    answer("enable", applyBody),
    answer("reconcile", applyBody),
    failure,
  ],
}

/** What a host is told of an answer: only words that every validator knows, so that no build refuses a good answer. */
export const hostOutputSchema = {
  type: "object",
  properties: {
    schemaVersion: { type: "integer" },
    action: { type: "string" },
    ok: { type: "boolean" },
    warnings: { type: "array", items: { type: "string" } },
  },
  required: ["schemaVersion", "action", "ok", "warnings"],
  additionalProperties: true,
}
