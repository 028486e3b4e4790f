import { decide, trace } from "../core/evaluate.ts"
import { type LocatedRule, shownRule } from "../core/rule.ts"
import { readSkillFiles } from "../files/skill-files.ts"
import type { InspectBody, Next, Notice } from "../tool/answer-schema.ts"
import { bytesOf, cut, fitted } from "../tool/budget.ts"
import { envelope, type Outcome, render } from "../tool/envelope.ts"
import type { Request } from "../tool/input.ts"
import { notice } from "../tool/notices.ts"
import { isProblem, type Problem, registryUnavailable } from "../tool/problems.ts"
import { modelDiffers } from "./differing.ts"
import { findSkill } from "./find-skill.ts"
import { duplicatesOf, explainMissing } from "./namesakes.ts"
import type { Host, HostSkill } from "./ports.ts"
import { unlistedReason } from "./prompt.ts"
import { modelReach } from "./reach.ts"
import { readSidecar } from "./records.ts"
import { rowsOf } from "./rows.ts"
import { conclusionOf } from "./wording.ts"
import { type Agent, ignoredRule, lookAround, type Scene, stateOf } from "./world.ts"

const MAX_RULES = 100
const MAX_AGENTS = 60
const MAX_DUPLICATES = 10
/** A change creates fewer; a record by another hand may name any number. */
const MAX_SECTIONS = 10
/** In bytes of the answer, where hidden characters are written out. */
const MAX_DESCRIPTION = 8_192

/** `inspect`: one skill, the rule that decides for each agent, and where it stands. Writes nothing. */
export async function inspect(host: Host, request: Request, given: readonly Notice[]): Promise<Outcome | Problem> {
  const scene = await lookAround(host, request.agent)
  if (isProblem(scene)) return scene
  const skill = findSkill(scene.skills, request)
  if (isProblem(skill)) return explainMissing(scene, skill, request)
  const { caller } = scene
  if (!caller || skill.id === null) return registryUnavailable()
  const id = skill.id
  const row = rowsOf(scene)(skill)
  const long = bytesOf(render({ description: row.description })) > MAX_DESCRIPTION
  const files = await readSkillFiles(skill.path)
  const record = (await readSidecar(host)).records.findLast(
    (candidate) => candidate.id === id && candidate.generation === host.generation,
  )
  const duplicates = await duplicatesOf(scene, skill, files.realPath)
  const decision = decide(caller.now, id)
  const conclusion = conclusionOf({
    id,
    agent: caller.id,
    decision,
    matching: trace(caller.now, id).flatMap((index) => caller.attributed.rules[index] ?? []),
    unlisted: row.unlisted ?? null,
    pending: row.pending === undefined || !scene.next ? null : decide(scene.next, id).effect,
    ignored: ignoredRule(scene, caller.id, id, decision.effect),
    home: host.home,
  })
  const reachability = {
    model: modelReach(caller, skill, id),
    user: await host.userReach(skill, decision.effect),
  }
  const notices = [...given, ...scene.notices, ...noticesOf(scene, row.pending !== undefined, duplicates)]
  const outcome = (share: number): Outcome => ({
    body: {
      conclusion,
      skill: {
        ...row,
        ...(long && { description: null, truncated: ["description"] }),
        realPath: files.realPath,
        flags: { ...files.flags },
        supportingFiles: files.supportingFiles,
        ...cut("duplicates", duplicates, MAX_DUPLICATES),
        record: record
          ? {
              ...record,
              ...cut(
                "sections",
                (record.sections ?? []).map(({ path, was }) => ({ ...cut("path", path, MAX_SECTIONS), was })),
                MAX_SECTIONS,
              ),
            }
          : null,
      },
      idDerivation: { from: skill.idFrom, note: DERIVATION[host.generation][skill.idFrom] },
      ...views(scene, caller, skill, id, share),
      reachability: { ...reachability, user: { ...reachability.user, reasons: [...reachability.user.reasons] } },
    } satisfies InspectBody,
    notices,
    next: nextOf(id, decision.effect),
  })
  return fitted(outcome, (built) => envelope("inspect", host, built))
}

const DERIVATION = {
  "opencode-1": {
    registry: "OpenCode 1 matches rules against the registry name",
    name: "OpenCode 1 matches rules against the name in the frontmatter",
    path: "the registry has no name for it; the folder's name is taken",
  },
  "opencode-2": {
    registry: "OpenCode 2 matches rules against the registry id, which comes from the path",
    name: "OpenCode 2 matches rules against the registry id, which comes from the path",
    path: "the registry has no id for it; the one of its path is taken",
  },
} as const

/** Every rule that matters, once, and for each agent which of them decides. */
function views(scene: Scene, caller: Agent, skill: HostSkill, id: string, share: number) {
  const rules: LocatedRule[] = []
  const known = new Map<string, number>()
  const indexOf = (rule: LocatedRule): number => {
    const key = JSON.stringify(rule)
    const index = known.get(key) ?? rules.push(rule) - 1
    known.set(key, index)
    return index
  }
  const traced = trace(caller.now, id).flatMap((index) => caller.attributed.rules[index] ?? [])
  const indexes = traced.map(indexOf)
  const view = (agent: Agent) => {
    const { effect, rule } = decide(agent.now, id)
    const deciding = rule === null ? undefined : agent.attributed.rules[rule]
    const unlisted = unlistedReason(stateOf(effect), agent.skillTool, skill)
    return {
      id: agent.id,
      hidden: agent.hidden,
      mode: agent.mode,
      state: stateOf(effect),
      explicit: rule !== null,
      rule: deciding ? indexOf(deciding) : null,
      ...(unlisted && { unlisted }),
    }
  }
  const agents = cut("agents", scene.agents.map(view), Math.ceil(MAX_AGENTS * share))
  const shown = (index: number) => index < Math.ceil(MAX_RULES * share)
  return {
    ...cut("rules", rules.map(shownRule), Math.ceil(MAX_RULES * share)),
    ...agents,
    agents: agents.agents.map((agent) => ({
      ...agent,
      rule: agent.rule !== null && shown(agent.rule) ? agent.rule : null,
    })),
    caller: { ...view(caller), verified: scene.verified, ...cut("trace", indexes.filter(shown), MAX_RULES) },
  }
}

function noticesOf(scene: Scene, pending: boolean, duplicates: readonly string[]): Notice[] {
  const differs = modelDiffers(
    scene,
    scene.agents.filter((agent) => agent.attributed.base === null),
  )
  return [
    ...(pending ? [notice("restart_pending")] : []),
    ...differs,
    ...(duplicates.length > 0 && !scene.host.winnerIsFixed ? [notice("winner_not_stable")] : []),
  ]
}

const nextOf = (id: string, effect: string): Next[] =>
  effect === "deny"
    ? [{ why: "what it takes to get it back", input: { action: "enable", id, dryRun: true } }]
    : [{ why: "what hiding it would change", input: { action: "disable", id, dryRun: true } }]
