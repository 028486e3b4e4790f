import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    // Many tests wait for a host to reload; three workers keep two cores busy.
    maxWorkers: 3,
    include: ["test/**/*.test.ts"],
    exclude: ["test/{e2e,process}/**"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
