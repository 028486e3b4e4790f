// Makes this process kill itself after the Nth call that changes something on disk.
import { createRequire, syncBuiltinESMExports } from "node:module"

type Call = (...args: unknown[]) => unknown

const PROMISED = ["open", "rename", "unlink", "mkdir", "chmod", "link", "rmdir", "writeFile", "appendFile"]
const CALLED_BACK = ["open", "write", "fsync", "rename", "unlink", "mkdir", "rmdir", "chmod", "chown", "utimes"]
const OF_HANDLES = ["write", "sync", "chmod", "appendFile", "close"]

export function dieAfter(steps: number): void {
  let left = steps
  const step = () => {
    left -= 1
    if (left === 0) process.kill(process.pid, "SIGKILL")
  }
  const fs = createRequire(import.meta.url)("node:fs")
  const promises = fs.promises
  for (const name of PROMISED) {
    const original: Call = promises[name]
    promises[name] = async (...args: unknown[]) => {
      const result = await original.apply(promises, args)
      if (name === "open") watchHandle(result, step)
      if (name !== "open" || args[1] !== "r") step()
      return result
    }
  }
  for (const name of CALLED_BACK) {
    const original: Call = fs[name]
    fs[name] = (...args: unknown[]) => {
      const done = args.at(-1)
      if (typeof done !== "function") return original.apply(fs, args)
      return original.apply(fs, [
        ...args.slice(0, -1),
        (...results: unknown[]) => {
          step()
          done(...results)
        },
      ])
    }
  }
  syncBuiltinESMExports()
}

function watchHandle(handle: unknown, step: () => void): void {
  const object = Object(handle)
  for (const name of OF_HANDLES) {
    const original: Call = object[name]
    object[name] = async (...args: unknown[]) => {
      const result = await original.apply(object, args)
      step()
      return result
    }
  }
}
