/** What the real prompt of OpenCode 1 pays for each skill, and how far `tokens` is from a real tokenizer's count. */
import { countTokens } from "gpt-tokenizer/encoding/o200k_base"
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest"
import { promptEntry } from "../../src/hosts/opencode-1/prompt.ts"
import { type Host, hostAvailable, startHost } from "../hosts/opencode-1/host.ts"
import { createSandbox, type Sandbox } from "../hosts/opencode-1/sandbox.ts"
import { type ScriptedModel, startScriptedModel } from "../hosts/opencode-1/scripted-model.ts"
import { pluginEntry } from "./packed.ts"

const SUBJECTS = ["invoices", "release notes", "database migrations", "slide decks", "unit tests"]

/** Descriptions of several kinds and lengths; `location` is the same everywhere, and its folder has to be escaped once. */
const KINDS: Readonly<Record<string, { readonly count: number; description(i: number): string }>> = {
  english: {
    count: 60,
    description: (i) =>
      [
        `Use this skill to review ${SUBJECTS[i % 5]} before they are sent, or whenever the user asks for an audit.`,
        "It checks totals, names and addresses, proposes small fixes, and explains each of them in one sentence.",
        "Do not use it for drafts that nobody has read yet; there is another skill for these.",
      ]
        .slice(0, 1 + (i % 3))
        .join(" "),
  },
  code: {
    count: 10,
    description: (i) =>
      `Runs \`tsc --noEmit && eslint src/**/*.ts --fix\`, reads package.json#exports, fixes TS${2300 + i}/TS7006 (docs/adr-000${i}.md).`,
  },
  german: {
    count: 10,
    description: (i) =>
      `Prüft ${i + 2} Rechnungen vor dem Versand, oder wenn der Benutzer eine Prüfung der Bücher wünscht: Summen, Steuersätze und Anschriften.`,
  },
  russian: {
    count: 10,
    description: (i) =>
      `Проверяет ${i + 2} счёта перед отправкой, а также суммы, адреса и налоговые ставки по просьбе пользователя.`,
  },
  chinese: {
    count: 10,
    description: (i) =>
      `在发送 ${i + 2} 张发票之前,或用户要求审计账簿时使用此技能。它会检查总额、税率和地址,并提出修改建议。`,
  },
}
/** As docs/reference/hosts.md names them, in percent; the sandbox's path is another one each time. */
const DEVIATIONS: Readonly<Record<string, number>> = { english: 10, code: -10, german: -1, russian: -3, chinese: -4 }
const FOLDER = "a & b <c> \"d\" 'e'"

const nameOf = (kind: string, i: number) => `${kind}-${SUBJECTS[i % 5]?.replaceAll(" ", "-")}-${i}`
const tokensIn = (text: string) => countTokens(text, { disallowedSpecial: new Set() })

describe.skipIf(!hostAvailable)("the prompt of OpenCode 1 with a hundred skills", () => {
  let sandbox: Sandbox
  let model: ScriptedModel
  let host: Host
  let entries: ReadonlyMap<string, string>
  let rows: readonly { readonly id: string; readonly tokens: number }[]
  beforeAll(async () => {
    sandbox = await createSandbox()
    await sandbox.config("opencode.json", JSON.stringify({ plugin: [pluginEntry(inject("tarball"))] }))
    for (const [kind, { count, description }] of Object.entries(KINDS))
      for (let i = 0; i < count; i++) {
        const name = nameOf(kind, i)
        await sandbox.skill(name, { description: description(i), dir: i === 0 ? `${FOLDER}/${name}` : name })
      }
    model = await startScriptedModel()
    host = await startHost(sandbox, { model })
    const session = await host.createSession()
    model.reply({
      tools: [{ name: "skill_management", args: { action: "list", fields: ["id", "tokens"], limit: 500 } }],
    })
    await host.prompt(session, { text: "Which skills are there?" })
    const section = /<available_skills>\n([\s\S]*)<\/available_skills>/.exec(model.last().system)?.[1] ?? ""
    const found = section.match(/ {2}<skill>\n[\s\S]*?\n {2}<\/skill>\n/g) ?? []
    entries = new Map(found.map((entry) => [/<name>(.*)<\/name>/.exec(entry)?.[1] ?? "", entry]))
    const [answer] = model.last().toolResults
    rows = JSON.parse(answer?.content ?? "").skills
  })
  afterAll(async () => {
    await host?.stop()
    await model?.stop()
    await sandbox?.remove()
  })

  test("holds each skill as we think it does, to the byte", async () => {
    const registry = await host.get<{ name: string; description: string; location: string }[]>("/skill")
    expect(registry).toHaveLength(101)
    const ours = registry.map(({ name, ...skill }) => [name, promptEntry({ name, ...skill })])
    expect(Object.fromEntries(entries)).toEqual(Object.fromEntries(ours))
  })

  test("costs about what `tokens` says: docs/reference/hosts.md names the deviations", () => {
    expect(rows).toHaveLength(101)
    const deviations = Object.keys(KINDS).map((kind) => {
      const own = rows.filter(({ id }) => id.startsWith(`${kind}-`))
      const estimate = own.reduce((sum, { tokens }) => sum + tokens, 0)
      const real = own.reduce((sum, { id }) => sum + tokensIn(entries.get(id) ?? ""), 0)
      return [kind, (100 * (estimate - real)) / real] as const
    })
    console.log("deviations in percent", Object.fromEntries(deviations))
    for (const [kind, percent] of deviations) expect(Math.abs(percent - (DEVIATIONS[kind] ?? 0)), kind).toBeLessThan(2)
  })
})
