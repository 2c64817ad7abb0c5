import { defineConfig } from 'vitest/config'

/** These only compute: nothing is started, nothing is heard, and nothing is kept from one file to the next. */
const library = ['test/handoff/domain/**/*.test.ts']

const every = {
  setupFiles: 'test/support/setup-file.ts',
  // Every test starts its own servers on free ports, so files may run side by side.
  testTimeout: 60_000,
  hookTimeout: 60_000,
  expect: { poll: { timeout: 10_000 } },
}

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts', 'test/support/shipped-action.ts'],
    // More than the smallest machine has cores: many tests wait for processes and for deadlines of the outside.
    maxWorkers: 4,
    reporters: ['default'],
    projects: [
      { extends: true, test: { ...every, name: 'library', include: library, isolate: false } },
      { extends: true, test: { ...every, name: 'worlds', include: ['test/**/*.test.ts'], exclude: library } },
    ],
  },
})
