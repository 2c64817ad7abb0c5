import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/support/whole-suite.ts',
    setupFiles: 'test/support/every-file.ts',
    // Every test starts its own servers on free ports, so files may run side by side.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Real processes on a busy machine miss a deadline now and then; what fails three times in a row is broken. The report names what was repeated.
    retry: 2,
    // One file for each core: more of them only make each other's deadlines late.
    maxWorkers: '100%',
    reporters: ['default'],
  },
})
