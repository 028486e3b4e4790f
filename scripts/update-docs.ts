import { writeFileSync } from "node:fs"
import { docOutputs, README, withOutputs } from "./doc-outputs.ts"

writeFileSync(README, withOutputs(await docOutputs()))
