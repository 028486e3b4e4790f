// Installs what is missing: the project itself and the pinned real hosts. Says nothing when there is nothing to do.
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))

for (const dir of [root, join(root, "test", "hosts", "binaries")]) {
  const lock = join(dir, "package-lock.json")
  const modules = join(dir, "node_modules")
  const stamp = join(modules, ".setup-lock-hash")
  const hash = createHash("sha256").update(readFileSync(lock)).digest("hex")
  if (!upToDate(lock, modules, stamp, hash)) install(dir)
  else if (existsSync(stamp)) continue
  mkdirSync(modules, { recursive: true }) // npm makes none when a platform takes nothing.
  writeFileSync(stamp, hash)
}

/** A tree installed by npm directly has no stamp yet: npm's own copy of the lock then tells its age. */
function upToDate(lock, modules, stamp, hash) {
  if (existsSync(stamp)) return readFileSync(stamp, "utf8") === hash
  const installed = join(modules, ".package-lock.json")
  return existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs
}

function install(dir) {
  const args = ["ci", "--no-audit", "--no-fund"]
  const npm = process.env.npm_execpath
  const options = { cwd: dir, encoding: "utf8" }
  const run = npm?.endsWith(".js")
    ? spawnSync(process.execPath, [npm, ...args], options)
    : spawnSync("npm", args, { ...options, shell: process.platform === "win32" })
  if (run.status === 0) return
  const why = run.error?.message ?? `exit ${run.status ?? run.signal}`
  process.stderr.write(`${run.stdout ?? ""}${run.stderr ?? ""}`)
  process.stderr.write(`setup: "npm ci" failed in ${relative(root, dir) || "the project root"} (${why})\n`)
  process.exit(1)
}
