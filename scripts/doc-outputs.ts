import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { debugAgent } from "../test/hosts/opencode-1/host.ts"
import { demo, demoHome, tidyPaths } from "./demo.ts"
import { packInto } from "./pack.ts"

export const README = fileURLToPath(new URL("../README.md", import.meta.url))

/** Every output that the README shows, made anew on the real host, by the name in its `<!-- output: name -->`. */
export async function docOutputs(): Promise<ReadonlyMap<string, string>> {
  const lines: string[] = []
  await demo((line) => lines.push(line))
  return new Map([
    ["demo", lines.join("\n")],
    ["inspect", await inspectOutput()],
  ])
}

async function inspectOutput(): Promise<string> {
  const packed = mkdtempSync(join(tmpdir(), "skill-management-docs-"))
  const sandbox = await demoHome(packInto(packed))
  try {
    const params = { action: "inspect", id: "lark-mail" }
    const { json } = await debugAgent(sandbox, "build", { tool: "skill_management", params })
    const result = Object(Object(json).result)
    return tidyPaths(sandbox, String(result.output))
  } finally {
    await sandbox.remove()
    rmSync(packed, { recursive: true, force: true })
  }
}

const BLOCK = /<!-- output: (\S+) -->\n```(\w*)\n([\s\S]*?)```/g

/** The blocks of the README by name. */
export const shownOutputs = (): ReadonlyMap<string, string> =>
  new Map([...readFileSync(README, "utf8").matchAll(BLOCK)].map(([, name = "", , text = ""]) => [name, text.trimEnd()]))

/** The README with these outputs in its blocks. */
export const withOutputs = (outputs: ReadonlyMap<string, string>): string =>
  readFileSync(README, "utf8").replace(
    BLOCK,
    (_, name: string, language: string) =>
      `<!-- output: ${name} -->\n\`\`\`${language}\n${outputs.get(name) ?? ""}\n\`\`\``,
  )
