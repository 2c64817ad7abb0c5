import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/whole-suite.ts', 'test/support/shipped-action.ts'],
    setupFiles: 'test/support/every-file.ts',
    // Every test starts its own servers on free ports, so files may run side by side.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 10_000 } },
    // More than the smallest machine has cores: many tests wait for processes and for deadlines of the outside.
    maxWorkers: 4,
    reporters: ['default'],
  },
})
