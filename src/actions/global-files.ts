import { join } from "node:path"
import { findExact } from "../core/candidates.ts"
import { type ConfigText, distinctProperties, member } from "../core/config-text.ts"
import type { Dialect } from "../core/dialect/section.ts"
import type { LayerDocument } from "../core/document.ts"
import { hasOpenCode1Key } from "../core/host-keys.ts"
import type { GlobalFile } from "../core/world.ts"
import type { Host, Observation } from "./ports.ts"

/** The global files as the plan sees them, in load order. */
export function globalFiles(host: Host, seen: Observation): GlobalFile[] {
  const documents = new Map(seen.layers(new Map()).map((document) => [document.file, document]))
  return [...seen.globals].map(([name, text]) => {
    const path = join(host.configDirectory, name)
    const document = documents.get(path)
    const fault = host.generation === "opencode-1" && text && document ? startObstacle(text, document) : null
    return { name, path, text, fault }
  })
}

/** What keeps OpenCode 1.18.34 from starting on a config that parses: a bad section, or one of OpenCode 2. */
function startObstacle(text: ConfigText, document: LayerDocument): GlobalFile["fault"] {
  const [problem] = document.problems
  if (problem) return { ...text.position(problem.offset), reason: problem.reason }
  if ([document, ...document.agents].every(({ permissions }) => permissions === null)) return null
  const sections = [
    text.tree,
    ...["agent", "agents", "mode"].flatMap((key) =>
      distinctProperties(member(text.tree, key)).map((agent) => agent.value),
    ),
  ]
  const array = sections.map((section) => member(section, "permissions")).find((node) => node !== undefined)
  return array ? { ...text.position(array.offset), reason: "opencode_2_array" } : null
}

const keysOf = (file: GlobalFile): ReadonlySet<string> =>
  new Set((file.text?.tree?.children ?? []).map((property) => String(property.children?.[0]?.value)))

/**
 * The form in which new rules are written into a file. OpenCode 1 does not start on an array. On OpenCode 2 the form
 * follows the document: its array if it has one; else the map where OpenCode 1 reads the document too; else an array.
 */
export function dialectFor(host: Host, file: GlobalFile, configJson: boolean): { dialect: Dialect; note: string } {
  if (host.generation === "opencode-1")
    return { dialect: "permission", note: "OpenCode 1 reads rules from the `permission` map only" }
  const keys = keysOf(file)
  // A first key of OpenCode 1 would make early builds of OpenCode 2 lose the whole array.
  if (keys.has("permissions") && !hasOpenCode1Key(keys))
    return { dialect: "permissions", note: `${file.name} holds a \`permissions\` array` }
  if (host.options.dialect !== "auto")
    return { dialect: host.options.dialect, note: `the plugin option \`dialect\` asks for \`${host.options.dialect}\`` }
  if (keys.has("permissions")) return { dialect: "permissions", note: `${file.name} holds \`permissions\`` }
  if (keys.has("permission")) return { dialect: "permission", note: `${file.name} holds a \`permission\` map` }
  if (hasOpenCode1Key(keys))
    return { dialect: "permission", note: `${file.name} holds keys of OpenCode 1, which reads it too` }
  if (configJson)
    return { dialect: "permission", note: "`config.json` lies beside it, so OpenCode 1 reads this directory too" }
  return { dialect: "permissions", note: `${file.name} holds no rules of the older form` }
}

/**
 * The forms to try, best first. Beside keys of OpenCode 1 early builds of OpenCode 2 lose the array; a map is read
 * there by all of them.
 */
export function dialectsFor(host: Host, file: GlobalFile, configJson: boolean): Dialect[] {
  const { dialect } = dialectFor(host, file, configJson)
  const fallback = dialect === "permissions" && host.options.dialect === "auto" && hasOpenCode1Key(keysOf(file))
  return fallback ? [dialect, "permission"] : [dialect]
}

/** Files in the order in which a new rule prefers them: with a skill section, last loaded first; then by name. */
export function preferredFiles(host: Host, files: readonly GlobalFile[]): GlobalFile[] {
  const withSection = files.filter(hasSkillSection).toReversed()
  const byName = host.preferredNames.flatMap((name) => files.filter((file) => file.name === name && file.text !== null))
  const existing = [...new Set([...withSection, ...byName])]
  return existing.length > 0 ? existing : files.filter((file) => file.name === host.preferredNames[0])
}

function hasSkillSection(file: GlobalFile): boolean {
  const tree = file.text?.tree
  if (member(member(tree, "permission"), "skill")) return true
  const elements = member(tree, "permissions")?.children ?? []
  return elements.some((element) => member(element, "action")?.value === "skill")
}

/** The file that a write would target, and why. `id` narrows it to the file that already holds that rule. */
export function targetFile(host: Host, files: readonly GlobalFile[], id?: string): { file: GlobalFile; why: string } {
  const holder = id === undefined ? undefined : findExact(files, id).at(-1)?.file
  if (holder) return { file: holder, why: `${holder.name} already holds a rule for it` }
  const [first] = preferredFiles(host, files)
  if (!first) throw new Error("a host has at least one global file name")
  if (hasSkillSection(first))
    return { file: first, why: `${first.name} holds skill rules and is loaded last of those that do` }
  if (first.text !== null) return { file: first, why: `${first.name} is the first global file that exists` }
  return { file: first, why: `no global file exists yet; ${first.name} would be made` }
}
