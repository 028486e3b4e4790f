import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { describe, expect, test } from "vitest"

const src = resolve(import.meta.dirname, "../src")

/** What a room may import. Rooms are named by the folder below `src`; packages and `node:` modules by their names. */
const ROOMS: Record<string, readonly string[]> = {
  core: ["core", "jsonc-parser"],
  tool: ["tool", "core", "diff", "fastest-levenshtein", "json-schema-to-ts", "node:crypto"],
  files: [
    "files",
    "core",
    "jsonc-parser",
    "yaml",
    "proper-lockfile",
    "node:crypto",
    "node:fs/promises",
    "node:path",
    "node:timers/promises",
  ],
  actions: [
    "actions",
    "core",
    "tool",
    "files",
    "hosts",
    "node:crypto",
    "node:fs/promises",
    "node:path",
    "node:timers/promises",
  ],
  hosts: [
    "hosts",
    "core",
    "tool",
    "files",
    "actions",
    "@opencode-ai/plugin",
    "jsonc-parser",
    "node:fs",
    "node:fs/promises",
    "node:os",
    "node:path",
    "node:timers/promises",
    "node:util",
  ],
  "index.ts": ["hosts"],
}

const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"))
const roomOf = (path: string): string => path.split("/")[0] ?? ""

interface Import {
  readonly name: string
  readonly when: "never" | "at once" | "later"
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(src, file), "utf8")
  const statements = text.matchAll(/^(?:import|export)\s+(type\s)?[^"'()]*?from\s+"([^"]+)"/gm)
  const dynamic = text.matchAll(/import\("([^"]+)"\)/g)
  return [
    ...[...statements].map(([, type, name = ""]) => ({ name, when: type ? ("never" as const) : ("at once" as const) })),
    ...[...dynamic].map(([, name = ""]) => ({ name, when: "later" as const })),
  ]
}

const resolved = (file: string, name: string): string =>
  name.startsWith(".") ? relative(src, join(src, dirname(file), name)) : name

/** The packages and modules of Node that are loaded with these files. */
function loadedWith(...entries: string[]): string[] {
  const seen = new Set<string>()
  const visit = (name: string) => {
    if (seen.has(name)) return
    seen.add(name)
    if (files.includes(name))
      for (const { name: next, when } of importsOf(name)) if (when === "at once") visit(resolved(name, next))
  }
  entries.forEach(visit)
  return [...seen].filter((name) => !files.includes(name)).sort()
}

const packagesOf = (...entries: string[]): string[] =>
  loadedWith(...entries).filter((name) => !name.startsWith("node:"))

describe("what is loaded when", () => {
  test("at the host's start no package, and of Node only what is there anyway or small", () =>
    expect(loadedWith("index.ts")).toEqual(["node:fs/promises", "node:os", "node:path"]))

  test("to look, no more than what reads a config", () => {
    const calls = ["hosts/opencode-1/call.ts", "hosts/opencode-2/call.ts"]
    const looks = ["actions/list.ts", "actions/inspect.ts"]
    expect(packagesOf(...calls, ...looks)).toEqual(["fastest-levenshtein", "jsonc-parser"])
  })

  test("to change, `diff` as well; the lock's package only to write", () =>
    expect(packagesOf("actions/change.ts")).toEqual(["diff", "fastest-levenshtein", "jsonc-parser"]))

  test("`yaml` with the first head of a Markdown file", () =>
    expect(packagesOf("files/yaml-tree.ts")).toEqual(["yaml"]))
})

describe("rooms", () => {
  test.each(files)("%s imports only what its room may", (file) => {
    const allowed = ROOMS[roomOf(file)]
    expect(allowed, "a room without a rule").toBeDefined()
    for (const { name } of importsOf(file)) {
      const target = resolved(file, name)
      expect(allowed, `${file} imports ${name}`).toContain(files.includes(target) ? roomOf(target) : target)
    }
  })

  test("the two hosts never import each other", () => {
    for (const file of files.filter((name) => name.startsWith("hosts/opencode-1/")))
      expect(
        importsOf(file)
          .map(({ name }) => name)
          .join(),
      ).not.toContain("opencode-2")
    for (const file of files.filter((name) => name.startsWith("hosts/opencode-2/")))
      expect(
        importsOf(file)
          .map(({ name }) => name)
          .join(),
      ).not.toContain("opencode-1")
  })

  test("the plugin packages are imported for their types only", () => {
    const imports = files.flatMap(importsOf).filter(({ name }) => name.startsWith("@opencode"))
    expect(imports.length).toBeGreaterThan(0)
    expect(imports.every(({ when }) => when === "never")).toBe(true)
  })

  test("no file touches the process or prints", () => {
    for (const file of files) {
      const text = readFileSync(join(src, file), "utf8")
      expect(text, file).not.toMatch(/\bconsole\.|process\.(exit|stdout|stderr|on)\b/)
      if (roomOf(file) === "core" || roomOf(file) === "tool")
        expect(text, file).not.toMatch(/\bprocess\b\.|Date\.now|new Date/)
    }
  })
})
