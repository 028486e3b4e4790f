// Public bug reports, run on real files with a host in this process. test/e2e/bugs.test.ts has those that need a real one.
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, promises, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it, onTestFinished } from "vitest"
import { asUser, HOSTS, openOpenCode1, openOpenCode2 } from "../actions/both-hosts.ts"
import { fault } from "../files/disk.ts"
import { type Input, toolCalls } from "./calls.ts"
import { CASES, EXCEPTIONS, type Run } from "./cases.ts"
import { bugsAvailable, caseKinds, layOut, type NeutralCall, readCalls, replaceConfig } from "./corpus.ts"
import { report } from "./report.ts"
import { type Opened, rulesIn, runCalls } from "./run.ts"

const tests = Object.entries(CASES).flatMap(([id, runs]) =>
  runs
    .filter(({ on }) => on !== "real")
    .map((run, at, { length }) => ({ id, run, name: length === 1 ? id : `${id}, part ${at + 1}` })),
)
const SAME_TICK = { id: "B33", name: "B33, both calls in one tick" }

const element = (resource: string, effect: string) => JSON.stringify({ action: "skill", resource, effect })

/** The case as it is laid out, in a host that has every skill which a call names. */
async function open(id: string, run: Run, calls: readonly NeutralCall[]): Promise<Opened> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "bug-")))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  layOut(id, root)
  const configDir = join(root, "home/.config/opencode")
  mkdirSync(configDir, { recursive: true })
  for (const { repeat_with } of calls) if (repeat_with) replaceConfig(root, configDir, repeat_with)
  const named = calls.flatMap(toolCalls).flatMap(({ id: skill }) => skill ?? [])
  const inRegistry = (skill: string) => run.on === "stand-in" && existsSync(join(configDir, "skills", skill))
  const skills = Object.fromEntries(
    named.filter((skill) => !inRegistry(skill)).map((skill) => [skill, { description: `About ${skill}.` }]),
  )
  const env = { XDG_CONFIG_HOME: join(root, "home/.config"), ...run.env }
  const host =
    run.on === "recorded"
      ? await openOpenCode1({ root, env, skills, ...(run.loaded && { loaded: run.loaded }) })
      : await openOpenCode2({ root, skills, standin: { root, env, build: "2.0" } })
  onTestFinished(() => host.stop())
  // A case may have shut its directories.
  onTestFinished(() => void execFileSync("chmod", ["-R", "u+w", root]))
  return { root, configDir, call: (input: Input) => host.call(input), reload: () => host.settle() }
}

/** So many renames onto the config are refused, as on Windows while someone reads it. */
function holdConfig(times: number): void {
  const { rename } = promises
  let left = times
  promises.rename = async (from, to) => {
    if (/\/opencode\.jsonc?$/.test(String(to)) && left-- > 0) throw fault("EPERM")
    return rename(from, to)
  }
  syncBuiltinESMExports()
  onTestFinished(() => {
    promises.rename = rename
    syncBuiltinESMExports()
  })
}

/** What the environment and the referenced file hold stands nowhere else, neither on disk nor in an answer. */
function expectSecretsKept({ root }: Opened, run: Run, answers: readonly string[]): void {
  const file = join(root, "home/.secret")
  const secrets = [...Object.values(run.env ?? {}), ...(existsSync(file) ? [readFileSync(file, "utf8").trim()] : [])]
  const files = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => path !== file)
  for (const text of [...answers, ...files.map((path) => readFileSync(path, "utf8"))])
    for (const secret of secrets) expect(text).not.toContain(secret)
}

describe.skipIf(!bugsAvailable)("bug reports", () => {
  const passed = new Set<string>()
  afterAll(() => report([...tests, SAME_TICK], passed))

  it("are all accounted for, and every exception is one of them", () => {
    expect(Object.keys(caseKinds()).sort()).toEqual(Object.keys(CASES))
    expect(Object.keys(CASES)).toEqual(expect.arrayContaining(Object.keys(EXCEPTIONS)))
  })

  it.each(tests)("$name", async ({ id, run, name }) => {
    const calls = readCalls(id).filter((_, at) => run.calls?.includes(at + 1) ?? true)
    const opened = await open(id, run, calls)
    if (run.heldRenames !== undefined) holdConfig(run.heldRenames)
    const work = () => runCalls(opened, calls.flatMap(toolCalls), run)
    const answers = await (run.asUser ? asUser(work, opened.root) : work())
    expectSecretsKept(opened, run, answers)
    passed.add(name)
  })

  it(SAME_TICK.name, async () => {
    const [run] = CASES.B33 ?? []
    const [first] = readCalls("B33")
    if (!run || !first) throw new Error("the case has a run and a call")
    const opened = await open("B33", run, [first])
    const replies = await Promise.all(toolCalls(first).map((input) => opened.call(input)))
    expect(replies.map(({ text }) => JSON.parse(text))).toMatchObject([{ changed: true }, { changed: true }])
    expect(rulesIn(opened)).toEqual(["c ask"])
    expect(readFileSync(join(opened.configDir, "opencode.jsonc"), "utf8").split("\n")).toHaveLength(1)
    passed.add(SAME_TICK.name)
  })
})

/** A rule between two others, in the form of each host. */
const FORMS = {
  "opencode-1": (line: string) =>
    `{\n  "permission": {\n    "skill": {\n      "x-*": "ask",\n      // why\n      ${line}\n      "y-*": "ask"\n    }\n  }\n}\n`,
  "opencode-2": (line: string) =>
    `{\n  "permissions": [\n    ${element("x-*", "ask")},\n    // why\n    ${line}\n    ${element("y-*", "ask")}\n  ]\n}\n`,
}
const RULES = { "opencode-1": '"pdf": "deny",', "opencode-2": `${element("pdf", "deny")},` }

// B31 asks for the same in the map as in the array.
it.each(HOSTS)(
  "the comments of a rule that goes stay in their places, on $name",
  async ({ open: openHost, generation }) => {
    const textWith = FORMS[generation]
    const host = await openHost({
      files: { "opencode.jsonc": textWith(`${RULES[generation]} // until May`) },
      loaded: {
        rules: [
          ["skill", "x-*", "ask"],
          ["skill", "pdf", "deny"],
          ["skill", "y-*", "ask"],
        ],
      },
    })
    onTestFinished(() => host.stop())
    expect(JSON.parse((await host.call({ action: "enable", id: "pdf" })).text)).toMatchObject({ changed: true })
    expect(host.readConfig("opencode.jsonc")).toBe(textWith("// until May"))
  },
)
