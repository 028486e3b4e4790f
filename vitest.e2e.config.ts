import { defineConfig } from "vitest/config"

// One file at a time: each starts real hosts, and two cores carry one host well.
export default defineConfig({
  test: {
    include: ["test/{e2e,process}/**/*.test.ts"],
    globalSetup: "test/e2e/packed.ts",
    testTimeout: 300_000,
    hookTimeout: 300_000,
    fileParallelism: false,
    maxConcurrency: 2,
  },
})
