import { open, readdir, realpath } from "node:fs/promises"
import { dirname, join } from "node:path"
import { readSkillFlags, type SkillFlags } from "./frontmatter.ts"

export interface SkillFiles {
  readonly realPath: string | null
  readonly flags: SkillFlags
  /** Other files in the skill's own folder: `count` in all, up to `MAX_FILES`, and the first few names. */
  readonly supportingFiles: { readonly count: number; readonly first: string[] }
}

const NOTHING: SkillFiles = {
  realPath: null,
  flags: { disableModelInvocation: null, autoinvoke: null },
  supportingFiles: { count: 0, first: [] },
}
const HEAD_BYTES = 64 * 1024
const MAX_FILES = 1_000
const MAX_DEPTH = 5
const SHOWN = 10

/** What lies on disk around a registered skill. A skill that comes with the host has nothing there. Never throws. */
export async function readSkillFiles(path: string | null): Promise<SkillFiles> {
  if (path === null) return NOTHING
  try {
    const real = await realpath(path)
    const ownFolder = /^skill\.md$/i.test(path.slice(path.lastIndexOf("/") + 1))
    const files = ownFolder ? await filesUnder(dirname(real)) : []
    const others = files.filter((file) => !/^skill\.md$/i.test(file)).sort()
    return {
      realPath: real,
      flags: await readSkillFlags(await readHead(real)),
      supportingFiles: { count: others.length, first: others.slice(0, SHOWN) },
    }
  } catch {
    return NOTHING
  }
}

export async function readHead(path: string): Promise<string> {
  const handle = await open(path, "r")
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(HEAD_BYTES), 0, HEAD_BYTES, 0)
    return buffer.toString("utf8", 0, bytesRead)
  } finally {
    await handle.close()
  }
}

async function filesUnder(root: string): Promise<string[]> {
  const found: string[] = []
  const visit = async (below: string, depth: number): Promise<void> => {
    for (const entry of await readdir(join(root, below), { withFileTypes: true })) {
      if (found.length >= MAX_FILES) return
      const name = join(below, entry.name)
      if (!entry.isDirectory()) found.push(name)
      else if (depth < MAX_DEPTH) await visit(name, depth + 1)
    }
  }
  await visit("", 1)
  return found
}
