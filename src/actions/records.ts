import { basename, join } from "node:path"
import { mapRules } from "../core/dialect/permission-map.ts"
import { speaksOfSkills } from "../core/evaluate.ts"
import type { Rule } from "../core/rule.ts"
import { decodeSidecar, encodeSidecar, type SidecarRecord } from "../core/sidecar.ts"
import { SIDECAR_NAME } from "../files/locations.ts"
import { readSidecarText, writeSidecarText } from "../files/sidecar-file.ts"
import type { Host, Observation } from "./ports.ts"

/** The sidecar as it stands: its records, or why they cannot be used. */
export interface Sidecar {
  readonly path: string
  readonly text: string | null
  readonly records: readonly SidecarRecord[]
  readonly error: string | null
}

export async function readSidecar(host: Host): Promise<Sidecar> {
  const path = join(host.configDirectory, SIDECAR_NAME)
  const read = await readSidecarText(path)
  if ("error" in read) return { path, text: null, records: [], error: read.error }
  const decoded = decodeSidecar(read.text)
  if (typeof decoded === "string") return { path, text: read.text, records: [], error: decoded }
  return { path, text: read.text, records: decoded, error: null }
}

/** Writes the records; without any there is no sidecar, as before the first change. An error code, or null. */
export async function writeSidecar(sidecar: Sidecar, records: readonly SidecarRecord[]): Promise<string | null> {
  const error = await writeSidecarText(sidecar.path, sidecar.text, records.length > 0 ? encodeSidecar(records) : null)
  // A link is the user's, and stays.
  return error === "link" ? writeSidecarText(sidecar.path, sidecar.text, encodeSidecar([])) : error
}

/** The skill rules that stand at the top level of the global files, with the file's name. */
export function globalSkillRules(seen: Observation): (Rule & { readonly file: string; readonly secret?: true })[] {
  return seen.layers(new Map()).flatMap((layer) => {
    if (layer.layer !== "global" || layer.file === null || (layer.agents.length > 0 && layer.keys.size === 0)) return []
    const file = basename(layer.file)
    const rules = [...mapRules(layer.permission ?? new Map(), (pattern) => pattern), ...(layer.permissions ?? [])]
    return rules
      .filter((rule) => rule.action === "skill" && speaksOfSkills(rule))
      .map(({ action, resource, effect, secret }) => ({ action, resource, effect, file, ...(secret && { secret }) }))
  })
}
