import { member } from "../core/config-text.ts"
import { compareSidecar } from "../core/sidecar.ts"
import type { GlobalFile } from "../core/world.ts"
import { elsewhere, isFileProblem, readConfigFile } from "../files/config-file.ts"
import { type Intent, unfinishedChanges } from "../files/journal.ts"
import type { ListBody, Next, Notice } from "../tool/answer-schema.ts"
import { cut } from "../tool/budget.ts"
import type { Outcome } from "../tool/envelope.ts"
import type { Request } from "../tool/input.ts"
import { notice } from "../tool/notices.ts"
import { configUnparsable, invalidInput, isProblem, type Problem } from "../tool/problems.ts"
import { modelDiffers } from "./differing.ts"
import { keeps } from "./filter.ts"
import { dialectFor, globalFiles, targetFile } from "./global-files.ts"
import { cursorBehind, fillPage, inOrder, type Page, resume } from "./page.ts"
import type { Host, HostSkill } from "./ports.ts"
import { globalSkillRules, readSidecar, type Sidecar } from "./records.ts"
import { summaryOf } from "./summary.ts"
import { lookAround, type Scene, stateIn } from "./world.ts"

const MAX_CHANGES = 10
const MAX_CONSISTENCY = 20

/** `list`: every skill, its state for the caller, and what the tool would write to. Writes nothing. */
export async function list(host: Host, request: Request, given: readonly Notice[]): Promise<Outcome | Problem> {
  const scene = await lookAround(host, request.agent)
  if (isProblem(scene)) return scene
  const filtered = inOrder(scene.skills).filter(keeps(scene, request))
  const traits = Object.entries(request.where ?? {}).sort()
  const filter = JSON.stringify([request.match, traits, request.query, request.agent])
  const from = request.cursor === undefined ? 0 : resume(request.cursor, filter, filtered)
  if (from === null) {
    const hint = "start again without `cursor`, with the same filters"
    return invalidInput("the cursor does not belong to this call", hint, { field: "cursor" })
  }
  const rest = filtered.slice(from)
  const files = globalFiles(host, scene.observation)
  const target = targetFile(host, files)
  // Not before the look, for another call may have written meanwhile; and no later, so that all is read while we count.
  const reads = Promise.all([
    readSidecar(host),
    unfinishedChanges(host.stateDirectory).catch(() => []),
    elsewhere(target.file.path),
    configProblem(files),
  ])
  const summary = summaryOf(scene)
  const rules = globalSkillRules(scene.observation)
  const [sidecar, unfinished, realFile, problem] = await reads
  const details = from === 0 && request.limit !== 0 ? detailsOf(scene, target, realFile, rules, sidecar) : () => ({})
  const holders = [...new Set(rules.map(({ file }) => file))]
  const notices = [
    ...given,
    ...scene.notices,
    ...unfinishedNotice(unfinished),
    ...(summary.pending ? [notice("restart_pending")] : []),
    ...(scene.caller && !scene.next ? modelDiffers(scene, [scene.caller]) : []),
    ...(holders.length > 1 ? [notice("both_files", { files: holders })] : []),
  ]
  const offered = nextOf(scene, filtered)
  const { cursor: _, ...call } = request
  const page: Page = (rows, share) => {
    const missing = rows.length < rest.length && request.limit !== 0
    const nextCursor = missing && rows.length > 0 ? cursorBehind(from + rows.length - 1, filter, filtered) : null
    const found = missing || from > 0 ? [notice("rows_missing", { shown: rows.length, total: filtered.length })] : []
    return {
      body: {
        callerAgent: { id: scene.caller?.id ?? null, verified: scene.verified },
        summary: summary.counts(share),
        skills: [...rows],
        page: { total: filtered.length, returned: rows.length, nextCursor },
        ...details(share),
      } satisfies ListBody,
      notices: [...found, ...notices],
      next:
        nextCursor === null ? offered : [{ why: "the next page", input: { ...call, cursor: nextCursor } }, ...offered],
      ...(problem && { problem }),
    }
  }
  return fillPage(scene, request, rest, page)
}

type Details = Pick<ListBody, "config" | "sidecar" | "consistency">

function detailsOf(
  { host, observation, skills }: Scene,
  { file, why }: ReturnType<typeof targetFile>,
  realFile: string | null,
  rules: ReturnType<typeof globalSkillRules>,
  sidecar: Sidecar,
): (share: number) => Details {
  const { dialect, note } = dialectFor(host, file, observation.configJson)
  const registered = new Set(skills.map(({ id }) => id))
  const records = sidecar.records.filter((record) => record.generation === host.generation)
  const findings = compareSidecar(records, rules, registered)
  const most = (share: number) => Math.ceil(MAX_CONSISTENCY * share)
  return (share) => ({
    config: {
      file: file.path,
      ...(realFile && { realFile }),
      configDir: host.configDirectory,
      configDirs: [...host.configDirectories],
      hadPermissions: member(file.text?.tree, "permissions")?.type === "array",
      dialect,
      notes: [why, note],
    },
    sidecar: { file: sidecar.path, ok: sidecar.error === null, error: sidecar.error },
    consistency: {
      ...cut("staleSidecarIds", findings.staleSidecarIds, most(share)),
      ...cut("unrecordedRules", findings.unrecordedRules, most(share)),
      ...cut("missingFromRegistry", findings.missingFromRegistry, most(share)),
    },
  })
}

function unfinishedNotice(unfinished: readonly Intent[]): Notice[] {
  const newestFirst = unfinished.map(({ change }) => change).toReversed()
  return unfinished.length > 0 ? [notice("unfinished_change", cut("changes", newestFirst, MAX_CHANGES))] : []
}

async function configProblem(files: readonly GlobalFile[]): Promise<Problem | undefined> {
  const broken = files.find(({ text }) => text?.error)
  if (!broken?.text?.error) return undefined
  const found = await readConfigFile(broken.path)
  const lossy = !isFileProblem(found) && found.lossy
  return configUnparsable({ file: broken.path, ...broken.text.error, ...(lossy && { reason: "NotUtf8" }) })
}

function nextOf(scene: Scene, skills: readonly HostSkill[]): Next[] {
  const isHidden = (skill: HostSkill) => stateIn(scene.caller?.now ?? null, skill) !== "available"
  const named = skills.filter(({ id }) => id !== null)
  const skill = named.find(isHidden) ?? named[0]
  return skill ? [{ why: "why this skill is as it is", input: { action: "inspect", id: skill.id } }] : []
}
