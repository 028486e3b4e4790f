import { execFile } from "node:child_process"
import { lstat, mkdtemp, readdir, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"

const TIMEOUT_MS = 120_000

/** What a user gets from this tarball, dependencies and all: the files on disk, and their bytes. Needs no network. */
export async function installed(tarball: string): Promise<{ files: number; bytes: number }> {
  const root = await mkdtemp(join(tmpdir(), "skill-management-installed-"))
  try {
    await writeFile(join(root, "package.json"), '{ "private": true }\n')
    const flags = ["--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev"]
    await promisify(execFile)("npm", ["install", ...flags, tarball], { cwd: root, timeout: TIMEOUT_MS })
    const modules = join(root, "node_modules")
    const stats = await Promise.all(
      (await readdir(modules, { recursive: true })).map((name) => lstat(join(modules, name))),
    )
    const files = stats.filter((stat) => stat.isFile())
    return { files: files.length, bytes: files.reduce((sum, { size }) => sum + size, 0) }
  } finally {
    await rm(root, { recursive: true, force: true })
  }
}
