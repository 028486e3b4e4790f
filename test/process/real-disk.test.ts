// Disks that are full or read-only, for real. Where no mount may be made, what needs one is skipped, with the reason; on
// CI it fails instead.
import { execFileSync } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, type TestContext, test, vi } from "vitest"
import writeFileAtomic from "write-file-atomic"
import { replaceConfigFile } from "../../src/files/config-file.ts"
import { runScript } from "./run-child.ts"
import type { ShortWrite, ShortWriteJob } from "./short-write.ts"
import { SIDECAR, SKILLS } from "./whole-writes.ts"
import { makePlace, openTool, type Place } from "./world.ts"

/** What write-file-atomic 7.0.1 leaves of 45,000 bytes and reports as written: the reason for a writer of our own. */
const LEFT_BY_LIBRARY = 32_768
const BEFORE = "x".repeat(30_000)
const AFTER = "y".repeat(45_000)

const CONFIG = '{\n  "permission": {\n    "skill": {\n      "docx": "deny"\n    }\n  }\n}\n'
const WITH_PDF = CONFIG.replace('"docx": "deny"', '"docx": "deny",\n      "pdf": "deny" // skill_management')
const DISABLE = { action: "disable", id: "pdf" }

let place: Place
const mounts: string[] = []
beforeEach(async () => {
  place = await makePlace({})
  const { TMPDIR: _, ...env } = place.env
  for (const [key, value] of Object.entries(env)) vi.stubEnv(key, value)
})
afterEach(() => {
  for (const path of mounts.splice(0)) execFileSync("umount", [path])
  vi.unstubAllEnvs()
  rmSync(place.root, { recursive: true, force: true })
})

/** Mounts a disk of 64 KiB in the place of a directory. */
function mountSmall(path: string, context: TestContext): void {
  mkdirSync(path, { recursive: true })
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", path], { stdio: "pipe" })
  } catch (error) {
    if (process.env.CI) throw error
    context.skip(`no disk can be mounted here: ${error instanceof Error ? error.message : error}`)
  }
  mounts.push(path)
}

/** Takes all the room that is left. */
function fill(directory: string): string {
  const ballast = join(directory, "ballast")
  expect(() => writeFileSync(ballast, "x".repeat(100_000))).toThrow(/ENOSPC/)
  return ballast
}

const openHere = () => openTool(SKILLS, [["docx", "deny"]])
const namesIn = (directory: string) => readdirSync(directory).sort()

describe("a write of which the disk takes a part", () => {
  test("on a disk of 64 KiB", async (context) => {
    const [ours, theirs] = ["ours", "theirs"].map((name) => join(place.root, name))
    for (const directory of [ours, theirs]) {
      mountSmall(directory ?? "", context)
      writeFileSync(join(directory ?? "", "file"), BEFORE)
    }
    await writeFileAtomic(join(theirs ?? "", "file"), AFTER)
    expect(statSync(join(theirs ?? "", "file")).size).toBe(LEFT_BY_LIBRARY)

    const file = join(ours ?? "", "file")
    expect(await replaceConfigFile(file, BEFORE, AFTER)).toEqual({ kind: "write_failed", file, reason: "ENOSPC" })
    expect(readFileSync(file, "utf8")).toBe(BEFORE)
    expect(namesIn(ours ?? "")).toEqual(["file"])
  })

  test("by a limit of the process, which any user may set", async () => {
    const [ours, theirs] = [join(place.root, "ours"), join(place.root, "theirs")]
    for (const file of [ours, theirs]) writeFileSync(file, BEFORE)
    const job: ShortWriteJob = { limit: LEFT_BY_LIBRARY, ours, theirs, before: BEFORE, after: AFTER }
    const { lines, stderr } = await runScript<ShortWrite>(new URL("short-write.ts", import.meta.url), place.env, job)
    expect(stderr).toBe("")
    expect(lines).toEqual([
      {
        ours: { kind: "write_failed", file: ours, reason: "EFBIG" },
        theirs: "resolved",
        sizes: { ours: BEFORE.length, theirs: LEFT_BY_LIBRARY },
      },
    ])
    expect(readFileSync(ours, "utf8")).toBe(BEFORE)
  })
})

describe("a full disk", () => {
  test("under the config: refused, and as before; with room again it works", async (context) => {
    mountSmall(place.configDir, context)
    // There is room for a part of a second copy.
    const config = `// ${"x".repeat(36_000)}\n${CONFIG}`
    writeFileSync(join(place.configDir, "opencode.jsonc"), config)
    const call = await openHere()
    expect(await call(DISABLE)).toMatchObject({
      ok: false,
      error: { code: "write_failed", data: { reason: "ENOSPC" } },
    })
    expect(readFileSync(join(place.configDir, "opencode.jsonc"), "utf8")).toBe(config)
    expect(namesIn(place.configDir)).toEqual(["opencode.jsonc"])
    expect(namesIn(join(place.stateDir, "locks"))).toEqual([])

    writeFileSync(join(place.configDir, "opencode.jsonc"), CONFIG)
    expect(await call(DISABLE)).toMatchObject({ ok: true, changed: true })
    expect(readFileSync(join(place.configDir, "opencode.jsonc"), "utf8")).toBe(WITH_PDF)
  })

  test("under journal and backups: refused, and nothing is begun", async (context) => {
    mountSmall(place.stateDir, context)
    writeFileSync(join(place.configDir, "opencode.jsonc"), CONFIG)
    const ballast = fill(place.stateDir)
    const call = await openHere()
    expect(await call(DISABLE)).toMatchObject({
      ok: false,
      error: { code: "write_failed", data: { reason: "ENOSPC" } },
    })
    expect(readFileSync(join(place.configDir, "opencode.jsonc"), "utf8")).toBe(CONFIG)
    expect(namesIn(place.configDir)).toEqual(["opencode.jsonc"])
    expect(namesIn(join(place.stateDir, "backups"))).toEqual([])
    expect((await call({ action: "list" })).notices.map(({ code }: { code: string }) => code)).toEqual([])

    rmSync(ballast)
    expect(await call(DISABLE)).toMatchObject({ ok: true, changed: true })
  })

  test("under the sidecar alone: written, with a warning, and the old records stand", async (context) => {
    mountSmall(place.configDir, context)
    writeFileSync(join(place.root, "opencode.jsonc"), CONFIG)
    symlinkSync(join(place.root, "opencode.jsonc"), join(place.configDir, "opencode.jsonc"))
    const call = await openHere()
    expect(await call({ action: "disable", id: "xlsx" })).toMatchObject({ ok: true, sidecar: { written: true } })
    const records = readFileSync(join(place.configDir, SIDECAR), "utf8")
    fill(place.configDir)
    const answer = await call(DISABLE)
    expect(answer).toMatchObject({ ok: true, changed: true, sidecar: { written: false } })
    expect(answer.notices).toContainEqual({ code: "sidecar_not_written", data: { reason: "ENOSPC" } })
    expect(readFileSync(join(place.configDir, SIDECAR), "utf8")).toBe(records)
    expect(readFileSync(join(place.root, "opencode.jsonc"), "utf8")).toContain('"pdf": "deny"')
  })
})

test("a disk that is mounted read-only: refused for root too, and as before", async (context) => {
  mountSmall(place.configDir, context)
  writeFileSync(join(place.configDir, "opencode.jsonc"), CONFIG)
  execFileSync("mount", ["-o", "remount,ro", place.configDir])
  const call = await openHere()
  expect(await call(DISABLE)).toMatchObject({
    ok: false,
    error: { code: "config_readonly", data: { reason: "EROFS" } },
  })
  expect(readFileSync(join(place.configDir, "opencode.jsonc"), "utf8")).toBe(CONFIG)
  expect(namesIn(place.configDir)).toEqual(["opencode.jsonc"])
})
