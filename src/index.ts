import { server } from "./hosts/opencode-1/server.ts"
import { setup } from "./hosts/opencode-2/setup.ts"

/** The plugin: `server` is the entry of OpenCode 1, `setup` the one of OpenCode 2. */
export default { id: "opencode-skill-management", server, setup }
