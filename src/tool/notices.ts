import type { Notice } from "./answer-schema.ts"
import type { NoticeCode } from "./vocabulary.ts"

type Data = Readonly<Record<string, unknown>>

export const notice = (code: NoticeCode, data?: Data): Notice => (data ? { code, data } : { code })

const list = (value: unknown): string => (Array.isArray(value) ? value.map((name) => `\`${name}\``).join(", ") : "")

const cutList = (names: unknown, truncated: unknown): string => {
  const { shown, total } = Object(truncated)
  return `${list(names)}${truncated ? ` and ${total - shown} more` : ""}`
}

const agentsIn = ({ agents, agentsTruncated }: Data): string => cutList(agents, agentsTruncated)

/** The English of each notice, for people; programs read code and data. */
const SAYINGS: Readonly<Record<NoticeCode, (data: Data) => string>> = {
  field_ignored: ({ field }) => `\`${field}\` is not used by this action`,
  field_unknown: ({ field, nearest }) =>
    `\`${field}\` is not a field${nearest ? `; did you mean \`${nearest}\`?` : ""}`,
  caller_unverified: ({ agent }) =>
    agent === null
      ? "the host tells no agents, so nothing is known of the caller's rules"
      : `the host did not name a known calling agent; \`${agent}\` was looked at instead`,
  restart_pending: () =>
    "the config on disk differs from what the host has loaded; `pending` is the state after a restart",
  host_not_reloaded: () => "the host has not read the change yet; it takes effect after a restart",
  partly_effective: ({ winner, help, ...data }) =>
    `another rule still wins for ${agentsIn(data)}: ${winner}; to change that, ${help}`,
  opens_for: (data) => `this also gives the skill to ${agentsIn(data)}, whom the host itself denies it`,
  ask_may_hang: (data) =>
    `an \`ask\` may stay unanswered in a run without a user${agentsIn(data) && `, and in a subagent: ${agentsIn(data)}`}`,
  approval_not_configured: () => "no rule says who may make a skill more available",
  rule_is_a_pattern: ({ id, idsTruncated }) =>
    `\`${id}\` is read as a pattern; it may also cover skills that are installed later${idsTruncated ? ` (${Object(idsTruncated).shown} of ${Object(idsTruncated).total} such ids are named)` : ""}`,
  other_host_differs: () => "both hosts read this map: OpenCode 1 takes the entry for a name, OpenCode 2 for an id",
  model_differs: (data) =>
    `the rules of ${agentsIn(data)} do not follow from the config files; their future is unknown`,
  diff_excerpt: () => "text outside the edited section is shown as `…`",
  sidecar_not_written: ({ reason }) => `the change is made, but its record could not be written (${reason})`,
  unfinished_change: ({ changes, changesTruncated }) =>
    `a change was interrupted: ${cutList(changes, changesTruncated)}; the next write settles it`,
  both_files: ({ files }) => `several global files hold skill rules: ${list(files)}`,
  section_left: () => "the section is empty now and was left in its place",
  rows_missing: ({ shown, total }) =>
    `${shown} of ${total} skills are shown; call again with \`cursor\` from page.nextCursor, or narrow with match, where or query`,
  still_unlisted: ({ ids, idsTruncated, reason }) =>
    `no rule hides ${cutList(ids, idsTruncated)}, yet the model is not told of it: ${reason === "autoinvoke_off" ? "its `autoinvoke` is off" : "it has no description"}`,
  winner_not_stable: () => "several files claim this skill, and the host does not say which one wins",
}

export const warningOf = ({ code, data = {} }: Notice): string => SAYINGS[code](data)
