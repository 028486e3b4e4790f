// The plugin as a user gets it: packed once per run, before the tests (`globalSetup`).
import { execFile } from "node:child_process"
import { mkdtemp, readdir, realpath, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import type { TestProject } from "vitest/node"

declare module "vitest" {
  export interface ProvidedContext {
    /** Absolute path of the tarball. */
    tarball: string
  }
}

const root = fileURLToPath(new URL("../..", import.meta.url))

/** Packs into a folder outside the repository, so that nothing beside the plugin can lend it a dependency. */
export default async function packOnce(project: TestProject): Promise<() => Promise<void>> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), "packed-")))
  const remove = () => rm(directory, { recursive: true, force: true })
  try {
    await promisify(execFile)("npm", ["pack", "--silent", "--offline", "--pack-destination", directory], { cwd: root })
    const [tarball, ...more] = (await readdir(directory)).filter((name) => name.endsWith(".tgz"))
    if (!tarball || more.length > 0) throw new Error("`npm pack` did not make exactly one tarball")
    project.provide("tarball", join(directory, tarball))
  } catch (error) {
    await remove()
    throw error
  }
  return remove
}

/** What goes into the config's `plugin` list. */
export const pluginEntry = (tarball: string): string => `opencode-skill-management@file:${tarball}`
