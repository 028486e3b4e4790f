// Makes this process kill itself after the Nth call that changes something on disk.
import { watchDisk } from "./disk-calls.ts"

const CHANGES = ["open", "write", "fsync", "close", "rename", "unlink", "mkdir", "rmdir", "chmod", "chown", "utimes"]

export function dieAfter(steps: number): void {
  let left = steps
  watchDisk({
    after: ({ name }) => {
      if (CHANGES.includes(name)) left -= 1
      if (left === 0) process.kill(process.pid, "SIGKILL")
    },
  })
}
