import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Every test starts its own servers on free ports, so files may run side by side.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // One file for each core: more of them only make each other's deadlines late.
    maxWorkers: '100%',
    reporters: ['default'],
  },
})
