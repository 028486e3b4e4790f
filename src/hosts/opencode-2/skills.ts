import { basename, dirname, join } from "node:path"
import { member } from "../../core/config-text.ts"
import { readFrontmatter } from "../../files/frontmatter.ts"
import { upwards } from "../../files/locations.ts"
import type { Judge, SkillRoot } from "../../files/skill-search.ts"
import { skillPathsIn } from "../documents.ts"
import { existingRoots, type Source } from "../sources.ts"

/**
 * Where OpenCode 2 looks for skills, low to high (2.0 sources): `skills` of `.claude`, then of `.agents`, in the home
 * and from the outermost parent down; `skill` and `skills` of the global directory and of each `.opencode`; the
 * `skills` that documents name. The later root wins an id, in one root the later path.
 */
export async function skillRoots(
  home: string,
  configDirectory: string,
  directory: string,
  documents: readonly Source[],
): Promise<SkillRoot[]> {
  const parents = upwards(directory, "/").toReversed()
  const external = [".claude", ".agents"].flatMap((name) =>
    [home, ...parents].map((parent) => join(parent, name, "skills")),
  )
  const own = [configDirectory, ...parents.map((parent) => join(parent, ".opencode"))]
  const named = documents.flatMap((source) => skillPathsIn(source, { home, directory }) ?? [])
  const all = [...external, ...own.flatMap((place) => [join(place, "skill"), join(place, "skills")]), ...named]
  return existingRoots(all.map((path) => ({ directory: path, flat: true, hidden: false, off: false })))
}

/** `<root>/a/SKILL.md` and `<root>/a.md` are both `a` (measured on a live V2 build, July 2026). */
export const idFromPath = (path: string): string =>
  /^skill\.md$/i.test(basename(path)) ? basename(dirname(path)) : basename(path).replace(/\.md$/i, "")

/** The id comes from the path; a head is not needed, but one that is there must be sound (2.0 sources). */
export const judgeSkill: Judge = {
  idIn: "path",
  async judge(path, markdown) {
    const { node } = await readFrontmatter(markdown)
    const [name, description] = [member(node, "name"), member(node, "description")]
    const fault = () => {
      if (!node && /^\uFEFF?---/.test(markdown)) return "bad_frontmatter"
      if (name && name.type !== "string") return "bad_name"
      return description && description.type !== "string" ? "bad_description" : null
    }
    return { id: idFromPath(path), fault: fault() }
  },
}
