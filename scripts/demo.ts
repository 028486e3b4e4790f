// The main job on the real OpenCode 1, in a sandboxed home: what an agent does, and what its model then sees.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Host, startHost } from "../test/hosts/opencode-1/host.ts"
import { createSandbox, type Sandbox } from "../test/hosts/opencode-1/sandbox.ts"
import { type ScriptedModel, startScriptedModel } from "../test/hosts/opencode-1/scripted-model.ts"
import { packInto } from "./pack.ts"

const CONFIG = `{
  // Keep the big model for daytime.
  "$schema": "https://opencode.ai/config.json",
  "permission": {
    "bash": "ask", // never without me
    "skill": {
      "lark-*": "deny" // work account only
    }
  }
}
`
const SKILLS = {
  docx: "Read and write Word documents.",
  "lark-mail": "Read mail in Lark.",
  pdf: "Fill in, split and merge PDF files.",
  "release-notes": "Write release notes from merged changes.",
}

/** The sandboxed home of the demo and of the examples in the docs. */
export async function demoHome(tarball: string): Promise<Sandbox> {
  const sandbox = await createSandbox()
  await sandbox.config("opencode.jsonc", CONFIG)
  for (const [name, description] of Object.entries(SKILLS)) await sandbox.skill(name, { description })
  // The plugin is named in a layer of its own, so that the user's file stays as a user wrote it.
  const plugin = { plugin: [`opencode-skill-management@file:${tarball}`] }
  await sandbox.projectFile("opencode.json", JSON.stringify(plugin))
  return sandbox
}

/** Paths as a user would see them. */
export const tidyPaths = (sandbox: Sandbox, text: string): string =>
  text.replaceAll(sandbox.configDir, "~/.config/opencode")

/** Runs the whole story; `say` gets it line by line. */
export async function demo(say: (line: string) => void): Promise<void> {
  const packed = mkdtempSync(join(tmpdir(), "skill-management-demo-"))
  const sandbox = await demoHome(packInto(packed))
  const model = await startScriptedModel()
  let host: Host | undefined
  try {
    say(`A fresh home with ${Object.keys(SKILLS).length} skills and this ~/.config/opencode/opencode.jsonc:`)
    indent(say, CONFIG)
    host = await startHost(sandbox, { model })
    await story(say, host, model, (text) => tidyPaths(sandbox, text))
    const after = await sandbox.readConfig("opencode.jsonc")
    say(after === CONFIG ? "The config file has its original bytes." : "THE CONFIG FILE DIFFERS")
    if (after !== CONFIG) throw new Error("the demo did not restore the config file")
  } finally {
    await host?.stop()
    await model.stop()
    await sandbox.remove()
    rmSync(packed, { recursive: true, force: true })
  }
}

async function story(say: (line: string) => void, host: Host, model: ScriptedModel, tidy: (text: string) => string) {
  const session = await host.createSession()
  const call = async (args: Record<string, unknown>) => {
    say("")
    say(`> skill_management ${JSON.stringify(args)}`)
    model.reply({ tools: [{ name: "skill_management", args }] }, { text: "done" })
    await host.prompt(session, { text: "go on" })
    const state = (await host.toolParts(session, "skill_management")).at(-1)
    if (!state?.output) throw new Error(`the tool did not answer: ${state?.error ?? "no output"}`)
    return JSON.parse(tidy(state.output))
  }
  const told = async () => {
    model.reply({ text: "done" })
    await host.prompt(await host.createSession(), { text: "hello" })
    const names = [...model.last().system.matchAll(/<name>([^<]*)<\/name>/g)].map(([, name]) => name)
    say(`The model is told of: ${names.filter((name) => name !== "customize-opencode").join(", ")}`)
  }
  const load = async (name: string) => {
    model.reply({ tools: [{ name: "skill", args: { name } }] }, { text: "done" })
    const fresh = await host.createSession()
    await host.prompt(fresh, { text: `load ${name}` })
    const state = (await host.toolParts(fresh, "skill")).at(-1)
    say(`Loading ${name}: ${state?.status === "completed" ? "loaded" : `refused (${state?.error?.split(".")[0]})`}`)
  }
  const restart = async () => {
    say("")
    say("-- the host restarts --")
    await host.restart()
  }

  await told()
  const list = await call({ action: "list", fields: ["id", "state", "description"] })
  for (const { id, state, description } of list.skills)
    if (id !== "customize-opencode") say(`  ${state.padEnd(10)} ${id.padEnd(14)} ${description}`)
  const inspect = await call({ action: "inspect", id: "lark-mail" })
  say(`  ${inspect.conclusion}`)
  const rehearsal = await call({ action: "disable", id: "pdf", note: "misfires on invoices", dryRun: true })
  indent(say, rehearsal.diff)
  for (const { agents, before, after } of rehearsal.impact) say(`  ${agents.join(", ")}: ${before} -> ${after}`)
  const disabled = await call({ action: "disable", id: "pdf", note: "misfires on invoices" })
  say(`  changed: ${disabled.changed}, takes effect: ${disabled.takesEffect}, checked: ${disabled.verification.method}`)
  const pending = await call({ action: "list", match: "pdf", fields: ["id", "state", "pending"] })
  say(`  ${JSON.stringify(pending.skills[0])}`)
  await restart()
  await told()
  await load("pdf")
  const enabled = await call({ action: "enable", id: "pdf" })
  say(`  changed: ${enabled.changed}, reason: ${enabled.reason}`)
  await restart()
  await told()
  await load("pdf")
  say("")
}

const indent = (say: (line: string) => void, text: string) => {
  for (const line of text.trimEnd().split("\n")) say(`  ${line}`)
}

if (process.argv[1] === import.meta.filename) await demo((line) => process.stdout.write(`${line}\n`))
