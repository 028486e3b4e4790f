import { type Node, parseTree } from "jsonc-parser"
import { describe, expect, test } from "vitest"
import { readConfigText } from "../../src/core/config-text.ts"
import type { SectionProblem } from "../../src/core/dialect/permission-map.ts"
import { type LayerDocument, readAgent, readDocument } from "../../src/core/document.ts"
import { hasOpenCode1Key } from "../../src/core/host-keys.ts"
import {
  attribute,
  type Model,
  modelOpenCode1,
  modelOpenCode2,
  predictRules,
  type Reading,
} from "../../src/core/predict.ts"
import type { Layer, LocatedRule, Rule } from "../../src/core/rule.ts"
import { type NaiveRule, naiveEffect } from "./reference.ts"

const HOME = "/home/u"

const doc = (text: string, layer: Layer = "global", file = "opencode.jsonc"): LayerDocument =>
  readDocument(
    readConfigText(text, () => undefined),
    layer,
    file,
  )

const triples = (rules: readonly Rule[]): NaiveRule[] =>
  rules.map(({ action, resource, effect }) => [action, resource, effect])
const places = (rules: readonly LocatedRule[]) =>
  rules.map(({ resource, origin: { layer, file, line, column, agent } }) =>
    [resource, layer, file, line, column, ...(agent === undefined ? [] : [agent])].join(" "),
  )

const one = (texts: readonly string[], agent = "build") =>
  triples(
    modelOpenCode1(
      texts.map((text) => doc(text)),
      HOME,
    ).tail(agent),
  )
const two = (texts: readonly string[], reading: Reading, agent = "build") =>
  triples(
    modelOpenCode2(
      texts.map((text) => doc(text)),
      reading,
    ).tail(agent),
  )

/** A Markdown agent's frontmatter, given as JSON. */
function markdown(name: string, json: string, key: "agent" | "mode" = "agent"): LayerDocument {
  const problems: SectionProblem[] = []
  const locate = ({ offset }: Node) => ({
    origin: { layer: "global" as const, file: `${name}.md`, line: 1, column: offset + 1, agent: name },
  })
  const agent = readAgent(parseTree(json) as Node, key, name, locate, problems, true)
  const empty = { permission: null, tools: null, permissions: null, malformed: [], keys: new Set<string>() }
  return { layer: "global", file: `${name}.md`, ...empty, agents: [agent], problems }
}

/**
 * Global files, low to high (`project` last), and what `GET /agent` shows for `build` after its defaults. Observed on
 * OpenCode 1.18.34.
 */
const merges: {
  name: string
  files: string[]
  project?: string
  rules: NaiveRule[]
  effects?: Record<string, string>
}[] = [
  {
    name: "three global files, later wins, key keeps its first place",
    files: [
      '{"permission":{"skill":{"a":"deny","x":"allow"}}}',
      '{"permission":{"skill":{"b":"deny","x":"ask"}}}',
      '{"permission":{"skill":{"c":"deny","x":"deny"}}}',
    ],
    rules: [
      ["skill", "a", "deny"],
      ["skill", "x", "deny"],
      ["skill", "b", "deny"],
      ["skill", "c", "deny"],
    ],
  },
  {
    name: "string then object: the string is lost",
    files: ['{"permission":{"skill":"deny"}}', '{"permission":{"skill":{"c":"deny"}}}'],
    rules: [["skill", "c", "deny"]],
  },
  {
    name: "object then string: the object is lost",
    files: ['{"permission":{"skill":{"c":"deny"}}}', '{"permission":{"skill":"allow"}}'],
    rules: [["skill", "*", "allow"]],
  },
  {
    name: "string permission then object",
    files: ['{"permission":"ask"}', '{"permission":{"skill":{"c":"deny"}}}'],
    rules: [
      ["*", "*", "ask"],
      ["skill", "c", "deny"],
    ],
  },
  {
    name: "object then string permission: star comes last and wins",
    files: ['{"permission":{"skill":{"c":"deny"}}}', '{"permission":"ask"}'],
    rules: [
      ["skill", "c", "deny"],
      ["*", "*", "ask"],
    ],
  },
  {
    name: "project overrides a value at the global place",
    files: ['{"permission":{"skill":{"*":"allow","a":"deny"}}}'],
    project: '{"permission":{"skill":{"*":"deny"}}}',
    rules: [
      ["skill", "*", "deny"],
      ["skill", "a", "deny"],
    ],
  },
  {
    name: "project adds a star after a global deny",
    files: ['{"permission":{"skill":{"a":"deny"}}}'],
    project: '{"permission":{"skill":{"*":"ask"}}}',
    rules: [
      ["skill", "a", "deny"],
      ["skill", "*", "ask"],
    ],
  },
  {
    name: "last match wins in written order",
    files: ['{"permission":{"skill":{"a":"deny","*":"allow"}}}'],
    rules: [
      ["skill", "a", "deny"],
      ["skill", "*", "allow"],
    ],
    effects: { a: "allow" },
  },
  {
    name: "star permission key after skill",
    files: ['{"permission":{"skill":{"a":"deny"},"*":"ask"}}'],
    rules: [
      ["skill", "a", "deny"],
      ["*", "*", "ask"],
    ],
    effects: { a: "ask" },
  },
  {
    name: "star permission key before skill",
    files: ['{"permission":{"*":"ask","skill":{"a":"deny"}}}'],
    rules: [
      ["*", "*", "ask"],
      ["skill", "a", "deny"],
    ],
    effects: { a: "deny" },
  },
  {
    name: "a pattern as permission name",
    files: ['{"permission":{"sk*":"deny"}}'],
    rules: [["sk*", "*", "deny"]],
    effects: { a: "deny" },
  },
  { name: "empty skill map", files: ['{"permission":{"skill":{}}}'], rules: [], effects: { a: "allow" } },
  {
    name: "integer-like keys first",
    files: ['{"permission":{"skill":{"b":"deny","2":"deny","1":"ask"}}}'],
    rules: [
      ["skill", "1", "ask"],
      ["skill", "2", "deny"],
      ["skill", "b", "deny"],
    ],
  },
  {
    name: "duplicate key: last value, first place",
    files: ['{"permission":{"skill":{"a":"deny","*":"allow","a":"ask"}}}'],
    rules: [
      ["skill", "a", "ask"],
      ["skill", "*", "allow"],
    ],
    effects: { a: "allow" },
  },
]

describe("OpenCode 1", () => {
  test.each(merges)("observed: $name", ({ files, project, rules, effects = {} }) => {
    const layers = [...files.map((text) => doc(text)), ...(project ? [doc(project, "project")] : [])]
    const model = modelOpenCode1(layers, HOME)
    expect(triples(model.tail("build"))).toEqual(rules)
    const all = [["*", "*", "allow"] as const, ...triples(model.tail("build"))]
    for (const [id, effect] of Object.entries(effects)) expect([id, naiveEffect(all, id)]).toEqual([id, effect])
  })

  test("rules that cannot speak about skills are left out", () => {
    expect(
      one(['{"permission":{"bash":"deny","edit":{"*":"ask"},"skill":"ask","s*":"deny","webfetch":"deny"}}']),
    ).toEqual([
      ["skill", "*", "ask"],
      ["s*", "*", "deny"],
    ])
  })

  test("nothing said", () => {
    expect(one([])).toEqual([])
    expect(one(["", "{}", '{"permission":{}}', '{"model":"x"}'])).toEqual([])
  })

  describe("an agent's own section comes after everything at the top", () => {
    const text = '{"permission":{"skill":{"a":"deny"}},"agent":{"build":{"permission":{"skill":{"a":"allow"}}}}}'
    test.each<[name: string, agent: string, rules: NaiveRule[]]>([
      [
        "the agent itself",
        "build",
        [
          ["skill", "a", "deny"],
          ["skill", "a", "allow"],
        ],
      ],
      ["another agent", "plan", [["skill", "a", "deny"]]],
    ])("%s", (_, agent, rules) => {
      expect(one([text], agent)).toEqual(rules)
    })

    test("a string for all of its permissions, a string for skills", () => {
      expect(one(['{"agent":{"build":{"permission":"ask"}}}'])).toEqual([["*", "*", "ask"]])
      expect(one(['{"agent":{"build":{"permission":{"skill":"deny"}}}}'])).toEqual([["skill", "*", "deny"]])
    })

    test("layers merge as at the top: the first place, the last value", () => {
      const low = '{"agent":{"build":{"permission":{"skill":{"a":"deny","b":"deny"}}}}}'
      const high = '{"agent":{"build":{"permission":{"skill":{"c":"ask","a":"allow"}}}}}'
      expect(one([low, high])).toEqual([
        ["skill", "a", "allow"],
        ["skill", "b", "deny"],
        ["skill", "c", "ask"],
      ])
    })

    test("of one that stands twice in a file the last counts", () => {
      const section = (rules: string) => `"build":{"permission":{"skill":{${rules}}}}`
      expect(one([`{"agent":{${section('"a":"deny"')},${section('"b":"ask"')}}}`])).toEqual([["skill", "b", "ask"]])
    })

    test("`mode` lies over `agent`, whichever is written first and in whichever layer", () => {
      const expected: NaiveRule[] = [
        ["skill", "a", "ask"],
        ["skill", "b", "deny"],
      ]
      const agent = '"agent":{"build":{"permission":{"skill":{"a":"allow","b":"deny"}}}}'
      const mode = '"mode":{"build":{"permission":{"skill":{"a":"ask"}}}}'
      expect(one([`{${agent},${mode}}`])).toEqual(expected)
      expect(one([`{${mode},${agent}}`])).toEqual(expected)
      expect(one([`{${mode}}`, `{${agent}}`])).toEqual(expected)
    })

    test("its tools lie below its own permission, over the top (a case run on 1.18.34)", () => {
      const text =
        '{"tools":{"skill":false},"agent":{"build":{"tools":{"skill":true},"permission":{"bash":"ask"}}},' +
        '"mode":{"build":{"permission":{"skill":{"z":"deny"}}}}}'
      expect(one([text])).toEqual([
        ["skill", "*", "deny"],
        ["skill", "z", "deny"],
      ])
    })

    test("its own permission replaces its tools key by key", () => {
      expect(one(['{"agent":{"build":{"permission":{"skill":{"a":"allow"}},"tools":{"skill":false}}}}'])).toEqual([
        ["skill", "a", "allow"],
      ])
    })

    test("`permissions` and `agents` mean nothing here", () => {
      expect(one(['{"agents":{"build":{"permission":{"skill":"deny"}}}}'])).toEqual([])
    })

    test("the frontmatter of a Markdown agent merges like any other layer", () => {
      const layers = [
        doc('{"agent":{"build":{"permission":{"skill":{"a":"deny"}}}}}'),
        markdown("build", '{"permission":{"skill":{"a":"ask","b":"deny"}},"permissions":[]}'),
      ]
      expect(triples(modelOpenCode1(layers, HOME).tail("build"))).toEqual([
        ["skill", "a", "ask"],
        ["skill", "b", "deny"],
      ])
    })
  })

  describe("tools have the lowest rank of all", () => {
    test.each<[name: string, texts: string[], rules: NaiveRule[]]>([
      ["alone", ['{"tools":{"skill":false}}'], [["skill", "*", "deny"]]],
      ["switched on", ['{"tools":{"skill":true}}'], [["skill", "*", "allow"]]],
      ["all tools", ['{"tools":{"*":false}}'], [["*", "*", "deny"]]],
      ["other tools", ['{"tools":{"bash":false,"write":true}}'], []],
      [
        "a map replaces it",
        ['{"tools":{"skill":false},"permission":{"skill":{"a":"deny"}}}'],
        [["skill", "a", "deny"]],
      ],
      ["a string replaces it", ['{"permission":{"skill":"ask"},"tools":{"skill":false}}'], [["skill", "*", "ask"]]],
      [
        "even from a higher layer",
        ['{"permission":{"skill":"ask"}}', '{"tools":{"skill":false}}'],
        [["skill", "*", "ask"]],
      ],
      [
        "… and keeps its first place",
        ['{"permission":{"*":"ask","skill":"allow"},"tools":{"skill":false}}'],
        [
          ["skill", "*", "allow"],
          ["*", "*", "ask"],
        ],
      ],
      ["an empty map replaces it too", ['{"tools":{"skill":false},"permission":{"skill":{}}}'], []],
      [
        "a later layer's tools win",
        ['{"tools":{"skill":false}}', '{"tools":{"skill":true}}'],
        [["skill", "*", "allow"]],
      ],
    ])("%s", (_, texts, rules) => {
      expect(one(texts)).toEqual(rules)
    })
  })

  test.each([
    ["~", "/home/u"],
    ["~/x/*", "/home/u/x/*"],
    ["$HOME", "/home/u"],
    ["$HOME/x", "/home/u/x"],
    ["$HOMEx", "/home/ux"],
    ["~x", "~x"],
    ["x~", "x~"],
    ["x/~/y", "x/~/y"],
    ["a$HOME", "a$HOME"],
    ["$home", "$home"],
  ])("the pattern %j is read as %j", (pattern, resource) => {
    expect(one([JSON.stringify({ permission: { skill: { [pattern]: "deny" } } })])).toEqual([
      ["skill", resource, "deny"],
    ])
  })

  test("home is for patterns only, not for permission names", () => {
    expect(one(['{"permission":{"~":"deny","*":{"~":"ask"}}}'])).toEqual([["*", "/home/u", "ask"]])
  })

  describe("the order of JavaScript's object keys", () => {
    test.each<[name: string, texts: string[], rules: NaiveRule[]]>([
      [
        "integers ascend by value, in front of all else",
        ['{"permission":{"skill":{"*":"allow","10":"deny","9":"ask"}}}'],
        [
          ["skill", "9", "ask"],
          ["skill", "10", "deny"],
          ["skill", "*", "allow"],
        ],
      ],
      [
        "only canonical ones below 2^32 - 1 count as integers",
        [
          '{"permission":{"skill":{"01":"deny","-1":"deny","1.0":"deny","1e3":"deny","":"deny","4294967295":"deny","4294967294":"ask","0":"ask"}}}',
        ],
        [
          ["skill", "0", "ask"],
          ["skill", "4294967294", "ask"],
          ["skill", "01", "deny"],
          ["skill", "-1", "deny"],
          ["skill", "1.0", "deny"],
          ["skill", "1e3", "deny"],
          ["skill", "", "deny"],
          ["skill", "4294967295", "deny"],
        ],
      ],
      [
        "across layers",
        ['{"permission":{"skill":{"b":"deny"}}}', '{"permission":{"skill":{"7":"deny"}}}'],
        [
          ["skill", "7", "deny"],
          ["skill", "b", "deny"],
        ],
      ],
    ])("%s", (_, texts, rules) => {
      expect(one(texts)).toEqual(rules)
    })

    test.each<[name: string, text: string, rules: NaiveRule[]]>([
      [
        "a duplicate section",
        '{"permission":{"skill":{"a":"deny"}},"permission":{"skill":{"b":"deny"}}}',
        [["skill", "b", "deny"]],
      ],
      [
        "a duplicate skill map",
        '{"permission":{"skill":{"a":"deny"},"*":"ask","skill":{"b":"deny"}}}',
        [
          ["skill", "b", "deny"],
          ["*", "*", "ask"],
        ],
      ],
      [
        "a duplicate key with another type",
        '{"permission":{"skill":{"a":"deny"},"skill":"ask"}}',
        [["skill", "*", "ask"]],
      ],
    ])("%s: the last one, in the place of the first", (_, text, rules) => {
      expect(one([text])).toEqual(rules)
    })

    test("`__proto__` is no key of a config", () => {
      expect(one(['{"permission":{"skill":{"__proto__":"deny","a":"ask"}}}'])).toEqual([["skill", "a", "ask"]])
      expect(one(['{"permission":{"__proto__":{"a":"deny"},"skill":"ask"}}'])).toEqual([["skill", "*", "ask"]])
      expect(Object.getPrototypeOf({})).toBe(Object.prototype)
    })

    test("names that every object has are plain keys", () => {
      expect(one(['{"permission":{"skill":{"constructor":"deny","toString":"ask"}}}'], "constructor")).toEqual([
        ["skill", "constructor", "deny"],
        ["skill", "toString", "ask"],
      ])
    })
  })

  test("a rule's place is that of the value that counts, in the file that it comes from", () => {
    const layers = [
      doc(
        '{\n  "permission": {\n    "skill": { "a": "deny", "b": "ask" }\n  },\n  "tools": {"skill": true}\n}',
        "global",
        "/c/opencode.json",
      ),
      doc('{"permission":\r\n{"skill":{"c":"deny",\r\n"a":"ask"}}}', "project", "/p/opencode.json"),
      doc('{"agent":{"build":{"permission":{"skill":"deny"}}}}', "explicit", "/e.json"),
    ]
    const model = modelOpenCode1(layers, HOME)
    expect(places(model.tail("build"))).toEqual([
      "a project /p/opencode.json 3 1",
      "b global /c/opencode.json 3 29",
      "c project /p/opencode.json 2 11",
      "* explicit /e.json 1 34 build",
    ])
    expect(places(model.globalRun())).toEqual(["a global /c/opencode.json 3 16", "b global /c/opencode.json 3 29"])
  })

  test("a string section has a place too", () => {
    expect(places(modelOpenCode1([doc('{ "permission": "ask" }', "global", "f")], HOME).tail("x"))).toEqual([
      "* global f 1 17",
    ])
  })
})

describe("problems are told with their offset, and what the host refuses yields no rule", () => {
  test.each<[text: string, problems: [number, string][]]>([
    ['{"permission":1}', [[14, "unexpected_type"]]],
    ['{"permission":"no"}', [[14, "unknown_effect"]]],
    ['{"permission":{"skill":null}}', [[23, "unexpected_type"]]],
    ['{"permission":{"skill":["a"]}}', [[23, "unexpected_type"]]],
    ['{"permission":{"skill":{"a":"hide"}}}', [[28, "unknown_effect"]]],
    ['{"permission":{"skill":{"a":true}}}', [[28, "unexpected_type"]]],
    ['{"permission":{"skill":{"a":{"b":"deny"}}}}', [[28, "unexpected_type"]]],
    ['{"tools":{"skill":"deny"}}', [[18, "unexpected_type"]]],
    ['{"tools":[]}', [[9, "unexpected_type"]]],
    ['{"permissions":{}}', [[15, "unexpected_type"]]],
    ['{"permissions":[1]}', [[16, "unexpected_type"]]],
    ['{"permissions":[{"action":"skill","resource":"a"}]}', [[16, "unexpected_type"]]],
    ['{"agent":{"b":{"permission":7}}}', [[28, "unexpected_type"]]],
    ['{"permission":{"skill":{"a":"deny"}}}', []],
    ['{"permission":{"__proto__":7,"skill":{"__proto__":7}}}', []],
    ["{}", []],
  ])("%s", (text, problems) => {
    const found = doc(text)
    expect(found.problems.map(({ offset, reason }) => [offset, reason])).toEqual(problems)
    if (problems.length > 0) expect(one([text], "b")).toEqual([])
  })

  test("an unparsable text says nothing at all", () => {
    const found = doc('{"permission":{"skill":"deny"}')
    expect([found.permission, found.tools, found.permissions, found.agents, found.problems]).toEqual([
      null,
      null,
      null,
      [],
      [],
    ])
  })
})

describe("OpenCode 2", () => {
  const A = '{"action":"skill","resource":"a","effect":"deny"}'
  const array = (...resources: string[]) =>
    `[${resources.map((resource) => JSON.stringify({ action: "skill", resource, effect: "deny" })).join(",")}]`

  describe.each<[Reading]>([["by-section"], ["by-document"]])("read %s", (reading) => {
    test.each<[name: string, texts: string[], rules: NaiveRule[]]>([
      ["nothing", ["{}", ""], []],
      [
        "an array, in order",
        [`{"permissions":${array("b", "a", "b")}}`],
        [
          ["skill", "b", "deny"],
          ["skill", "a", "deny"],
          ["skill", "b", "deny"],
        ],
      ],
      [
        "arrays concatenate",
        [`{"permissions":${array("a")}}`, `{"permissions":${array("b")}}`],
        [
          ["skill", "a", "deny"],
          ["skill", "b", "deny"],
        ],
      ],
      [
        "a map",
        ['{"permission":{"*":"ask","skill":{"a":"deny"}}}'],
        [
          ["*", "*", "ask"],
          ["skill", "a", "deny"],
        ],
      ],
      [
        "two maps do not merge",
        ['{"permission":{"skill":{"a":"deny"}}}', '{"permission":{"skill":{"a":"allow"}}}'],
        [
          ["skill", "a", "deny"],
          ["skill", "a", "allow"],
        ],
      ],
      [
        "a string is not lost below a map",
        ['{"permission":{"skill":"ask"}}', '{"permission":{"skill":{"a":"deny"}}}'],
        [
          ["skill", "*", "ask"],
          ["skill", "a", "deny"],
        ],
      ],
      [
        "integer-like keys of a map come first",
        ['{"permission":{"skill":{"b":"deny","2":"ask"}}}'],
        [
          ["skill", "2", "ask"],
          ["skill", "b", "deny"],
        ],
      ],
      [
        "array elements do not",
        [`{"permissions":${array("b", "2")}}`],
        [
          ["skill", "b", "deny"],
          ["skill", "2", "deny"],
        ],
      ],
      ["tools", ['{"tools":{"skill":false}}'], [["skill", "*", "deny"]]],
      [
        "tools stay below the map, both count",
        ['{"permission":{"skill":{"a":"allow"}},"tools":{"skill":false}}'],
        [
          ["skill", "*", "deny"],
          ["skill", "a", "allow"],
        ],
      ],
      ["home stays as written", ['{"permission":{"skill":{"~/x":"deny"}}}'], [["skill", "~/x", "deny"]]],
      [
        "other actions are left out",
        [
          '{"permissions":[{"action":"bash","resource":"*","effect":"deny"},{"action":"*","resource":"*","effect":"ask"}]}',
        ],
        [["*", "*", "ask"]],
      ],
      [
        "`__proto__` in an array is a plain id",
        [`{"permissions":${array("__proto__")}}`],
        [["skill", "__proto__", "deny"]],
      ],
      [
        "more fields in an element do no harm",
        ['{"permissions":[{"x":1,"effect":"ask","resource":"a","action":"skill"}]}'],
        [["skill", "a", "ask"]],
      ],
    ])("%s", (_, texts, rules) => {
      expect(two(texts, reading)).toEqual(rules)
    })

    test("every top-level rule comes before any agent's own", () => {
      const own = `{"agents":{"build":{"permissions":${array("own")}}}}`
      expect(two([own, `{"permissions":${array("a")}}`], reading)).toEqual([
        ["skill", "a", "deny"],
        ["skill", "own", "deny"],
      ])
      expect(two([own], reading, "plan")).toEqual([])
    })
  })

  /** A document with keys of both generations. */
  const both = `{"permissions":${array("arr")},"tools":{"skill":false},"permission":{"skill":{"map":"ask"}}}`

  test("mixed, 2.0: tools, then the map, then the array, in whatever order they are written", () => {
    expect(two([both], "by-section")).toEqual([
      ["skill", "*", "deny"],
      ["skill", "map", "ask"],
      ["skill", "arr", "deny"],
    ])
  })

  test("mixed, betas: the whole document is one of OpenCode 1, its array lost", () => {
    expect(two([both], "by-document")).toEqual([
      ["skill", "*", "deny"],
      ["skill", "map", "ask"],
    ])
  })

  const KEYS =
    "logLevel server command reference snapshot plugin autoshare disabled_providers enabled_providers small_model mode agent provider permission tools attachment layout"
  test.each(KEYS.split(" "))("betas lose the array beside the key %s", (key) => {
    const text = `{"${key}":{},"permissions":${array("a")}}`
    expect(two([text], "by-document")).toEqual([])
    expect(two([text], "by-section")).toEqual([["skill", "a", "deny"]])
    expect(hasOpenCode1Key(new Set([key]))).toBe(true)
  })

  test.each(["model", "permissions", "agents", "plugins", "$schema", "share", "mcp", "instructions"])(
    "no build loses it beside the key %s",
    (key) => {
      const text = key === "permissions" ? `{"permissions":${array("a")}}` : `{"${key}":{},"permissions":${array("a")}}`
      expect(two([text], "by-document")).toEqual([["skill", "a", "deny"]])
      expect(hasOpenCode1Key(new Set([key]))).toBe(false)
    },
  )

  test("one document's keys say nothing about the next", () => {
    expect(two(['{"provider":{}}', `{"permissions":${array("a")}}`], "by-document")).toEqual([["skill", "a", "deny"]])
  })

  test.each<[name: string, element: string]>([
    ["without an effect", '{"action":"skill","resource":"x"}'],
    ["with an unknown effect", '{"action":"skill","resource":"x","effect":"hide"}'],
    ["with an action that is no text", '{"action":1,"resource":"x","effect":"deny"}'],
    ["with a resource that is no text", '{"action":"skill","resource":1,"effect":"deny"}'],
    ["that is no object", '"deny"'],
    ["that is null", "null"],
  ])("a malformed element is skipped by 2.0 and loses the betas the document: %s", (_, element) => {
    const texts = [`{"permissions":[${element},${A}]}`, `{"permissions":${array("b")}}`]
    expect(two(texts, "by-section")).toEqual([
      ["skill", "a", "deny"],
      ["skill", "b", "deny"],
    ])
    expect(two(texts, "by-document")).toEqual([["skill", "b", "deny"]])
  })

  test.each<[name: string, text: string, rules: NaiveRule[]]>([
    [
      "an OpenCode 1 document with a malformed array",
      '{"permission":{"skill":{"a":"deny"}},"permissions":"x"}',
      [["skill", "a", "deny"]],
    ],
    [
      "an OpenCode 1 document with a malformed array in `agent` and in `agents`",
      `{"permission":{"skill":{"a":"deny"}},"agent":{"build":{"permissions":7}},"agents":{"build":{"permissions":7}}}`,
      [["skill", "a", "deny"]],
    ],
    [
      "an array document with a malformed map in an agent",
      `{"permissions":${array("a")},"agents":{"build":{"permission":7,"tools":{"skill":"x"},"permissions":${array("b")}}}}`,
      [
        ["skill", "a", "deny"],
        ["skill", "b", "deny"],
      ],
    ],
    [
      "a value that a later one of the same key replaces",
      '{"permission":{"skill":{"a":"never","a":"ask"}}}',
      [["skill", "a", "ask"]],
    ],
    [
      "an array document, in an agent's array",
      `{"permissions":${array("a")},"agents":{"build":{"permissions":7}}}`,
      [],
    ],
    ["a map document, in an agent's map", '{"permission":{"skill":"deny"},"agent":{"plan":{"permission":7}}}', []],
    ["a map document, in its tools", '{"permission":{"skill":"deny"},"tools":{"skill":"yes"}}', []],
  ])("what is malformed where the betas do not look loses nothing: %s", (_, text, rules) => {
    expect(two([text], "by-document")).toEqual(rules)
  })

  test("of an agent that stands twice in a document the last counts", () => {
    const text = `{"agents":{"build":{"permissions":${array("a")}},"plan":{},"build":{"permissions":${array("b")}}}}`
    for (const reading of ["by-section", "by-document"] as const)
      expect(two([text], reading)).toEqual([["skill", "b", "deny"]])
  })

  test.each<[form: string, word: string, document: (agent: string) => string, starts: boolean]>([
    ["OpenCode 1", "disable", (agent) => `{"agent":{"build":${agent}}}`, true],
    ["OpenCode 1", "disabled", (agent) => `{"agent":{"build":${agent}}}`, false],
    ["OpenCode 2", "disabled", (agent) => `{"agents":{"build":${agent}}}`, true],
    ["OpenCode 2", "disable", (agent) => `{"agents":{"build":${agent}}}`, false],
  ])("an agent that is disabled starts anew, in a document of %s by the word `%s`", (_, word, document, starts) => {
    const own = `{"permission":{"skill":{"a":"deny"}},"permissions":${array("a")}}`
    const texts = [document(own), document(`{"${word}":true}`), `{"agents":{"build":{"permissions":${array("b")}}}}`]
    const rules: NaiveRule[] = starts
      ? [["skill", "b", "deny"]]
      : [
          ["skill", "a", "deny"],
          ["skill", "b", "deny"],
        ]
    expect(two(texts, "by-document")).toEqual(rules)
  })

  describe("agents", () => {
    test("own rules of all layers, in layer order", () => {
      const text = (id: string) => `{"agents":{"build":{"permissions":${array(id)}}}}`
      expect(two([text("low"), text("high")], "by-section")).toEqual([
        ["skill", "low", "deny"],
        ["skill", "high", "deny"],
      ])
    })

    test("in an agent too, its tools are rules of their own below its map", () => {
      const text = '{"agents":{"build":{"tools":{"skill":false},"permission":{"skill":{"a":"allow"}}}}}'
      expect(two([text], "by-section")).toEqual([
        ["skill", "*", "deny"],
        ["skill", "a", "allow"],
      ])
    })

    test("the OpenCode 1 keys of an agent count in an OpenCode 1 document", () => {
      const text = '{"agent":{"build":{"permission":{"skill":"deny"}}}}'
      expect(two([text], "by-section")).toEqual([["skill", "*", "deny"]])
      expect(two([text], "by-document")).toEqual([["skill", "*", "deny"]])
    })

    test("`agents` in a document that betas read as one of OpenCode 1 is lost", () => {
      const text = `{"provider":{},"agents":{"build":{"permissions":${array("a")}}}}`
      expect(two([text], "by-section")).toEqual([["skill", "a", "deny"]])
      expect(two([text], "by-document")).toEqual([])
    })

    test.each<[name: string, json: string, rules: NaiveRule[]]>([
      ["an array", `{"description":"d","mode":"all","permissions":${array("a")}}`, [["skill", "a", "deny"]]],
      ["an array beside a key of no OpenCode 2 agent is lost", `{"temperature":1,"permissions":${array("a")}}`, []],
      ["a map", '{"permission":{"skill":{"a":"ask"}}}', [["skill", "a", "ask"]]],
      [
        "a map wins over an array",
        `{"permission":{"skill":{"a":"ask"}},"permissions":${array("b")}}`,
        [["skill", "a", "ask"]],
      ],
      ["nothing", '{"description":"d"}', []],
      ["`__proto__`, a key of YAML", '{"permission":{"skill":{"__proto__":"ask"}}}', [["skill", "__proto__", "ask"]]],
      [
        "a map, and an array that is none",
        '{"permission":{"skill":{"a":"ask"}},"permissions":"x"}',
        [["skill", "a", "ask"]],
      ],
    ])("a Markdown agent with %s", (_, json, rules) => {
      for (const reading of ["by-section", "by-document"] as const)
        expect(triples(modelOpenCode2([markdown("build", json)], reading).tail("build"))).toEqual(rules)
    })
  })

  test("places, and the global run", () => {
    const layers = [
      doc(`{\n  "permissions": [\n    ${A}\n  ]\n}`, "global", "/c/opencode.json"),
      doc(`{"permissions":${array("p")}}`, "project", "/p/opencode.json"),
      doc(`{"agents":{"build":{"permissions":${array("own")}}}}`, "global", "/c/opencode.jsonc"),
    ]
    const model = modelOpenCode2(layers, "by-section")
    expect(places(model.tail("build"))).toEqual([
      "a global /c/opencode.json 3 5",
      "p project /p/opencode.json 1 17",
      "own global /c/opencode.jsonc 1 36 build",
    ])
    expect(places(model.globalRun())).toEqual(["a global /c/opencode.json 3 5"])
  })
})

describe("attribute: the model laid over the host's sequence", () => {
  const rule = ([action, resource, effect]: NaiveRule): Rule => ({ action, resource, effect })
  const real = (...list: NaiveRule[]) => list.map(rule)
  const tail = (...list: NaiveRule[]): LocatedRule[] =>
    list.map((triple, i) => ({ ...rule(triple), origin: { layer: "global", file: "f", line: i + 1, column: 1 } }))
  const ALLOW: NaiveRule = ["*", "*", "allow"]
  const DENY: NaiveRule = ["*", "*", "deny"]
  const layersOf = (rules: readonly LocatedRule[]) => rules.map(({ origin }) => origin.layer)

  test("an exact tail gets its places, the rest is the host's", () => {
    const found = attribute(real(ALLOW, DENY, ["skill", "a", "deny"]), tail(["skill", "a", "deny"]), true)
    expect(triples(found.base ?? [])).toEqual([ALLOW, DENY])
    expect(layersOf(found.rules)).toEqual(["host-default", "built-in-agent", "global"])
    expect(found.rules[2]?.origin).toEqual({ layer: "global", file: "f", line: 1, column: 1 })
    expect(found.rules[0]?.origin).toEqual({ layer: "host-default", file: null, line: null, column: null })
  })

  test("what is no default and not the config's is unknown for an agent that is not the host's own", () => {
    const found = attribute(real(ALLOW, DENY, ["skill", "a", "deny"]), tail(["skill", "a", "deny"]), false)
    expect(layersOf(found.rules)).toEqual(["host-default", "unknown", "global"])
  })

  test("rules about other things are passed over, wherever they stand", () => {
    const seen = real(
      ALLOW,
      ["bash", "*", "ask"],
      ["skill", "a", "deny"],
      ["edit", "*", "deny"],
      ["skill", "b", "deny"],
      ["read", "*", "ask"],
    )
    const found = attribute(seen, tail(["skill", "a", "deny"], ["skill", "b", "deny"]), true)
    expect(triples(found.rules)).toEqual([ALLOW, ["skill", "a", "deny"], ["skill", "b", "deny"]])
    expect(found.base).toHaveLength(1)
  })

  test("no tail: fine where the host has nothing but rules for everything", () => {
    expect(attribute(real(ALLOW, DENY), [], true).base).toHaveLength(2)
    expect(attribute([], [], true)).toEqual({ base: [], rules: [] })
    expect(attribute(real(ALLOW, ["skill", "a", "deny"]), [], true).base).toBe(null)
  })

  test.each<[name: string, real: NaiveRule[], tail: NaiveRule[]]>([
    ["a rule of the model is missing", [ALLOW], [["skill", "a", "deny"]]],
    ["one effect differs", [ALLOW, ["skill", "a", "ask"]], [["skill", "a", "deny"]]],
    [
      "the order differs",
      [ALLOW, ["skill", "b", "deny"], ["skill", "a", "deny"]],
      [
        ["skill", "a", "deny"],
        ["skill", "b", "deny"],
      ],
    ],
    ["another rule follows", [ALLOW, ["skill", "a", "deny"], ["skill", "x", "ask"]], [["skill", "a", "deny"]]],
    [
      "the model has more than the host",
      [["skill", "a", "deny"]],
      [
        ["*", "*", "ask"],
        ["skill", "a", "deny"],
      ],
    ],
  ])("%s: everything stays unknown, nothing is lost", (_, seen, model) => {
    const found = attribute(real(...seen), tail(...model), true)
    expect(found.base).toBe(null)
    expect(triples(found.rules)).toEqual(seen)
    expect(new Set(layersOf(found.rules))).toEqual(new Set(["unknown"]))
  })

  describe("predictRules", () => {
    const model = (run: NaiveRule[], own: NaiveRule[] = []): Model => ({
      tail: (agent) => [...tail(...run), ...(agent === "build" ? tail(...own) : [])],
      globalRun: () => tail(...run),
      complete: false,
      ignored: () => [],
      secrets: () => [],
    })
    const predict = (seen: NaiveRule[], loaded: Model, next: Model, agent = "build") => {
      const rules = predictRules(real(...seen), agent, true, loaded, next)
      return rules && triples(rules)
    }
    const a: NaiveRule = ["skill", "a", "deny"]
    const b: NaiveRule = ["skill", "b", "deny"]
    const x: NaiveRule = ["skill", "x", "ask"]

    test("an exact tail makes way for the next one, the agent's own included", () => {
      expect(predict([ALLOW, a, x], model([a], [x]), model([a, b], [b]))).toEqual([ALLOW, a, b, b])
      expect(predict([ALLOW, a], model([a]), model([]))).toEqual([ALLOW])
      expect(predict([ALLOW, DENY], model([]), model([a]), "explore")).toEqual([ALLOW, DENY, a])
    })

    test("an agent that a plugin rewrote: the global run, found once, is replaced in its place", () => {
      expect(predict([ALLOW, x, a, b, x], model([a, b]), model([a]))).toEqual([ALLOW, x, a, x])
      expect(predict([a, b, x], model([a, b]), model([b, a, x]))).toEqual([b, a, x, x])
      expect(predict([ALLOW, a, b, DENY], model([a, b]), model([]))).toEqual([ALLOW, DENY])
    })

    test("only the global run moves then, not the agent's own section", () => {
      expect(predict([ALLOW, a, x, b], model([a], [x]), model([b], [a]))).toEqual([ALLOW, b, x, b])
    })

    test("a run found twice: no guess", () => {
      expect(predict([ALLOW, a, x, a, x], model([a]), model([b]))).toBe(null)
      expect(predict([ALLOW, ALLOW, x], model([ALLOW]), model([DENY]))).toBe(null)
    })

    test("overlapping finds are two", () => {
      expect(predict([a, a, a, x], model([a, a]), model([b]))).toBe(null)
    })

    test("an empty run, or one that is not there: no guess", () => {
      expect(predict([ALLOW, x], model([]), model([a]))).toBe(null)
      expect(predict([ALLOW, x, b], model([a]), model([b]))).toBe(null)
      expect(predict([ALLOW, a, x, b, x], model([a, b]), model([b]))).toBe(null)
    })

    test("an agent without any rules, and no config: nothing to replace, all to add", () => {
      expect(predict([], model([]), model([a]))).toEqual([a])
    })
  })
})
