import { createHash, randomBytes } from "node:crypto"
import * as nodeFs from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"

/** The file-system calls that a write makes, so that tests can fail each of them. */
export type Disk = Pick<
  typeof nodeFs,
  "open" | "readFile" | "realpath" | "lstat" | "stat" | "rename" | "unlink" | "mkdir" | "lutimes"
>

/** Why a config file was not read or written; nothing has changed on disk. */
export type FileProblem = {
  readonly kind: "config_unsupported" | "config_unreadable" | "config_readonly" | "config_changed" | "write_failed"
  readonly file: string
  /** Where the bytes are, when that is another place. */
  readonly realFile?: string
  readonly reason: string
}

export const isFileProblem = (value: unknown): value is FileProblem =>
  typeof value === "object" && value !== null && "kind" in value && "reason" in value

/** Larger files are refused: nobody keeps such a config, and every read of ours is bounded. */
export const MAX_CONFIG_BYTES = 4 * 1024 * 1024

export const hashOf = (text: string | null): string | null =>
  text === null ? null : createHash("sha256").update(text, "utf8").digest("hex")

/** A config file as it stands on disk. `text` null: there is none yet. */
export interface ConfigFile {
  readonly path: string
  /** Where the bytes are: the end of a chain of links, else the path itself. */
  readonly realPath: string
  /** The last part of the path is a link; those above it do not count. */
  readonly isLink: boolean
  readonly text: string | null
  readonly mode: number | null
  readonly owner: { readonly uid: number; readonly gid: number } | null
  /** A byte sequence that is not UTF-8, so that text and bytes would differ. */
  readonly lossy: boolean
}

/** Reads a config file, following links; only what is a regular file of a sane size counts. */
export async function readConfigFile(path: string, disk: Disk = nodeFs): Promise<ConfigFile | FileProblem> {
  const refuse = (kind: FileProblem["kind"], reason: string): FileProblem => ({ kind, file: path, reason })
  try {
    const found = await disk.lstat(path).catch(missing)
    if (!found) {
      const realPath = await absentPath(path, disk)
      return { path, realPath, isLink: false, text: null, mode: null, owner: null, lossy: false }
    }
    const isLink = found.isSymbolicLink()
    const realPath = await disk.realpath(path).catch(missing)
    if (!realPath) return refuse("config_unsupported", "dangling_link")
    const stat = await disk.stat(realPath)
    if (!stat.isFile()) return refuse("config_unsupported", "not_a_file")
    if (stat.size > MAX_CONFIG_BYTES) return refuse("config_unsupported", "too_large")
    const bytes = await disk.readFile(realPath)
    const text = bytes.toString("utf8")
    const owner = { uid: stat.uid, gid: stat.gid }
    const lossy = !Buffer.from(text, "utf8").equals(bytes)
    return { path, realPath, isLink, text, mode: stat.mode & 0o7777, owner, lossy }
  } catch (error) {
    return refuse("config_unreadable", codeOf(error))
  }
}

/** Where a file's bytes are or would be, if that is another place; null also for what is no file, or unreachable. */
export async function elsewhere(path: string, disk: Disk = nodeFs): Promise<string | null> {
  try {
    const there = await disk.realpath(path).catch(missing)
    const real = there ?? (await placeOfAbsent(path, disk))
    if (real === path) return null
    return there === undefined || (await disk.stat(there)).isFile() ? real : null
  } catch {
    return null
  }
}

/** A link that leads nowhere has no place. */
const placeOfAbsent = async (path: string, disk: Disk): Promise<string> =>
  (await disk.lstat(path).catch(missing)) ? path : absentPath(path, disk)

/** A file that does not exist yet is made in its directory's real place, however many directories are missing. */
async function absentPath(path: string, disk: Disk): Promise<string> {
  const directory = dirname(path)
  if (directory === path) return path
  const real = await disk.realpath(directory).catch(missing)
  return join(real ?? (await absentPath(directory, disk)), basename(path))
}

/** What would stop a write, so that a rehearsal can say it. Null: nothing that can be known before. */
export async function writeObstacle(path: string, disk: Disk = nodeFs): Promise<FileProblem | null> {
  const file = await readConfigFile(path, disk)
  return isFileProblem(file) ? file : obstacleTo(file, disk)
}

const refusalOf =
  ({ path, realPath }: ConfigFile) =>
  (kind: FileProblem["kind"], reason: string): FileProblem => ({
    kind,
    file: path,
    ...(realPath !== path && { realFile: realPath }),
    reason,
  })

async function obstacleTo(file: ConfigFile, disk: Disk): Promise<FileProblem | null> {
  const refuse = refusalOf(file)
  if (file.lossy) return refuse("config_unsupported", "not_utf8")
  try {
    const directory = await disk.stat(dirname(file.realPath)).catch(missing)
    if (directory && isLocked(directory.mode)) return refuse("config_readonly", "directory")
    if (file.text === null) return null
    const stat = await disk.stat(file.realPath)
    if (stat.nlink > 1) return refuse("config_unsupported", "hard_link")
    return isLocked(stat.mode) ? refuse("config_readonly", "file") : null
  } catch (error) {
    return refuse("config_unreadable", codeOf(error))
  }
}

/** Bits, not access(2): for root everything is writable, and a file that was locked by hand stays locked. */
const isLocked = (mode: number): boolean => (mode & 0o222) === 0

/**
 * Replaces a config file's text, or makes or removes the file, provided that it still holds `before`.
 * Atomic by rename in the target's own directory; every byte is written, synced and read back before that.
 * A link stays and its target is replaced; mode is kept, the owner where the system allows it.
 * On a problem the old bytes are in place and no file of ours is left.
 */
export async function replaceConfigFile(
  path: string,
  before: string | null,
  after: string | null,
  disk: Disk = nodeFs,
): Promise<FileProblem | null> {
  const file = await readConfigFile(path, disk)
  if (isFileProblem(file)) return file
  const refuse = refusalOf(file)
  if (file.text !== before) return refuse("config_changed", "hash_differs")
  const obstacle = await obstacleTo(file, disk)
  if (obstacle) return obstacle
  if (after === null && file.isLink) return refuse("config_unsupported", "link")
  const temporary = temporaryBeside(file.realPath)
  let started = false
  try {
    if (after !== null) {
      await disk.mkdir(dirname(file.realPath), { recursive: true })
      await writeWhole(temporary, after, file, disk)
      if ((await disk.readFile(temporary)).toString("utf8") !== after) return refuse("write_failed", "SHORT_WRITE")
    }
    // A file that goes is only set aside until the directory is surely on disk.
    const [from, to] = after === null ? [file.realPath, temporary] : [temporary, file.realPath]
    for (let tries = 1, replaced = false; !replaced; tries++) {
      const now = await readConfigFile(path, disk)
      if (isFileProblem(now)) return now
      // A rename that fails may have been done nevertheless.
      if (started && now.text === after) break
      if (now.text !== before || now.realPath !== file.realPath) return refuse("config_changed", "hash_differs")
      started = true
      replaced = await renamed(from, to, tries, disk)
    }
    await syncDirectory(dirname(file.realPath), disk)
    if (after === null) await disk.unlink(temporary)
  } catch (error) {
    if (started) await putBack(file, temporary, after, disk).catch(ignored)
    return refuse(isReadonly(error) ? "config_readonly" : "write_failed", codeOf(error))
  } finally {
    await disk.unlink(temporary).catch(ignored)
  }
  if (file.realPath !== path) await touchLink(path, disk)
  return null
}

/** Windows does not replace a file while another process has it open, for a scanner's glance say; in milliseconds. */
const HELD_CODES = ["EPERM", "EACCES", "EBUSY"]
const RENAME_TRIES = 4
const RENAME_WAIT_MS = 25

/** False: the file was held, and may be free by now. */
async function renamed(from: string, to: string, tries: number, disk: Disk): Promise<boolean> {
  try {
    await disk.rename(from, to)
    return true
  } catch (error) {
    if (tries >= RENAME_TRIES || !HELD_CODES.includes(codeOf(error))) throw error
    await delay(RENAME_WAIT_MS)
    return false
  }
}

/** Names of temporary files, so that those of a killed write can be told and removed. */
export const TEMPORARY = /^\..+\.[0-9a-f]{12}\.tmp$/

export const temporaryBeside = (path: string): string =>
  join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}.tmp`)

/** The new text stands, but not surely: the old one takes its place again, unless someone else wrote meanwhile. */
async function putBack(file: ConfigFile, aside: string, after: string | null, disk: Disk): Promise<void> {
  const now = await readConfigFile(file.realPath, disk)
  if (isFileProblem(now) || now.text !== after) return
  if (after === null && (await disk.rename(aside, file.realPath).then(done, ignored))) return
  if (file.text === null) return disk.unlink(file.realPath)
  const temporary = temporaryBeside(file.realPath)
  try {
    await writeWhole(temporary, file.text, file, disk)
    await disk.rename(temporary, file.realPath)
  } finally {
    await disk.unlink(temporary).catch(ignored)
  }
}

/** Makes a file with this text: every byte written and synced, or an error. */
export async function writeWhole(
  path: string,
  text: string,
  like: Pick<ConfigFile, "mode" | "owner">,
  disk: Disk = nodeFs,
): Promise<void> {
  const bytes = Buffer.from(text, "utf8")
  const handle = await disk.open(path, "wx", like.mode ?? 0o644)
  try {
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, done)
      if (bytesWritten <= 0) throw Object.assign(new Error("nothing was written"), { code: "SHORT_WRITE" })
      done += bytesWritten
    }
    if (like.mode !== null) await handle.chmod(like.mode)
    if (like.owner) await handle.chown(like.owner.uid, like.owner.gid).catch(ignored)
    await handle.sync()
    if ((await handle.stat()).size !== bytes.length)
      throw Object.assign(new Error("the file is shorter than its text"), { code: "SHORT_WRITE" })
  } finally {
    await handle.close()
  }
}

/** Some file systems cannot sync a directory, and say so; there is nothing more to be had from them. */
export async function syncDirectory(path: string, disk: Disk = nodeFs): Promise<void> {
  const handle = await disk.open(path, "r")
  try {
    await handle.sync().catch((error) => {
      if (!["EINVAL", "ENOTSUP"].includes(codeOf(error))) throw error
    })
  } finally {
    await handle.close()
  }
}

/** OpenCode 2 watches the link, not its target: only a change of the link's own times makes it reload (measured). */
async function touchLink(path: string, disk: Disk): Promise<void> {
  const now = new Date()
  await disk.lutimes(path, now, now).catch(ignored)
}

const READONLY_CODES = ["EACCES", "EPERM", "EROFS"]

const isReadonly = (error: unknown): boolean => READONLY_CODES.includes(codeOf(error))

export const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "unknown"

/** The answer of a call about something that is not there; any other failure is one. */
function missing(error: unknown): undefined {
  if (!["ENOENT", "ENOTDIR", "ELOOP"].includes(codeOf(error))) throw error
}

const done = (): true => true

/** For calls that may fail without any harm. */
const ignored = (): undefined => undefined
