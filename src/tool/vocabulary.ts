/** The closed lists of the contract. A word that is missing here is added in docs/reference/problems.md with its reason. */
export const SOURCES = ["embedded", "config", "claude", "agents", "catalog", "project", "plugin", "unknown"] as const
export type Source = (typeof SOURCES)[number]

export const SCOPES = ["user", "project"] as const
export const STATES = ["available", "disabled", "ask", "unknown"] as const
export type State = (typeof STATES)[number]

export const UNLISTED = ["denied", "no_description", "autoinvoke_off", "no_skill_tool"] as const
export type Unlisted = (typeof UNLISTED)[number]

export const FINDINGS = ["staleSidecarIds", "unrecordedRules", "missingFromRegistry"] as const

/** Why a skill does or does not come to the model, and to the user who names it. */
export const REACH_REASONS = [
  ...UNLISTED,
  "asks_first",
  "slash_command",
  "command_of_same_name",
  "rules_not_asked",
  "unmeasured",
] as const
export type ReachReason = (typeof REACH_REASONS)[number]

export const ROW_FIELDS = [
  "id",
  "name",
  "autoinvoke",
  "source",
  "scope",
  "state",
  "path",
  "description",
  "tokens",
  "unlisted",
  "pending",
] as const

export const ERROR_CODES = [
  "invalid_input",
  "skill_not_found",
  "agent_not_found",
  "name_ambiguous",
  "no_match",
  "scope_unsupported",
  "id_not_expressible",
  "config_unparsable",
  "config_unsupported",
  "config_unreadable",
  "config_readonly",
  "config_changed",
  "write_failed",
  "not_effective",
  "blocked_elsewhere",
  "prediction_failed",
  "plan_required",
  "plan_stale",
  "approval_required",
  "not_permitted",
  "protected",
  "sidecar_unsupported",
  "lock_timeout",
  "nothing_to_undo",
  "undo_conflict",
  "read_refused",
  "registry_unavailable",
  "unsupported_host",
  "cancelled",
  "internal",
] as const
export type ErrorCode = (typeof ERROR_CODES)[number]

export const NOTICE_CODES = [
  "field_ignored",
  "field_unknown",
  "caller_unverified",
  "restart_pending",
  "host_not_reloaded",
  "partly_effective",
  "opens_for",
  "ask_may_hang",
  "approval_not_configured",
  "rule_is_a_pattern",
  "other_host_differs",
  "model_differs",
  "diff_excerpt",
  "sidecar_not_written",
  "unfinished_change",
  "both_files",
  "section_left",
  "rows_missing",
  "winner_not_stable",
  "still_unlisted",
] as const
export type NoticeCode = (typeof NOTICE_CODES)[number]

export const REASONS = [
  "disabled",
  "enabled",
  "already_disabled",
  "already_enabled",
  "already_denied_by_agent",
  "rule_changed",
  "rule_added",
  "rule_removed",
  "allow_added",
  "previous_restored",
  "undone",
  "record_dropped",
  "record_added",
  "protected",
  "not_expressible",
] as const
export type Reason = (typeof REASONS)[number]
