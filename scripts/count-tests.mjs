// Adds up the JSON reports of a folder into one line.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

const [, , folder = "."] = process.argv
const sums = { passed: 0, failed: 0, skipped: 0 }
for (const name of readdirSync(folder)) {
  const report = JSON.parse(readFileSync(join(folder, name), "utf8"))
  sums.passed += report.numPassedTests
  sums.failed += report.numFailedTests
  sums.skipped += report.numPendingTests
}
process.stdout.write(`${sums.passed} passed, ${sums.failed} failed, ${sums.skipped} skipped\n`)
