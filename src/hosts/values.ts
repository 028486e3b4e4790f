/** Decoders for what a host hands over: its shapes differ between versions and are never trusted. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const text = (value: unknown): string | null => (typeof value === "string" ? value : null)
