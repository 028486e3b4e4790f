import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from "node:fs"
import { dirname } from "node:path"
import { parseTree } from "jsonc-parser"
import { openHost } from "./host.ts"
import { sideBySide } from "./side-by-side.ts"
import { idOf, largeConfig, rulesetsOf, skillsOf } from "./world.ts"

const ROUNDS = 15
const MIB = 1024 * 1024
const SMALL = { skills: 60, agents: 7, rules: 0 }

/**
 * How many times as long as reading, parsing and durably writing a config of 1 MiB a whole `disable` in it takes: plan,
 * backup, journal, write, second look, answer. Both begin with the same bytes.
 */
export async function edit(): Promise<number> {
  const config = largeConfig(MIB)
  await using host = await openHost({ skills: skillsOf(SMALL.skills), rulesets: rulesetsOf(SMALL), config })
  const id = idOf(0)
  const ours = async () => {
    writeFileSync(host.configFile, config)
    const answer = await host.call({ action: "disable", id })
    if (answer.changed !== true) throw new Error(JSON.stringify(answer))
  }
  const theirs = () => {
    writeFileSync(host.configFile, config)
    const text = readFileSync(host.configFile, "utf8")
    if (!parseTree(text)) throw new Error("no config")
    writeDurably(host.configFile, text)
  }
  const times = await sideBySide(ROUNDS, ours, theirs)
  return times.ours / times.theirs
}

function writeDurably(path: string, text: string): void {
  const temporary = `${path}.new`
  const file = openSync(temporary, "w")
  writeSync(file, text)
  fsyncSync(file)
  closeSync(file)
  renameSync(temporary, path)
  const directory = openSync(dirname(path), "r")
  fsyncSync(directory)
  closeSync(directory)
}
