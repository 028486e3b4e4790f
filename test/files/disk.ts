/** A disk whose calls fail on demand: each call goes to the real disk unless a test says otherwise. */
import type { FileHandle } from "node:fs/promises"
import * as nodeFs from "node:fs/promises"
import type { Disk } from "../../src/files/config-file.ts"

export const fault = (code: string): Error => Object.assign(new Error(`${code}: injected`), { code })

/** Called before each call with its name (`rename`, `handle.write`) and path; may throw, wait or do mischief. */
export type Spy = (call: string, path: string) => void | Promise<void>

const { open, readFile, realpath, lstat, stat, rename, unlink, mkdir, lutimes } = nodeFs
const CALLS = { open, readFile, realpath, lstat, stat, rename, unlink, mkdir, lutimes }
const HANDLE_CALLS = ["write", "chmod", "chown", "sync", "stat", "close"] as const

/** Replaces what a handle's call does, once it is its turn. */
export type HandleCalls = Partial<
  Record<(typeof HANDLE_CALLS)[number], (handle: FileHandle, ...args: never[]) => unknown>
>

export function spiedDisk(spy: Spy, handleCalls: HandleCalls = {}): Disk {
  const calls = Object.entries(CALLS).map(([name, call]) => [
    name,
    async (...args: unknown[]) => {
      await spy(name, String(args[0]))
      const result: unknown = await Reflect.apply(call, nodeFs, args)
      return name === "open" ? spiedHandle(result as FileHandle, String(args[0]), spy, handleCalls) : result
    },
  ])
  return Object.fromEntries(calls) as Disk
}

function spiedHandle(handle: FileHandle, path: string, spy: Spy, replaced: HandleCalls): FileHandle {
  return new Proxy(handle, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key)
      const name = HANDLE_CALLS.find((call) => call === key)
      if (!name) return typeof value === "function" ? value.bind(target) : value
      return async (...args: unknown[]) => {
        // A handle is closed for good, whatever its close answers.
        if (name === "close") await target.close()
        await spy(`handle.${name}`, path)
        if (name === "close") return
        const own = replaced[name] as ((handle: FileHandle, ...rest: unknown[]) => unknown) | undefined
        return own ? own(target, ...args) : Reflect.apply(value as (...rest: unknown[]) => unknown, target, args)
      }
    },
  })
}
