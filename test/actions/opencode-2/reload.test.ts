import {
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, describe, expect, it } from "vitest"
import { type Alter, arrayOf, codes, DELAY, eventually, NEVER, rule, SIDECAR, start, stop } from "./harness.ts"

afterEach(stop)

describe("a host that reloads", () => {
  it.each(["beta", "2.0"] as const)("%s is asked until it agrees", async (build) => {
    const { disable, enable, effect } = await start({ build, reloadDelayMs: 650 })
    expect(await disable("a")).toMatchObject({ verification: { method: "host", ok: true }, takesEffect: "now" })
    expect(await effect("a")).toBe("deny")
    expect(await enable("a")).toMatchObject({ verification: { method: "host", ok: true }, takesEffect: "now" })
    expect(await effect("a")).toBe("allow")
  })

  it("is not asked again once it agrees", async () => {
    let looks = 0
    const { disable } = await start({ alter: () => void looks++ })
    await disable("a")
    const seen = looks
    await sleep(5 * DELAY)
    expect(looks).toBe(seen)
  })

  // An editor saved the file a moment ago: the host still has the old rules.
  it.each<[string, string, string, "changed" | "unchanged"]>([
    ["the first rule went", arrayOf(["a", "deny"], ["b", "ask"]), arrayOf(["b", "ask"]), "changed"],
    ["the last rule went", arrayOf(["b", "ask"], ["a", "deny"]), arrayOf(["b", "ask"]), "changed"],
    ["all rules went", arrayOf(["a", "deny"]), "{}", "changed"],
    ["the rule came first", arrayOf(["b", "ask"]), arrayOf(["a", "deny"], ["b", "ask"]), "unchanged"],
    ["the rule came last", arrayOf(["b", "ask"]), arrayOf(["b", "ask"], ["a", "deny"]), "unchanged"],
  ])("is waited for where %s", async (_, before, after, outcome) => {
    const { disable, host, text, effect } = await start({ reloadDelayMs: 400, config: { "opencode.json": before } })
    host.config("opencode.json", after)
    const reply = await disable("a")
    expect(reply).toMatchObject({ ok: true, changed: outcome === "changed", after: "deny" })
    expect(reply.reason).toBe(outcome === "changed" ? "rule_added" : "already_disabled")
    expect(text("opencode.json")).toContain('"a"')
    await eventually(() => effect("a")).toBe("deny")
  })

  it("is waited for before a rule is said to be built in", async () => {
    const { inspect, host } = await start({
      reloadDelayMs: 400,
      config: { "opencode.json": arrayOf(["a", "deny"], ["b", "ask"]) },
    })
    host.config("opencode.json", arrayOf(["b", "ask"]))
    const { caller, rules } = await inspect("a")
    const decided = rules[caller.rule ?? -1]
    expect([caller.state, decided?.origin.layer]).toEqual(["available", "host-default"])
  })
})

describe("a host that never reloads", () => {
  it("gets the change at its next start", async () => {
    const { disable, effect, effectAfterRestart, text } = await start({ reloadDelayMs: NEVER, hurried: true })
    const reply = await disable("a")
    expect(reply).toMatchObject({
      ok: true,
      changed: true,
      before: "allow",
      after: "deny",
      verification: { method: "simulated", ok: true },
      takesEffect: "restart",
      sidecar: { written: true },
    })
    expect(codes(reply)).toEqual(["host_not_reloaded"])
    expect(text("opencode.jsonc")).toContain('"a"')
    expect(text(SIDECAR)).toContain('"a"')
    expect([await effect("a"), await effectAfterRestart("a")]).toEqual(["allow", "deny"])
  })

  it("takes the call that the answer offers next", async () => {
    const { disable, call, names } = await start({ reloadDelayMs: NEVER, hurried: true })
    const { next, change } = await disable("a")
    const [back] = next
    expect(back?.input).toEqual({ action: "undo", change })
    expect(await call("undo", { ...back?.input })).toMatchObject({ ok: true })
    expect(names()).toEqual([])
  })

  it("takes a second change", async () => {
    const { disable, text } = await start({ reloadDelayMs: NEVER, hurried: true })
    await disable("a")
    expect(await disable("b")).toMatchObject({ ok: true, takesEffect: "restart" })
    expect(text("opencode.jsonc")).toMatch(/"a"[\s\S]*"b"/)
  })
})

describe("a host that makes something else of it", () => {
  const asks =
    (id: string): Alter =>
    (agents) => {
      for (const { permissions } of agents)
        if (permissions.some((one) => one.resource === id && one.effect === "deny")) permissions.push(rule(id, "ask"))
    }

  it.each<[string, Record<string, string>]>([
    ["a document", { "opencode.json": '{ "model": "x/y" }\n' }],
    ["an array", { "opencode.jsonc": `{\n  "permissions": [\n    ${JSON.stringify(rule("b", "ask"))} // b\n  ]\n}\n` }],
    ["no file", {}],
  ])("gets its old bytes back: %s", async (_, config) => {
    const { disable, effect, text, names } = await start({ config, hurried: true, alter: asks("a") })
    const reply = await disable("a")
    expect(reply).toMatchObject({ ok: false, action: "disable", error: { code: "not_effective" } })
    expect(reply.error?.data).not.toHaveProperty("left")
    expect(names()).toEqual(Object.keys(config))
    for (const [name, before] of Object.entries(config)) expect(text(name)).toBe(before)
    await eventually(() => effect("a")).toBe("allow")
  })

  it("keeps the records that were there before", async () => {
    const { disable, text } = await start({ alter: asks("a") })
    await disable("b", { note: "n" })
    const [config, sidecar] = [text("opencode.jsonc"), text(SIDECAR)]
    expect(await disable("a")).toMatchObject({ ok: false, error: { code: "not_effective" } })
    expect([text("opencode.jsonc"), text(SIDECAR)]).toEqual([config, sidecar])
  })

  it("for one agent only is not enough", async () => {
    const { disable, names } = await start({
      hurried: true,
      alter: (agents) => asks("a")(agents.filter(({ id }) => id === "plan")),
    })
    expect(await disable("a")).toMatchObject({ ok: false, error: { code: "not_effective" } })
    expect(names()).toEqual([])
  })

  it("loses our rule alone where somebody else wrote meanwhile", async () => {
    const before = '{ "model": "x/y" }\n'
    const { disable, text, path } = await start({ config: { "opencode.json": before }, alter: asks("a") })
    const pending = disable("a")
    await eventually(() => text(SIDECAR) ?? "").toContain('"a"')
    writeFileSync(path("opencode.json"), (text("opencode.json") ?? "").replace("x/y", "other/model"))
    expect(await pending).toMatchObject({ ok: false, error: { code: "not_effective" } })
    expect(text("opencode.json")).toBe('{ "model": "other/model" }\n')
    expect(text(SIDECAR)).toBeNull()
  })

  it("leaves the change of another call of the same turn", async () => {
    const { disable, text, effect } = await start({ alter: asks("a") })
    const [first, second] = await Promise.all([disable("a"), disable("b")])
    expect(first).toMatchObject({ ok: false, error: { code: "not_effective" } })
    expect(second).toMatchObject({ ok: true, changed: true })
    expect(text("opencode.jsonc")).not.toContain('"a"')
    expect(text("opencode.jsonc")).toContain('"b"')
    expect(JSON.parse(text(SIDECAR) ?? "").records).toMatchObject([{ id: "b" }])
    await eventually(async () => [await effect("a"), await effect("b")]).toEqual(["allow", "deny"])
  })
})

describe("a config that is a link", () => {
  async function linked(before: string) {
    const session = await start({
      files: { "dotfiles/opencode.jsonc": before },
      // The link stands before the host starts.
      env: (root) => {
        symlinkSync(join(root, "dotfiles/opencode.jsonc"), join(root, "config/opencode/opencode.jsonc"))
        return {}
      },
    })
    return {
      ...session,
      target: join(session.host.root, "dotfiles/opencode.jsonc"),
      link: session.path("opencode.jsonc"),
    }
  }

  it("stays one; its target is replaced and the host reloads", async () => {
    const before = arrayOf(["b", "ask"])
    const { disable, enable, list, effect, target, link, names } = await linked(before)
    expect((await list()).config).toMatchObject({ file: link, realFile: target })
    const inode = statSync(target).ino
    expect(await disable("a")).toMatchObject({ ok: true, verification: { method: "host" }, takesEffect: "now" })
    expect(lstatSync(link).isSymbolicLink()).toBe(true)
    expect(readlinkSync(link)).toBe(target)
    expect(statSync(target).ino).not.toBe(inode)
    expect(readFileSync(target, "utf8")).toContain('"a"')
    expect(await effect("a")).toBe("deny")
    expect(names()).toEqual(["opencode.jsonc", SIDECAR])
    expect(await enable("a")).toMatchObject({ ok: true, verification: { method: "host" } })
    expect(readFileSync(target, "utf8")).toBe(before)
    expect(lstatSync(link).isSymbolicLink()).toBe(true)
    expect(await effect("a")).toBe("allow")
  })

  it("to nothing is refused", async () => {
    const session = await start({
      env: (root) => {
        symlinkSync(join(root, "nowhere"), join(root, "config/opencode/opencode.jsonc"))
        return {}
      },
    })
    const reply = await session.disable("a")
    expect(reply).toMatchObject({ ok: false, error: { code: "config_unsupported", data: { reason: "dangling_link" } } })
    expect(lstatSync(session.path("opencode.jsonc")).isSymbolicLink()).toBe(true)
    expect(session.names()).toEqual(["opencode.jsonc"])
  })
})

it("works in a directory that is a link", async () => {
  const { disable, enable, effect, host, path, names } = await start({
    env: (root) => {
      rmdirSync(join(root, "config/opencode"))
      mkdirSync(join(root, "dotfiles"))
      symlinkSync(join(root, "dotfiles"), join(root, "config/opencode"))
      return {}
    },
    config: { "opencode.json": arrayOf(["b", "ask"]) },
  })
  expect(await disable("a")).toMatchObject({ ok: true, verification: { method: "host" } })
  expect(await effect("a")).toBe("deny")
  expect(readFileSync(join(host.root, "dotfiles/opencode.json"), "utf8")).toBe(arrayOf(["b", "ask"], ["a", "deny"]))
  expect(lstatSync(host.configDir).isSymbolicLink()).toBe(true)
  expect(lstatSync(path("opencode.json")).isFile()).toBe(true)
  expect(await enable("a")).toMatchObject({ ok: true })
  expect(names()).toEqual(["opencode.json"])
})

it("a file that was made in a directory that is a link goes again", async () => {
  const { disable, enable, names } = await start({
    env: (root) => {
      rmdirSync(join(root, "config/opencode"))
      mkdirSync(join(root, "dotfiles"))
      symlinkSync(join(root, "dotfiles"), join(root, "config/opencode"))
      return {}
    },
  })
  expect(await disable("a")).toMatchObject({ ok: true, changed: true })
  expect(await enable("a")).toMatchObject({ ok: true, changed: true })
  expect(names()).toEqual([])
})
