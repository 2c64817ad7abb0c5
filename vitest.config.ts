import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Every test starts its own servers on free ports, so files may run side by side.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // More files at once than the usual machine has cores: most of the time they wait for servers and programs of their own.
    maxWorkers: 3,
    reporters: ['default'],
  },
})
