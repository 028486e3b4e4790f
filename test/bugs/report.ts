import { EXCEPTIONS } from "./cases.ts"
import { caseKinds } from "./corpus.ts"

/** One test of a case. */
export interface CaseTest {
  readonly id: string
  readonly name: string
}

/** Prints what became of every case in this suite; a case without a test here belongs to the other one. */
export function report(tests: readonly CaseTest[], passed: ReadonlySet<string>): void {
  const exceptions: string[] = []
  const resultOf = (id: string) => {
    const own = tests.filter((test) => test.id === id)
    if (own.length === 0) return "in the other suite"
    if (!own.every(({ name }) => passed.has(name))) return "FAILED"
    const exception = EXCEPTIONS[id]
    if (!exception) return "pass"
    exceptions.push(`${id}: ${exception.why}. Measured: ${exception.measured}.`)
    return "exception"
  }
  console.table(
    Object.fromEntries(Object.entries(caseKinds()).map(([id, kind]) => [id, { kind, result: resultOf(id) }])),
  )
  console.info(exceptions.join("\n"))
}
