import type { Request } from "../tool/input.ts"
import { nearNames } from "../tool/near.ts"
import { invalidInput, nameAmbiguous, type Problem, skillNotFound } from "../tool/problems.ts"
import type { HostSkill } from "./ports.ts"

/** The skill that a call names by `id`, by `name`, or by both if they agree. */
export function findSkill(skills: readonly HostSkill[], request: Request): HostSkill | Problem {
  const { id, name } = request
  const byId = id === undefined ? undefined : skills.find((skill) => skill.id === id)
  if (id !== undefined && !byId) return skillNotFound(id, suggestions(skills, id))
  const byName = name === undefined ? [] : skills.filter((skill) => skill.name === name)
  if (name !== undefined && byName.length === 0) return skillNotFound(name, suggestions(skills, name))
  if (byId && name !== undefined && !byName.includes(byId))
    return invalidInput("`id` and `name` name different skills", "give one of them", { field: "name" })
  const [first, second] = byName
  if (!byId && second)
    return nameAmbiguous(
      name ?? "",
      byName.flatMap((skill) => skill.id ?? []),
    )
  const found = byId ?? first
  if (!found) throw new Error("a decoded call names a skill")
  return found
}

/** The names most like a wanted one. */
export const suggestions = (skills: readonly HostSkill[], wanted: string): string[] =>
  nearNames(wanted, [...new Set(skills.flatMap((skill) => [skill.id, skill.name].filter((text) => text !== null)))])
