import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")

/** Takes from the plugin what it keeps from call to call. */
export const collectGarbage: () => void = runInNewContext("gc")
