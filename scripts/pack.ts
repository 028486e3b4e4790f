import { spawnSync } from "node:child_process"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))

/** Builds and packs the plugin as it is published; returns the tarball's path. */
export function packInto(directory: string): string {
  const packed = spawnSync("npm", ["pack", "--silent", "--pack-destination", directory], {
    cwd: root,
    encoding: "utf8",
  })
  const tarball = readdirSync(directory).find((name) => name.endsWith(".tgz"))
  if (packed.status !== 0 || !tarball) throw new Error(`npm pack failed: ${packed.stderr}${packed.stdout}`)
  return join(directory, tarball)
}
