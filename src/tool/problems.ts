import { cut } from "./budget.ts"
import type { Action } from "./input-schema.ts"
import type { ErrorCode } from "./vocabulary.ts"

/**
 * An expected failure. Messages start in lower case and end without a period, the user's words in backticks;
 * `hint` says what to do. Programs read `code` and `data`.
 */
export interface Problem {
  readonly code: ErrorCode
  readonly message: string
  readonly hint?: string
  readonly data?: Readonly<Record<string, unknown>>
}

export const isProblem = (value: unknown): value is Problem =>
  typeof value === "object" && value !== null && "code" in value && "message" in value

/** Names in one list of an error's data. */
const SHOWN = 20

const quoted = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(", ")
const place = (at: { file: string; line: number; column: number }): string => `${at.file}:${at.line}:${at.column}`

export const invalidInput = (message: string, hint: string, data: Readonly<Record<string, unknown>>): Problem => ({
  code: "invalid_input",
  message,
  hint,
  data,
})

/** Where a skill was looked for, and the files of its name that the host did not register. */
export interface SkillSearch {
  readonly searched: string[]
  readonly searchedTruncated?: { shown: number; total: number }
  readonly unregistered: { path: string; why: string }[]
  readonly unregisteredTruncated?: { shown: number; total: number }
}

export function skillNotFound(wanted: string, suggestions: readonly string[], search?: SkillSearch): Problem {
  const [file] = search?.unregistered ?? []
  const near = suggestions.length > 0 ? `did you mean ${quoted(suggestions)}?` : "call list with query to look for it"
  return {
    code: "skill_not_found",
    message: `no skill \`${wanted}\` is registered`,
    hint: file ? `${file.path}: ${file.why}` : near,
    data: { suggestions, ...search },
  }
}

const UNREGISTERED = {
  wrong_file_name: () => "a skill's file has to be called `SKILL.md`",
  bad_frontmatter: () => "its frontmatter is missing, or not sound YAML",
  no_name: () => "its frontmatter has no `name`",
  bad_name: () => "its `name` is not a text",
  bad_description: () => "its `description` is not a text",
  unreadable: () => "it cannot be read",
  hidden_directory: () => "it lies in a hidden directory, where this host does not look",
  not_searched: () => "an environment variable keeps this host from looking there",
  other_name: (id) => `it is registered as \`${id}\``,
  name_clash: (id) => `another file is registered as \`${id}\``,
  not_registered: () => "the host has not registered it; when it is new, restart the host",
} as const satisfies Record<string, (id: string) => string>

/** Why a file is not registered under the name that was asked for. */
export const unregisteredWhy = (reason: keyof typeof UNREGISTERED, id: string): string => UNREGISTERED[reason](id)

export const skillsNotFound = (wanted: readonly string[], near: (id: string) => readonly string[]): Problem => ({
  code: "skill_not_found",
  message: `${wanted.length} of the \`ids\` are not registered`,
  hint: "leave them out, or name them as list does",
  data: {
    ids: wanted.slice(0, SHOWN),
    ...(wanted.length > SHOWN && { idsTruncated: { shown: SHOWN, total: wanted.length } }),
    suggestions: Object.fromEntries(wanted.slice(0, SHOWN).map((id) => [id, near(id)])),
  },
})

export const noMatch = (near: readonly string[]): Problem => ({
  code: "no_match",
  message: "no skill matches",
  hint: near.length > 0 ? `ids like it: ${quoted(near)}` : "call list with the same match or where to look",
  data: { suggestions: near },
})

export const protectedSkills = (ids: readonly string[]): Problem => ({
  code: "protected",
  message: `${quoted(ids.slice(0, 5))} ${ids.length === 1 ? "is" : "are"} protected by the plugin's options`,
  hint: "leave them out; the person who set `protect` can change them",
  data: { ids: ids.slice(0, SHOWN), ...(ids.length > SHOWN && { idsTruncated: { shown: SHOWN, total: ids.length } }) },
})

export const planRequired = (count: number): Problem => ({
  code: "plan_required",
  message: `this changes ${count} ${count === 1 ? "skill" : "skills"} at once, so it goes in two steps`,
  hint: "look at what would change, then send the same call with `plan`",
})

export const planStale = (differs: readonly string[]): Problem => ({
  code: "plan_stale",
  message: `not what was rehearsed any more: ${differs.join(", ")} differ`,
  hint: "look at the new rehearsal, then send its token",
  data: { differs },
})

type Manual = { readonly file: string; readonly text: string }

export const operatorOnly = (manual: Manual): Problem => ({
  code: "not_permitted",
  message: "the plugin's options leave writing to a person (`writes: operator`)",
  hint: `a person can put data.manual.text into ${manual.file}`,
  data: { manual },
})

export const notPermitted = (resources: readonly string[], agent: string, why: "rule" | "user"): Problem => ({
  code: "not_permitted",
  message:
    why === "user"
      ? `the user refused ${quoted(resources.slice(0, 5))}`
      : `a rule of ${agent} denies skill_management ${quoted(resources.slice(0, 5))}`,
  ...(why === "rule" && { hint: "the user can change that rule; nothing was written" }),
  data: cut("resources", resources, SHOWN),
})

export const approvalRequired = (resources: readonly string[], why: string): Problem => ({
  code: "approval_required",
  message: `the user has to allow ${quoted(resources.slice(0, 5))} first: ${why}`,
  hint: `a person can add an \`allow\` rule for the action skill_management and ${resources.length === 1 ? "this resource" : "these resources"}, or make the change`,
  data: {
    ...cut("resources", resources, SHOWN),
    ...cut(
      "rules",
      resources.map((resource) => ({ action: "skill_management", resource, effect: "allow" })),
      SHOWN,
    ),
  },
})

export const nothingToUndo = (
  message: string,
  data: { readonly changes: readonly object[] } & Readonly<Record<string, unknown>>,
): Problem => ({
  code: "nothing_to_undo",
  message,
  ...(data.changes.length > 0 && { hint: "name one of `data.changes`, the last ones, in `change`" }),
  data,
})

export const undoConflict = (file: string, data: Readonly<Record<string, unknown>>): Problem => ({
  code: "undo_conflict",
  message: `${file} has been edited where the change stood, so it cannot be taken back alone`,
  hint: "data holds what the change made and what stands there now; edit it by hand, or use enable and disable",
  data: { file, ...data },
})

export const agentNotFound = (wanted: string, suggestions: readonly string[]): Problem => ({
  code: "agent_not_found",
  message: `no agent \`${wanted}\` is known to the host`,
  hint: suggestions.length > 0 ? `did you mean ${quoted(suggestions)}?` : "call list without agent to see all agents",
  data: { suggestions },
})

export const nameAmbiguous = (name: string, ids: readonly string[]): Problem => ({
  code: "name_ambiguous",
  message: `the name \`${name}\` belongs to several skills`,
  hint: "name one of them by id",
  data: { ids: ids.slice(0, 20), ...(ids.length > 20 && { idsTruncated: { shown: 20, total: ids.length } }) },
})

export const scopeUnsupported = (action: Action, agent: string, manual: { file: string; text: string }): Problem => ({
  code: "scope_unsupported",
  message: `${action} for the agent \`${agent}\` alone is not possible yet`,
  hint: `leave out \`agent\`, or paste data.manual.text into ${manual.file} yourself`,
  data: { manual },
})

export const idNotExpressible = (id: string, hits: readonly string[]): Problem => ({
  code: "id_not_expressible",
  message: `a rule cannot name \`${id}\` alone`,
  hint:
    hits.length > 0 ? `as a pattern it also covers ${quoted(hits.slice(0, 5))}` : "the host reads it as something else",
  data: cut("hits", hits, SHOWN),
})

type Place = { readonly file: string; readonly line: number; readonly column: number; readonly reason: string }

export const configUnparsable = (at: Place): Problem => ({
  code: "config_unparsable",
  message: `the config does not parse at ${place(at)}: ${at.reason}`,
  hint: "mend that place; nothing is written into a file that the host cannot read",
  data: placeData(at),
})

const placeData = ({
  file,
  line,
  column,
  reason,
}: {
  file: string
  line?: number
  column?: number
  reason: string
}) => ({
  file,
  ...(line !== undefined && { line, column }),
  reason,
})

const UNSUPPORTED: Readonly<Record<string, string>> = {
  unexpected_type: "the section is not of the type that the host expects",
  unknown_effect: "the effect is not allow, ask or deny",
  duplicate_key: "a key on the way to the rule stands twice",
  reference: "an {env:…} or {file:…} reference stands on the way to the rule",
  opencode_2_array: "a `permissions` array belongs to OpenCode 2, and OpenCode 1 does not start on it",
  dangling_link: "it is a link to nothing",
  not_a_file: "it is not a regular file",
  link: "it is a link, and removing what it leads to would break it",
  too_large: "it is larger than 4 MiB",
  hard_link: "it has several names (hard links), and replacing it would part them",
  not_utf8: "it is not UTF-8",
  ELOOP: "its links form a loop",
}

export const configUnsupported = (at: { file: string; line?: number; column?: number; reason: string }): Problem => ({
  code: "config_unsupported",
  message: `${at.line ? place({ line: at.line, column: at.column ?? 1, file: at.file }) : at.file} cannot be edited safely: ${UNSUPPORTED[at.reason] ?? at.reason}`,
  hint: "change that place by hand, then call again",
  data: placeData(at),
})

export const fileProblem = (problem: {
  kind: "config_unsupported" | "config_unreadable" | "config_readonly" | "config_changed" | "write_failed"
  file: string
  realFile?: string
  reason: string
}): Problem => {
  const { file, realFile, reason, kind } = problem
  if (kind === "config_unsupported") return configUnsupported(problem)
  const words = {
    config_unreadable: ["cannot be read", "check its permissions"],
    config_readonly: ["may not be written", "make it writable, or change it where it is managed"],
    config_changed: ["was changed by someone else meanwhile", "call again"],
    write_failed: ["could not be written; the old text is in place", "check disk space and permissions"],
  } as const
  const [says, hint] = words[kind]
  const named = realFile === undefined ? file : `${file} (that is ${realFile})`
  const data = { file, ...(realFile !== undefined && { realFile }), reason }
  return { code: kind, message: `${named} ${says} (${reason})`, hint, data }
}

export const predictionFailed = (agent: string, agents: readonly string[], manual: Manual | null): Problem => ({
  code: "prediction_failed",
  message: `the rules of \`${agent}\` on the running host do not follow from the config files, so the effect of a change cannot be foreseen`,
  hint: `another plugin or an unread layer changes them${manual ? `; paste data.manual.text into ${manual.file} yourself` : ""}`,
  data: { ...cut("agents", agents, SHOWN), ...(manual && { manual }) },
})

export const notEffective = (message: string, hint: string, data: Readonly<Record<string, unknown>>): Problem => ({
  code: "not_effective",
  message,
  hint,
  data,
})

export const blockedElsewhere = (message: string, hint: string, data: Readonly<Record<string, unknown>>): Problem => ({
  code: "blocked_elsewhere",
  message,
  hint,
  data,
})

export const sidecarUnsupported = (file: string, reason: string): Problem => ({
  code: "sidecar_unsupported",
  message: `the record file cannot be used (${reason}), so nothing is written`,
  hint: reason === "newer_version" ? "update this plugin" : `mend or remove ${file}`,
  data: { file, reason },
})

export const lockTimeout = (): Problem => ({
  code: "lock_timeout",
  message: "another call has been changing this config for too long",
  hint: "call again",
})

export const cancelled = (): Problem => ({ code: "cancelled", message: "the call was cancelled; nothing was changed" })

export const registryUnavailable = (): Problem => ({
  code: "registry_unavailable",
  message: "the host does not tell its skills",
  hint: "call again; restart the host if it stays so",
})

export const unsupportedHost = (): Problem => ({
  code: "unsupported_host",
  message: "this host tells neither its skills nor its agents",
  hint: "use OpenCode 1.18 or later, or OpenCode 2",
})

export const internal = (name: string): Problem => ({
  code: "internal",
  message: `an unexpected ${name} stopped the call; nothing more was changed`,
  hint: "restart the host, whose plugin may have been updated; if it comes again, report it with the call that led to it",
})
