// Watches every file-system call of this process, under the system's own names, so that any of them can fail.
import type { FileHandle } from "node:fs/promises"
import { createRequire, syncBuiltinESMExports } from "node:module"

type Call = (...args: never[]) => unknown

/** Names as in section 2 of the manual; `realpath` is a run of `readlink`, `lstat` a `stat`. */
const PROMISED = {
  open: "open",
  readFile: "read",
  readdir: "readdir",
  stat: "stat",
  lstat: "stat",
  realpath: "readlink",
  mkdir: "mkdir",
  rmdir: "rmdir",
  rename: "rename",
  unlink: "unlink",
  lutimes: "utimes",
}
const OF_HANDLES = {
  write: "write",
  appendFile: "write",
  sync: "fsync",
  stat: "stat",
  chmod: "chmod",
  chown: "chown",
  close: "close",
}
/** What the lock calls. */
const CALLED_BACK = { stat: "stat", mkdir: "mkdir", rmdir: "rmdir", utimes: "utimes" }

export interface DiskCall {
  readonly name: string
  readonly path: string
}

export interface Fault {
  readonly code: string
  /**
   * Without it nothing is done. `half` writes half of the bytes: a call that can say so says so, and fails only
   * otherwise. `all` is an answer that got lost, as happens on network disks.
   */
  readonly done?: "half" | "all"
}

export interface Hooks {
  readonly before?: (call: DiskCall) => Fault | undefined
  readonly after?: (call: DiskCall) => void
}

/** From now on all calls go by these hooks. To be called before anything is imported that keeps a copy of `fs`. */
export function watchDisk(hooks: Hooks): void {
  const fs = createRequire(import.meta.url)("node:fs")
  for (const [name, call] of Object.entries(PROMISED)) {
    const original: Call = fs.promises[name]
    fs.promises[name] = async (...args: never[]) => {
      const path = String(args[0])
      const fault = hooks.before?.({ name: call, path })
      if (fault?.done !== "all") fail(fault)
      const result: unknown = await Reflect.apply(original, fs.promises, args)
      if (fault && name === "open") await (result as FileHandle).close()
      fail(fault)
      if (name === "open") watchHandle(result as Record<string, Call>, path, hooks)
      hooks.after?.({ name: call, path })
      return result
    }
  }
  for (const [name, call] of Object.entries(CALLED_BACK)) {
    const original: Call = fs[name]
    fs[name] = (...args: never[]) => {
      const done: unknown = args.at(-1)
      if (typeof done !== "function") return Reflect.apply(original, fs, args)
      const path = String(args[0])
      const fault = hooks.before?.({ name: call, path })
      if (fault && fault.done !== "all") return setImmediate(() => done(errorOf(fault)))
      return Reflect.apply(original, fs, [
        ...args.slice(0, -1),
        (...results: unknown[]) => {
          hooks.after?.({ name: call, path })
          done(...(fault ? [errorOf(fault)] : results))
        },
      ])
    }
  }
  syncBuiltinESMExports()
}

function watchHandle(handle: Record<string, Call>, path: string, hooks: Hooks): void {
  for (const [name, call] of Object.entries(OF_HANDLES)) {
    const original = handle[name]
    if (!original) continue
    handle[name] = async (...args: never[]) => {
      const fault = hooks.before?.({ name: call, path })
      // A handle is closed for good, whatever its close answers.
      if (name === "close" && fault && !fault.done) await Reflect.apply(original, handle, args)
      if (!fault?.done) fail(fault)
      const result = await Reflect.apply(original, handle, fault?.done === "half" ? halved(name, args) : args)
      if (fault?.done === "all" || name === "appendFile") fail(fault)
      hooks.after?.({ name: call, path })
      return result
    }
  }
}

const errorOf = ({ code }: Fault): Error => Object.assign(new Error(`${code}: injected`), { code })

function fail(fault: Fault | undefined): void {
  if (fault) throw errorOf(fault)
}

/** The arguments of `appendFile(data)` or of `write(bytes, offset, length, position)`, for half of the bytes. */
function halved(name: string, args: readonly unknown[]): unknown[] {
  if (name === "appendFile") return [String(args[0]).slice(0, String(args[0]).length / 2)]
  const [bytes, offset, length, position] = args
  return [bytes, offset, Math.floor(Number(length) / 2), position]
}
