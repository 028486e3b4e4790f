import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, relative } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { findSkillFiles, type Judge, type SkillRoot } from "../../src/files/skill-search.ts"
import { judgeSkill as judgeOnOpenCode1 } from "../../src/hosts/opencode-1/skills.ts"
import { judgeSkill as judgeOnOpenCode2 } from "../../src/hosts/opencode-2/skills.ts"

let root: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "skill-search-")))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const head = (lines: string) => `---\n${lines}\n---\nBody.\n`
const sound = (name: string) => head(`name: ${name}\ndescription: d`)

function put(path: string, text: string): void {
  const file = join(root, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

const place = (name: string, given: Partial<SkillRoot> = {}): SkillRoot => ({
  directory: join(root, name),
  flat: false,
  hidden: false,
  off: false,
  ...given,
})

const find = async (roots: readonly SkillRoot[], wanted: string, judge: Judge) =>
  (await findSkillFiles(roots, wanted, judge)).map(({ path, id, fault }) => [relative(root, path), id, fault])

describe("files of a name", () => {
  test("are those that claim it, in the order of the roots", async () => {
    put("low/one/SKILL.md", sound("pdf"))
    put("high/pdf/SKILL.md", sound("pdf"))
    put("high/other/SKILL.md", sound("other"))
    put("high/other/notes.md", sound("pdf"))
    expect(await find([place("low"), place("high"), place("gone")], "pdf", judgeOnOpenCode1)).toEqual([
      ["low/one/SKILL.md", "pdf", null],
      ["high/pdf/SKILL.md", "pdf", null],
    ])
  })

  test("on OpenCode 2 are called after their path, flat ones in the root too", async () => {
    put("skills/pdf.md", "No head.\n")
    put("skills/team/pdf/SKILL.md", head("name: Anything"))
    put("skills/team/docx.md", "Not in the root.\n")
    const roots = [place("skills", { flat: true })]
    expect(await find(roots, "pdf", judgeOnOpenCode2)).toEqual([
      ["skills/pdf.md", "pdf", null],
      ["skills/team/pdf/SKILL.md", "pdf", null],
    ])
    expect(await find(roots, "docx", judgeOnOpenCode2)).toEqual([["skills/team/docx.md", null, "wrong_file_name"]])
    expect(await find(roots, "Anything", judgeOnOpenCode2)).toEqual([])
  })

  test.each([
    ["bad-yaml", "name: [", "bad_frontmatter"],
    ["bad-name", "name: 7", "bad_name"],
    ["bad-text", "description: 7", "bad_description"],
  ])("on OpenCode 2 need a sound head, if any: %s", async (id, lines, fault) => {
    put(`skills/${id}/SKILL.md`, head(lines))
    expect(await find([place("skills", { flat: true })], id, judgeOnOpenCode2)).toEqual([
      [`skills/${id}/SKILL.md`, id, fault],
    ])
  })

  test("that the host knows are what it says, and are not opened", async () => {
    put("skills/pdf/SKILL.md", sound("docx"))
    put("skills/docx/SKILL.md", sound("docx"))
    const registered = new Map([[join(root, "skills/pdf/SKILL.md"), "pdf"]])
    const found = async (wanted: string) =>
      (await findSkillFiles([place("skills")], wanted, judgeOnOpenCode1, registered)).map(({ path }) =>
        relative(root, path),
      )
    expect(await found("pdf")).toEqual(["skills/pdf/SKILL.md"])
    expect(await found("docx")).toEqual(["skills/docx/SKILL.md"])
  })

  test("that belong to another skill are none", async () => {
    put("skills/office/SKILL.md", sound("office"))
    put("skills/office/references/pdf.md", "How to.\n")
    expect(await find([place("skills")], "pdf", judgeOnOpenCode1)).toEqual([])
  })

  test("in hidden directories, or where a host does not look, say so", async () => {
    put("skills/.old/pdf/SKILL.md", sound("pdf"))
    put("claude/pdf/SKILL.md", sound("pdf"))
    expect(await find([place("skills"), place("claude", { off: true })], "pdf", judgeOnOpenCode1)).toEqual([
      ["skills/.old/pdf/SKILL.md", "pdf", "hidden_directory"],
      ["claude/pdf/SKILL.md", "pdf", "not_searched"],
    ])
    expect(await find([place("skills", { hidden: true })], "pdf", judgeOnOpenCode1)).toEqual([
      ["skills/.old/pdf/SKILL.md", "pdf", null],
    ])
  })

  test("that are no files, or lead nowhere, are named and not opened", async () => {
    mkdirSync(join(root, "skills/pdf/SKILL.md"), { recursive: true })
    mkdirSync(join(root, "skills/docx"))
    symlinkSync("/nowhere", join(root, "skills/docx/SKILL.md"))
    expect(await find([place("skills")], "pdf", judgeOnOpenCode1)).toEqual([
      ["skills/pdf/SKILL.md", null, "unreadable"],
    ])
    expect(await find([place("skills")], "docx", judgeOnOpenCode1)).toEqual([
      ["skills/docx/SKILL.md", null, "unreadable"],
    ])
  })
})

describe("links", () => {
  test("are followed; what several lead to counts once", async () => {
    put("elsewhere/pdf/SKILL.md", sound("pdf"))
    mkdirSync(join(root, "skills"))
    symlinkSync(join(root, "elsewhere/pdf"), join(root, "skills/a"))
    symlinkSync(join(root, "elsewhere/pdf"), join(root, "skills/b"))
    expect(await find([place("skills"), place("elsewhere")], "pdf", judgeOnOpenCode1)).toEqual([
      ["skills/a/SKILL.md", "pdf", null],
    ])
  })

  test("that form a loop come to an end", async () => {
    put("skills/deep/pdf/SKILL.md", sound("pdf"))
    symlinkSync("..", join(root, "skills/deep/up"))
    symlinkSync(root, join(root, "skills/deep/out"))
    expect(await find([place("skills")], "pdf", judgeOnOpenCode1)).toEqual([["skills/deep/pdf/SKILL.md", "pdf", null]])
  })
})

test("a tree without end is left after a thousand directories, the wanted name's first", async () => {
  for (let i = 0; i < 1_100; i++) mkdirSync(join(root, "skills", `d${String(i).padStart(4, "0")}`), { recursive: true })
  put("skills/d1098/SKILL.md", sound("late"))
  put("skills/pdf/SKILL.md", sound("pdf"))
  expect(await find([place("skills")], "late", judgeOnOpenCode1)).toEqual([])
  expect(await find([place("skills")], "pdf", judgeOnOpenCode1)).toEqual([["skills/pdf/SKILL.md", "pdf", null]])
})
