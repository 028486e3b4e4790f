import type { AgentSections, LayerDocument, Sections } from "./document.ts"

/** Any of these at the top of a document makes the betas of OpenCode 2 read all of it as an OpenCode 1 config. */
const OPENCODE_1_KEYS = [
  ..."logLevel server command reference snapshot plugin autoshare disabled_providers enabled_providers".split(" "),
  ..."small_model mode agent provider permission tools attachment layout".split(" "),
]

export const openCode1Key = (keys: ReadonlySet<string>): string | undefined =>
  OPENCODE_1_KEYS.find((key) => keys.has(key))

export const hasOpenCode1Key = (keys: ReadonlySet<string>): boolean => openCode1Key(keys) !== undefined

/** The keys of an agent on OpenCode 2; a Markdown agent with any other is read as one of OpenCode 1. */
const OPENCODE_2_AGENT_KEYS =
  "description disabled hidden mode model request steps system variant color permissions".split(" ")

/** The first key that makes OpenCode 2 read a Markdown agent as one of OpenCode 1. */
export const foreignAgentKey = (agent: AgentSections): string | undefined =>
  [...agent.keys].find((key) => !OPENCODE_2_AGENT_KEYS.includes(key))

/** The betas lose a document whole where a section that they read in it is malformed (measured on the preview 1.18.18). */
export function isLost(document: LayerDocument): boolean {
  const older = hasOpenCode1Key(document.keys)
  const broken = (part: Sections, older: boolean) => part.malformed.some((key) => (key !== "permissions") === older)
  return (
    broken(document, older) ||
    document.agents.some((agent) => {
      if (agent.markdown) return broken(agent, foreignAgentKey(agent) !== undefined)
      return (agent.key !== "agents") === older && broken(agent, older)
    })
  )
}
