/** What a host does when an agent wants a skill: offer it, ask the user first, or hide and refuse it. */
export const EFFECTS = ["allow", "ask", "deny"] as const
export type Effect = (typeof EFFECTS)[number]

export const isEffect = (value: unknown): value is Effect => (EFFECTS as readonly unknown[]).includes(value)

/** From least to most available; a change is `wider` when it moves up. */
const AVAILABILITY: Record<Effect, number> = { deny: 0, ask: 1, allow: 2 }

export const isWider = (before: Effect, after: Effect): boolean => AVAILABILITY[after] > AVAILABILITY[before]

/**
 * One permission rule as both hosts evaluate it. `action` and `resource` are patterns; for skills the action is
 * `skill` and the resource the skill's id (OpenCode 2) or registry name (OpenCode 1).
 */
export interface Rule {
  readonly action: string
  readonly resource: string
  readonly effect: Effect
}

/** Where the text of a rule stands, low to high precedence; `unknown` where no file accounts for the host's rule. */
export const LAYERS = [
  "host-default",
  "built-in-agent",
  "plugin",
  "global",
  "explicit",
  "project",
  "content",
  "managed",
  "unknown",
] as const
export type Layer = (typeof LAYERS)[number]

/** `line` and `column` count from 1, in UTF-16 units, on the text as it stands in the file. */
export interface Origin {
  readonly layer: Layer
  readonly file: string | null
  readonly line: number | null
  readonly column: number | null
  /** Set for a rule that stands in one agent's own section. */
  readonly agent?: string
}

export interface LocatedRule extends Rule {
  readonly origin: Origin
  /** Its text holds what a reference was replaced by: never shown. */
  readonly secret?: true
}

/** A rule as it may be shown. */
export const shownRule = ({ action, resource, effect, origin, secret }: LocatedRule) =>
  secret ? { action: "…", resource: "…", effect, origin } : { action, resource, effect, origin }

export const sameRule = (a: Rule, b: Rule): boolean =>
  a.action === b.action && a.resource === b.resource && a.effect === b.effect

export type Generation = "opencode-1" | "opencode-2"
