import { defineConfig } from 'vitest/config'

// The contract suites against the real services. A missing setting is a failure, not a skip: whoever runs this means it.
export default defineConfig({
  test: { include: ['test/live/**/*.live.ts'], testTimeout: 120_000, hookTimeout: 120_000 },
})
