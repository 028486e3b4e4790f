/** Runs the calls of one case, and checks after each what every case may expect. */
import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs"
import { join, relative } from "node:path"
import { expect } from "vitest"
import { snapshot } from "../actions/both-hosts.ts"
import { type Answer, validated } from "../tool/validated.ts"
import type { Input } from "./calls.ts"
import { expectOnlyRule, skillRules } from "./config-text.ts"

/** A host that works in a case as it was laid out. */
export interface Opened {
  readonly root: string
  readonly configDir: string
  call(input: Input): Promise<{ readonly text: string; readonly answer?: unknown }>
  /** Lets the host read what was written. */
  reload(): Promise<void>
  /** What the host itself makes of a skill, where it can be asked. */
  effect?(agent: string, id: string): Promise<keyof typeof STATES>
}

/** One call, and what came of it. */
export interface Seen {
  readonly opened: Opened
  readonly input: Input
  readonly answer: Answer
  readonly text: string
}

const NAMES = ["config.json", "opencode.json", "opencode.jsonc"]
const SIDECAR = "skill_management.state.json"
/** What a config that was made for a rule holds besides it, and what one of no bytes means. */
const NEW_CONFIG = '{\n  "$schema": "https://opencode.ai/config.json"\n}\n'
const EMPTY_CONFIG = "{}\n"
export const STATES = { allow: "available", ask: "ask", deny: "disabled" } as const

export type Check = (seen: Seen) => void

/** One check for each call that the case makes, and calls beyond it. */
interface Expected {
  readonly checks: readonly Check[]
  readonly more?: readonly (readonly [Input, Check])[]
}

/** Makes the calls in order. Returns the answers' texts. */
export async function runCalls(
  opened: Opened,
  inputs: readonly Input[],
  { checks, more = [] }: Expected,
): Promise<readonly string[]> {
  expect(checks.length, "one check for each call").toBe(inputs.length)
  const texts: string[] = []
  for (const [input, check] of [...inputs.map((input, at) => [input, checks[at]] as const), ...more]) {
    const seen = await perform(opened, input)
    check?.(seen)
    texts.push(seen.text)
  }
  return texts
}

async function perform(opened: Opened, input: Input): Promise<Seen> {
  const before = lookAt(opened)
  const reply = await opened.call(input)
  const answer = validated(reply)
  const { action, id = "", agent = "build" } = input
  const after = lookAt(opened)
  if (answer.changed === true) expectOneChange(opened, before.files, after.files, id)
  else expect(after.files, "every byte is as it was").toEqual(before.files)
  if (action === "list" || action === "inspect") expect(after, "a reading action touches nothing").toEqual(before)
  const locks = join(opened.root, "state/opencode/skill_management/locks")
  expect(existsSync(locks) ? readdirSync(locks) : [], "no lock is left").toEqual([])
  if (answer.changed === true) await opened.reload()
  if (answer.ok && "after" in answer) await expectConfirmed(opened, id, answer)
  if (answer.ok && action === "inspect" && opened.effect)
    expect(answer.caller, "the host agrees").toMatchObject({ state: STATES[await opened.effect(agent, id)] })
  return { opened, input, answer, text: reply.text }
}

/** The user's files and directories, and what any write at all would leave on the config. */
export const lookAt = (place: Pick<Opened, "root" | "configDir">) => ({
  files: filesOf(place),
  stamps: stampsOf(place),
})

/** The user's files with kind, mode and bytes, without what the host itself brings. */
function filesOf({ root }: Pick<Opened, "root">): Record<string, string> {
  const found = ["home", "project"].flatMap((name) =>
    Object.entries(snapshot(join(root, name))).map(([path, what]) => [join(name, path), what] as const),
  )
  return Object.fromEntries(
    found.filter(([path]) => !/\/(node_modules|package(-lock)?\.json|bun\.lock|\.gitignore)(\/|$)/.test(path)),
  )
}

function stampsOf({ configDir }: Pick<Opened, "configDir">): string[] {
  return ["", ...NAMES].map((name) => {
    const stat = lstatSync(join(configDir, name), { bigint: true, throwIfNoEntry: false })
    return stat ? `${name} ${stat.ino} ${stat.mtimeNs}` : `${name} absent`
  })
}

type Files = Readonly<Record<string, string>>

/** One config differs in the rule alone; besides the sidecar nothing else has changed, appeared or stayed. */
function expectOneChange({ root, configDir }: Opened, before: Files, after: Files, id: string): void {
  const configs = NAMES.map((name) => join(configDir, name)).filter(existsSync)
  const places = configs.map((path) => relative(root, realpathSync(path)))
  const sidecar = relative(root, join(configDir, SIDECAR))
  const others = (files: Files) =>
    Object.fromEntries(Object.entries(files).filter(([path]) => path !== sidecar && !places.includes(path)))
  expect(others(after), "nothing else has changed, appeared or stayed").toEqual(others(before))
  const [path, ...more] = places.filter((place) => before[place] !== after[place])
  if (path === undefined || more.length > 0) throw new Error("not one config has changed")
  const [old, now] = [contentOf(before[path]), contentOf(after[path])]
  expect(now.mode, "the mode is kept").toBe(old.mode)
  expectOnlyRule(old.text === "" ? EMPTY_CONFIG : old.text, now.text, id)
  if (path.endsWith(".json")) JSON.parse(now.text)
}

/** From a file's line in a snapshot; of one that is absent, what is there when it has been made. */
function contentOf(line: string | undefined): { mode: string; text: string } {
  if (line === undefined) return { mode: "644", text: NEW_CONFIG }
  const [, mode = "", bytes = ""] = /^file (\d+) ([\s\S]*)$/.exec(line) ?? []
  return { mode, text: Buffer.from(bytes, "latin1").toString("utf8") }
}

async function expectConfirmed(opened: Opened, id: string, { after }: Answer): Promise<void> {
  const { skill } = validated(await opened.call({ action: "inspect", id })) as unknown as {
    skill: { state: string; pending?: string }
  }
  expect(skill.pending ?? skill.state, "the success is confirmed").toBe(STATES[after as keyof typeof STATES])
  if (opened.effect) expect(await opened.effect("build", id), "the host agrees").toBe(after)
}

/** The skill rules of the global files, in load order. */
export const rulesIn = ({ configDir }: Pick<Opened, "configDir">): string[] =>
  NAMES.map((name) => join(configDir, name))
    .filter(existsSync)
    .flatMap((path) => skillRules(readFileSync(path, "utf8")))
