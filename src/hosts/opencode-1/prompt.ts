import { estimateTokens } from "../../core/tokens.ts"

/** A skill as the host lists it in a prompt. */
interface Listed {
  readonly name: string | null
  readonly description: string | null
  readonly location: string | null
}

/** The lines that a prompt holds for a listed skill: of the three texts only the location is escaped (1.18.34). */
export const promptEntry = ({ name, description, location }: Listed): string =>
  `  <skill>\n    <name>${name ?? ""}</name>\n    <description>${description ?? ""}</description>\n` +
  `    <location>${escaped(location ?? "")}</location>\n  </skill>\n`

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
}
const escaped = (location: string): string =>
  /[&<>"']/.test(location) ? location.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character) : location

/** What an entry without its three texts costs (o200k_base). */
const FRAME = 28

export const promptTokens = ({ name, description, location }: Listed): number =>
  estimateTokens(FRAME, [name ?? "", description ?? ""], escaped(location ?? ""))
