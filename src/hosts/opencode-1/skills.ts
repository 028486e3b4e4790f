import { join } from "node:path"
import { member } from "../../core/config-text.ts"
import { readFrontmatter } from "../../files/frontmatter.ts"
import { upwards } from "../../files/locations.ts"
import type { Judge, SkillRoot } from "../../files/skill-search.ts"
import { skillPathsIn } from "../documents.ts"
import { existingRoots, type Source } from "../sources.ts"
import { configDirectories, isTruthy, type Places } from "./layers.ts"

/**
 * Where OpenCode 1 looks for `SKILL.md` files (read in the code of 1.18.34, confirmed on the host): `skills` of
 * `.claude` and `.agents`, in the home and upwards from the directory; `skill` and `skills` of each configuration
 * directory, hidden ones below left out; the `skills.paths` of the last layer that has any.
 */
export async function skillRoots(places: Places, loaded: readonly Source[]): Promise<SkillRoot[]> {
  const { env } = process
  const parents = upwards(places.directory, places.worktree)
  const noClaude = isTruthy(env.OPENCODE_DISABLE_CLAUDE_CODE) || isTruthy(env.OPENCODE_DISABLE_CLAUDE_CODE_SKILLS)
  const noExternal = isTruthy(env.OPENCODE_DISABLE_EXTERNAL_SKILLS)
  const external = [places.home, ...parents].flatMap((parent) =>
    [".claude", ".agents"].map((name) => ({
      directory: join(parent, name, "skills"),
      flat: false,
      hidden: true,
      off: noExternal || (noClaude && name === ".claude"),
    })),
  )
  const projectAllowed = !isTruthy(env.OPENCODE_DISABLE_PROJECT_CONFIG)
  const own = await configDirectories(places, projectAllowed ? parents : [])
  const paths = loaded.map((source) => skillPathsIn(source, places)).findLast((found) => found !== null)
  const plain = [
    ...own.flatMap(({ directory }) => [join(directory, "skill"), join(directory, "skills")]),
    ...(paths ?? []),
  ].map((directory) => ({ directory, flat: false, hidden: false, off: false }))
  return existingRoots([...external, ...plain])
}

/** The registry takes the frontmatter's `name`; without one, or with a wrong type, it passes over the file silently. */
export const judgeSkill: Judge = {
  idIn: "head",
  async judge(_, markdown) {
    const { node } = await readFrontmatter(markdown)
    const name: unknown = member(node, "name")?.value
    const description = member(node, "description")
    const fault = () => {
      if (!node) return "bad_frontmatter"
      if (name === undefined) return "no_name"
      if (typeof name !== "string") return "bad_name"
      return description && description.type !== "string" ? "bad_description" : null
    }
    return { id: typeof name === "string" ? name : null, fault: fault() }
  },
}
