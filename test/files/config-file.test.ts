import { execFileSync } from "node:child_process"
import {
  appendFileSync,
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { elsewhere, MAX_CONFIG_BYTES, readConfigFile, replaceConfigFile } from "../../src/files/config-file.ts"
import { fault, type HandleCalls, type Spy, spiedDisk } from "./disk.ts"

const OLD = '{\n  "permission": {} // old\n}\n'
const NEW = `{\n  "permission": { "skill": { "${"x".repeat(5_000)}": "deny" } }\n}\n`

let root: string
let file: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "config-file-")))
  mkdirSync(join(root, "config"))
  file = join(root, "config", "opencode.json")
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const textOf = (path: string): string | null => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return null
  }
}
const everyName = () => readdirSync(root, { recursive: true, encoding: "utf8" }).sort()

describe("where a file's bytes are, when that is another place", () => {
  const other = () => join(root, "dotfiles", "opencode.json")
  beforeEach(() => mkdirSync(dirname(other())))

  it.each<[name: string, make: () => void, where: () => string | null]>([
    ["no other place", () => writeFileSync(file, OLD), () => null],
    ["no file yet", () => {}, () => null],
    ["the end of a link", () => [writeFileSync(other(), OLD), symlinkSync(other(), file)], other],
    ["a link that leads nowhere", () => symlinkSync(other(), file), () => null],
    ["a link to itself", () => symlinkSync(file, file), () => null],
    ["a link to a directory", () => symlinkSync(dirname(other()), file), () => null],
    ["a link to a device", () => symlinkSync("/dev/null", file), () => null],
    [
      "a file in a linked directory, there or not yet",
      () => [rmSync(dirname(file), { recursive: true }), symlinkSync(dirname(other()), dirname(file))],
      other,
    ],
  ])("%s", async (_, make, where) => {
    make()
    expect(await elsewhere(file)).toBe(where())
  })
})

describe("what is read", () => {
  it("nothing: a file that is not there, nor its directory", async () => {
    expect(await readConfigFile(file)).toMatchObject({ text: null, mode: null, realPath: file })
    const deep = join(root, "no", "such", "opencode.json")
    expect(await readConfigFile(deep)).toMatchObject({ text: null, realPath: deep })
  })

  it("text, mode and real path; a byte order mark and CRLF are text", async () => {
    writeFileSync(file, `\uFEFF{}\r\n`)
    chmodSync(file, 0o640)
    expect(await readConfigFile(file)).toMatchObject({
      text: "\uFEFF{}\r\n",
      mode: 0o640,
      realPath: file,
      lossy: false,
    })
  })

  it("bytes that are not UTF-8 are known as such", async () => {
    writeFileSync(file, Buffer.from([0x7b, 0xe9, 0x7d]))
    expect(await readConfigFile(file)).toMatchObject({ lossy: true })
  })

  it("exactly 4 MiB, and not one byte more", async () => {
    expect(MAX_CONFIG_BYTES).toBe(4 * 1_024 * 1_024)
    writeFileSync(file, " ".repeat(MAX_CONFIG_BYTES))
    expect(await readConfigFile(file)).toMatchObject({ mode: 0o644 })
    appendFileSync(file, " ")
    expect(await readConfigFile(file)).toEqual({ kind: "config_unsupported", file, reason: "too_large" })
  })

  it.each<[string, () => void, string]>([
    ["a directory", () => mkdirSync(file), "not_a_file"],
    ["a pipe", () => void execFileSync("mkfifo", [file]), "not_a_file"],
    ["a device", () => symlinkSync("/dev/zero", file), "not_a_file"],
    ["a link to nothing", () => symlinkSync("nowhere", file), "dangling_link"],
  ])("not %s", async (_, make, reason) => {
    make()
    expect(await readConfigFile(file)).toEqual({ kind: "config_unsupported", file, reason })
    expect(await replaceConfigFile(file, null, NEW)).toEqual({ kind: "config_unsupported", file, reason })
  })

  it.each(
    ["lstat", "realpath", "stat", "readFile"].flatMap((call) => ["EIO", "EACCES"].map((code) => [call, code] as const)),
  )("%s fails with %s: the file cannot be read, and is not taken for a missing one", async (call, code) => {
    writeFileSync(file, OLD)
    const disk = spiedDisk((name) => {
      if (name === call) throw fault(code)
    })
    expect(await readConfigFile(file, disk)).toEqual({ kind: "config_unreadable", file, reason: code })
    // Who could not read it either must not overwrite it now.
    expect(await replaceConfigFile(file, null, NEW, disk)).toMatchObject({ file })
    expect(textOf(file)).toBe(OLD)
  })
})

describe("a write that works", () => {
  it.each([0o600, 0o640, 0o644, 0o660, 0o755, 0o200 | 0o400])("keeps the mode %i, whatever the umask", async (mode) => {
    writeFileSync(file, OLD)
    chmodSync(file, mode)
    for (const umask of [0o022, 0o077, 0o000]) {
      const before = process.umask(umask)
      try {
        expect(await replaceConfigFile(file, textOf(file), `${NEW}${umask}`)).toBeNull()
      } finally {
        process.umask(before)
      }
      expect(statSync(file).mode & 0o7777).toBe(mode)
      expect(textOf(file)).toBe(`${NEW}${umask}`)
    }
    expect(everyName()).toEqual(["config", "config/opencode.json"])
  })

  if (process.getuid?.() === 0)
    it("keeps the owner", async () => {
      writeFileSync(file, OLD)
      chownSync(file, 1_234, 4_321)
      chmodSync(file, 0o600)
      expect(await replaceConfigFile(file, OLD, NEW)).toBeNull()
      expect(statSync(file)).toMatchObject({ uid: 1_234, gid: 4_321 })
      expect(statSync(file).mode & 0o7777).toBe(0o600)
    })

  it("makes the file, and the directory for it", async () => {
    const deep = join(root, "new", "opencode", "opencode.jsonc")
    expect(await replaceConfigFile(deep, null, NEW)).toBeNull()
    expect(textOf(deep)).toBe(NEW)
    expect(statSync(deep).mode & 0o777).toBe(0o644 & ~process.umask())
    expect(everyName()).toEqual(["config", "new", "new/opencode", "new/opencode/opencode.jsonc"])
  })

  it("makes the directory below a link", async () => {
    symlinkSync("config", join(root, "linked"))
    const deep = join(root, "linked", "opencode", "opencode.jsonc")
    expect(await replaceConfigFile(deep, null, NEW)).toBeNull()
    expect(textOf(join(root, "config", "opencode", "opencode.jsonc"))).toBe(NEW)
  })

  it("removes the file", async () => {
    writeFileSync(file, OLD)
    expect(await replaceConfigFile(file, OLD, null)).toBeNull()
    expect(everyName()).toEqual(["config"])
  })

  it("goes on where the disk takes only a part at a time", async () => {
    writeFileSync(file, OLD)
    let writes = 0
    const disk = spiedDisk(() => {}, {
      write: (handle, bytes: Buffer, offset: number, length: number, at: number) => {
        writes++
        return handle.write(bytes, offset, Math.min(length, 1_000), at)
      },
    })
    expect(await replaceConfigFile(file, OLD, NEW, disk)).toBeNull()
    expect(writes).toBe(Math.ceil(NEW.length / 1_000))
    expect(textOf(file)).toBe(NEW)
  })

  it("syncs the bytes before the rename and the directory after it", async () => {
    writeFileSync(file, OLD)
    const order: string[] = []
    const disk = spiedDisk((call) => {
      if (["handle.write", "handle.sync", "rename"].includes(call)) order.push(call)
    })
    expect(await replaceConfigFile(file, OLD, NEW, disk)).toBeNull()
    expect(order).toEqual(["handle.write", "handle.sync", "rename", "handle.sync"])
  })

  it.each(["EPERM", "EACCES", "EBUSY"])("when another process holds the file for a moment (%s)", async (code) => {
    writeFileSync(file, OLD)
    let refusals = 2
    const disk = spiedDisk((call) => {
      if (call === "rename" && refusals-- > 0) throw fault(code)
    })
    expect(await replaceConfigFile(file, OLD, NEW, disk)).toBeNull()
    expect(refusals).toBe(-1)
    expect(textOf(file)).toBe(NEW)
    expect(everyName()).toEqual(["config", "config/opencode.json"])
  })
})

describe("links", () => {
  it.each<[string, () => string]>([
    ["a relative link", () => link("../dotfiles/opencode.json", file)],
    ["an absolute link", () => link(join(root, "dotfiles", "opencode.json"), file)],
    [
      "a chain of three",
      () => {
        link("opencode.json", join(root, "dotfiles", "second"))
        link("dotfiles/second", join(root, "first"))
        return link("../first", file)
      },
    ],
    [
      "a link through a linked directory",
      () => {
        link("dotfiles", join(root, "alias"))
        return link("../alias/opencode.json", file)
      },
    ],
  ])("%s stays; what it leads to is replaced in its own place, and keeps its mode", async (_, make) => {
    const target = dotfile()
    make()
    const links = linksBelow(root)
    expect(await readConfigFile(file)).toMatchObject({ realPath: target, text: OLD, mode: 0o600 })
    expect(await replaceConfigFile(file, OLD, NEW)).toBeNull()
    expect(linksBelow(root)).toEqual(links)
    expect(lstatSync(target).isFile()).toBe(true)
    expect(textOf(target)).toBe(NEW)
    expect(statSync(target).mode & 0o7777).toBe(0o600)
    expect(readdirSync(join(root, "dotfiles")).filter((name) => name.includes("tmp"))).toEqual([])
  })

  it("its own times change, by which OpenCode 2 sees the edit", async () => {
    dotfile()
    link("../dotfiles/opencode.json", file)
    lutimesSync(file, 1_000, 1_000)
    expect(await replaceConfigFile(file, OLD, NEW)).toBeNull()
    expect(lstatSync(file).mtimeMs).toBeGreaterThan(1_000_000)
  })

  it("a removal below a linked directory is one like any other", async () => {
    link("config", join(root, "alias"))
    writeFileSync(file, OLD)
    expect(await replaceConfigFile(join(root, "alias", "opencode.json"), OLD, null)).toBeNull()
    expect(everyName()).toEqual(["alias", "config"])
  })

  it("a removal through a link leaves no link to nothing behind that would look like success", async () => {
    const target = dotfile()
    link("../dotfiles/opencode.json", file)
    const problem = await replaceConfigFile(file, OLD, null)
    if (problem) expect(textOf(target)).toBe(OLD)
    else expect(await readConfigFile(file)).toMatchObject({ text: null })
  })

  it("a link that is turned to another file meanwhile: neither is touched", async () => {
    const target = dotfile()
    const other = join(root, "other.json")
    writeFileSync(other, OLD)
    link("../dotfiles/opencode.json", file)
    const disk = spiedDisk((call) => {
      if (call !== "handle.sync") return
      unlinkSync(file)
      symlinkSync(other, file)
    })
    expect(await replaceConfigFile(file, OLD, NEW, disk)).toMatchObject({ kind: "config_changed" })
    expect([textOf(target), textOf(other)]).toEqual([OLD, OLD])
    expect(everyName().filter((name) => name.includes(".tmp"))).toEqual([])
  })

  function dotfile(): string {
    mkdirSync(join(root, "dotfiles"))
    const target = join(root, "dotfiles", "opencode.json")
    writeFileSync(target, OLD)
    chmodSync(target, 0o600)
    return target
  }
})

describe("a write that must not be", () => {
  it("over a text that is not the expected one", async () => {
    writeFileSync(file, "{}")
    for (const [before, after] of [
      [OLD, NEW],
      [null, NEW],
      [OLD, null],
    ] as const)
      expect(await replaceConfigFile(file, before, after)).toEqual({
        kind: "config_changed",
        file,
        reason: "hash_differs",
      })
    expect(textOf(file)).toBe("{}")
    expect(await replaceConfigFile(join(root, "config", "none"), OLD, NEW)).toMatchObject({ kind: "config_changed" })
    expect(everyName()).toEqual(["config", "config/opencode.json"])
  })

  it.each<[string, () => void, object]>([
    ["of a file that nobody may write", () => chmodSync(file, 0o444), { kind: "config_readonly" }],
    ["in a directory that nobody may write", () => chmodSync(dirname(file), 0o555), { kind: "config_readonly" }],
    [
      "of a file with two names",
      () => linkSync(file, join(root, "twin")),
      { kind: "config_unsupported", reason: "hard_link" },
    ],
  ])("%s", async (_, shut, problem) => {
    writeFileSync(file, OLD)
    shut()
    for (const after of [NEW, null])
      expect(await replaceConfigFile(file, OLD, after)).toMatchObject({ file, ...problem })
    chmodSync(dirname(file), 0o755)
    expect(textOf(file)).toBe(OLD)
    expect(readdirSync(dirname(file))).toEqual(["opencode.json"])
  })

  it("of a file behind a link that nobody may write, and names both", async () => {
    const realFile = join(root, "dotfiles.json")
    writeFileSync(realFile, OLD)
    chmodSync(realFile, 0o444)
    link("../dotfiles.json", file)
    expect(await replaceConfigFile(file, OLD, NEW)).toEqual({ kind: "config_readonly", file, realFile, reason: "file" })
  })

  it("of a new file in a directory that nobody may write", async () => {
    chmodSync(dirname(file), 0o555)
    expect(await replaceConfigFile(file, null, NEW)).toMatchObject({ kind: "config_readonly" })
    expect(readdirSync(dirname(file))).toEqual([])
  })

  it("of bytes that are not UTF-8", async () => {
    const bytes = Buffer.from([0x7b, 0xe9, 0x7d])
    writeFileSync(file, bytes)
    expect(await replaceConfigFile(file, bytes.toString("utf8"), NEW)).toMatchObject({
      kind: "config_unsupported",
      reason: "not_utf8",
    })
    expect(readFileSync(file)).toEqual(bytes)
  })

  it("when someone else writes between the read and the rename", async () => {
    writeFileSync(file, OLD)
    const disk = spiedDisk((call) => {
      if (call === "handle.sync") writeFileSync(file, "theirs")
    })
    expect(await replaceConfigFile(file, OLD, NEW, disk)).toEqual({
      kind: "config_changed",
      file,
      reason: "hash_differs",
    })
    expect(textOf(file)).toBe("theirs")
    expect(everyName()).toEqual(["config", "config/opencode.json"])
  })

  it("when someone else writes while the file is held", async () => {
    writeFileSync(file, OLD)
    const disk = spiedDisk((call) => {
      if (call !== "rename") return
      writeFileSync(file, "theirs")
      throw fault("EBUSY")
    })
    expect(await replaceConfigFile(file, OLD, NEW, disk)).toMatchObject({ kind: "config_changed" })
    expect(textOf(file)).toBe("theirs")
    expect(everyName()).toEqual(["config", "config/opencode.json"])
  })

  it("when someone else makes the file that was not there", async () => {
    const disk = spiedDisk((call) => {
      if (call === "handle.sync") writeFileSync(file, "theirs")
    })
    expect(await replaceConfigFile(file, null, NEW, disk)).toMatchObject({ kind: "config_changed" })
    expect(textOf(file)).toBe("theirs")
  })

  it.each([
    ["works", undefined],
    ["fails", "EIO"],
  ])("someone else's text stays, when it comes right after the rename and the directory's sync %s", async (_, code) => {
    writeFileSync(file, OLD)
    const disk = spiedDisk((call, path) => {
      if (call !== "handle.sync" || path !== dirname(file)) return
      writeFileSync(file, "theirs")
      if (code) throw fault(code)
    })
    await replaceConfigFile(file, OLD, NEW, disk)
    expect(textOf(file)).toBe("theirs")
  })
})

/** Every disk call of every kind of write fails once, and from then on. */
describe("faults of the disk", () => {
  const KINDS: [kind: string, before: string | null, after: string | null, prepare: () => string][] = [
    ["a replacement", OLD, NEW, () => plain()],
    ["a replacement through a link", OLD, NEW, () => linkedFile()],
    ["a new file", null, NEW, () => file],
    ["a new file in a new directory", null, NEW, () => join(root, "fresh", "opencode.json")],
    ["a removal", OLD, null, () => plain()],
  ]
  const plain = () => {
    writeFileSync(file, OLD)
    chmodSync(file, 0o600)
    return file
  }
  const linkedFile = () => {
    mkdirSync(join(root, "dotfiles"))
    writeFileSync(join(root, "dotfiles", "opencode.json"), OLD)
    chmodSync(join(root, "dotfiles", "opencode.json"), 0o600)
    return link("../dotfiles/opencode.json", file)
  }
  const KNOWN = ["config_unsupported", "config_unreadable", "config_readonly", "config_changed", "write_failed"]

  async function callsOf(before: string | null, after: string | null, path: string): Promise<string[]> {
    const calls: string[] = []
    expect(
      await replaceConfigFile(
        path,
        before,
        after,
        spiedDisk((call) => void calls.push(call)),
      ),
    ).toBeNull()
    return calls
  }

  /** The law: an answer without a problem stands on the disk; with one, the old bytes do, under their old mode. */
  async function holds(
    path: string,
    before: string | null,
    after: string | null,
    spy: Spy,
    handle: HandleCalls = {},
    what = "",
  ) {
    const problem = await replaceConfigFile(path, before, after, spiedDisk(spy, handle))
    expect(textOf(path), `${what} ${JSON.stringify(problem)}`).toBe(problem ? before : after)
    if (problem) {
      expect(KNOWN).toContain(problem.kind)
      const { realFile, ...rest } = problem
      expect(rest).toEqual({ kind: problem.kind, file: path, reason: expect.stringMatching(/^\w+$/) })
      expect([undefined, join(root, "dotfiles", "opencode.json")]).toContain(realFile)
    }
    if (textOf(path) !== null && before !== null) expect(statSync(path).mode & 0o7777).toBe(0o600)
    expect(everyName().filter((name) => name.includes(".tmp"))).toEqual([])
    return problem
  }

  it.each(KINDS)("%s: each call in turn, each code", async (_, before, after, prepare) => {
    const calls = await callsOf(before, after, prepare())
    expect(calls.length).toBeGreaterThan(10)
    for (const code of ["EIO", "ENOSPC", "EACCES", "EROFS", "EMFILE"])
      for (const [at, name] of calls.entries()) {
        reset()
        let count = 0
        const problem = await holds(prepare(), before, after, (call) => {
          if (count++ !== at) return
          expect(call).toBe(name)
          throw fault(code)
        })
        // What only tidies up or touches may fail unseen; nothing that the result depends on may, save that a rename
        // which is not allowed is tried again.
        if (/handle\.(write|sync|close|stat)|rename|mkdir|open/.test(name))
          expect(problem === null, `${name} (call ${at + 1}) ${code}`).toBe(name === "rename" && code === "EACCES")
      }
  })

  it.each(KINDS)("%s: a kind of call that never works", async (_, before, after, prepare) => {
    const calls = new Set(await callsOf(before, after, prepare()))
    // The clean-up is a call too: without any unlink a temporary file has to stay.
    calls.delete("unlink")
    for (const name of calls) {
      reset()
      const path = prepare()
      await holds(
        path,
        before,
        after,
        (call) => {
          if (call === name) throw fault("EIO")
        },
        {},
        name,
      )
    }
  })

  it.each<[what: string, kind: string, code: string, call: string]>([
    ["the temporary file cannot be made: full", "write_failed", "ENOSPC", "open"],
    ["the temporary file cannot be made: not allowed", "config_readonly", "EACCES", "open"],
    ["the temporary file cannot be made: read-only disk", "config_readonly", "EROFS", "open"],
    ["the write fails", "write_failed", "ENOSPC", "handle.write"],
    ["the write fails: quota", "write_failed", "EDQUOT", "handle.write"],
    ["the sync fails", "write_failed", "EIO", "handle.sync"],
    ["the size cannot be read", "write_failed", "EIO", "handle.stat"],
    ["the close fails", "write_failed", "EIO", "handle.close"],
    ["the rename fails", "write_failed", "EXDEV", "rename"],
    ["the rename is not allowed", "config_readonly", "EPERM", "rename"],
    ["the directory cannot be made", "write_failed", "ENOSPC", "mkdir"],
  ])("%s: %s", async (_, kind, code, name) => {
    const problem = await holds(plain(), OLD, NEW, (call) => {
      if (call === name) throw fault(code)
    })
    expect(problem).toEqual({ kind, file, reason: code })
  })

  it.each(["EINVAL", "EIO", "ENOSYS", "EACCES"])(
    "a directory that cannot be synced (%s) never leaves a write that is denied",
    async (code) => {
      await holds(plain(), OLD, NEW, (call, path) => {
        if (call === "handle.sync" && path === dirname(file)) throw fault(code)
      })
    },
  )

  it.each<[string, HandleCalls["write"]]>([
    ["takes nothing", async () => ({ bytesWritten: 0 })],
    [
      "takes a part and then nothing",
      (handle, bytes: Buffer, offset: number, length: number, at: number) =>
        offset > 0 ? { bytesWritten: 0 } : handle.write(bytes, offset, Math.floor(length / 2), at),
    ],
    [
      "takes a part and then fails",
      async (handle, bytes: Buffer, offset: number, length: number, at: number) => {
        if (offset > 0) throw fault("ENOSPC")
        return handle.write(bytes, offset, Math.floor(length / 2), at)
      },
    ],
    [
      "says that it took all but did not",
      async (handle, bytes: Buffer, offset: number, length: number, at: number) => {
        await handle.write(bytes, offset, Math.floor(length / 2), at)
        return { bytesWritten: length }
      },
    ],
  ])("a disk that %s", async (_, write) => {
    const problem = await holds(plain(), OLD, NEW, () => {}, write ? { write } : {})
    expect(problem).toMatchObject({ kind: "write_failed", reason: expect.stringMatching(/SHORT_WRITE|ENOSPC/) })
  })

  it("a disk that garbles what it takes, once", async () => {
    let garbled = false
    const write = (
      handle: import("node:fs/promises").FileHandle,
      bytes: Buffer,
      offset: number,
      length: number,
      at: number,
    ) => {
      if (garbled) return handle.write(bytes, offset, length, at)
      garbled = true
      return handle.write(Buffer.from(bytes).fill(0x20, offset, offset + 10), offset, length, at)
    }
    expect(await holds(plain(), OLD, NEW, () => {}, { write })).toMatchObject({ kind: "write_failed" })
  })

  it("a text that no UTF-8 file can hold", async () => {
    expect(await holds(plain(), OLD, "{} // \ud800\n", () => {})).toMatchObject({ kind: "write_failed" })
  })

  function reset(): void {
    rmSync(root, { recursive: true })
    mkdirSync(join(root, "config"), { recursive: true })
  }
})

function link(target: string, path: string): string {
  symlinkSync(target, path)
  return path
}

function linksBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .map((name) => join(directory, name))
    .filter((path) => lstatSync(path).isSymbolicLink())
    .map((path) => `${path} -> ${readlinkSync(path)}`)
    .sort()
}
