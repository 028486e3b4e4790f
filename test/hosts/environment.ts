import { vi } from "vitest"

/**
 * Does what reads the environment of a host with that environment. There is one environment, so one at a time; it
 * keeps its own folder for temporary files, where concurrent tests make their homes.
 */
export function inEnvironment<T>(env: Readonly<Record<string, string>>, work: () => Promise<T>): Promise<T> {
  const result = turn.then(async () => {
    for (const name of Object.keys(process.env)) if (name.startsWith("OPENCODE_")) vi.stubEnv(name, undefined)
    for (const [name, value] of Object.entries(env)) if (name !== "TMPDIR") vi.stubEnv(name, value)
    try {
      return await work()
    } finally {
      vi.unstubAllEnvs()
    }
  })
  turn = result.catch(() => {})
  return result
}

let turn: Promise<unknown> = Promise.resolve()
