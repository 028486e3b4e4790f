import { createHash } from "node:crypto"
import { decide } from "../core/evaluate.ts"
import { compareIds } from "../core/order.ts"
import { dialectFor } from "./global-files.ts"
import type { Rehearsal } from "./rehearse.ts"

/** What a plan's token covers, in its order. */
const PARTS = ["documents", "request", "targets", "effects"] as const

/**
 * Says what was rehearsed, in four joined digests, so that an apply can tell whether it would do just that. It keeps
 * no state anywhere, and it is no consent.
 */
export const tokenOf = (rehearsal: Rehearsal): string => PARTS.map((part) => digest(CONTENT[part](rehearsal))).join(".")

/** The parts in which a rehearsal differs from the one that a token stands for. */
export function differingParts(token: string, rehearsal: Rehearsal): string[] {
  const given = token.split(".")
  const now = tokenOf(rehearsal).split(".")
  return PARTS.filter((_, i) => given[i] !== now[i])
}

const CONTENT: Record<(typeof PARTS)[number], (rehearsal: Rehearsal) => unknown> = {
  documents: ({ scene, world }) =>
    world.files.map((file) => [
      file.path,
      file.text?.raw ?? null,
      dialectFor(scene.host, file, scene.observation.configJson).dialect,
    ]),
  request: ({ request }) => {
    const { plan: _, dryRun: __, where, ...rest } = request
    return [sorted(rest), sorted(where ?? {})]
  },
  targets: ({ targets }) => targets.map(({ id, path, before, after }) => [id, path, before, after]),
  effects: ({ draft, targets }) => [
    draft.changes.map(({ file, after }) => [file.path, after]),
    draft.records,
    draft.outcomes.map(({ agent, before, after }) => [
      agent.id,
      targets.map(({ id }) => [decide(before, id).effect, decide(after, id).effect]),
    ]),
  ],
}

/** The order of an object's keys says nothing. */
const sorted = (fields: object): unknown => Object.entries(fields).sort(([a], [b]) => compareIds(a, b))

/** 96 bits. */
const DIGEST_CHARACTERS = 16

const digest = (content: unknown): string =>
  createHash("sha256").update(JSON.stringify(content)).digest("base64url").slice(0, DIGEST_CHARACTERS)
