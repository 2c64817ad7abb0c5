import { defineConfig } from 'vitest/config'
import { readEnvironment } from '../../src/cli/load-env.js'

// What stands in `.env` counts here as it does for every command.
readEnvironment()

// The contract suites against the real services. A missing setting is a failure, not a skip.
export default defineConfig({
  test: { include: ['test/live/**/*.live.ts'], testTimeout: 180_000, hookTimeout: 120_000 },
})
