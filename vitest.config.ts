import { defineConfig } from 'vitest/config'
import { FileOrder } from './test/support/file-order.js'

/** Tests that only compute: they start no process and no server. */
const unit = ['test/handoff/domain/**/*.test.ts']

/** What is promised under faults, attacks and large inputs, and the emulators themselves: `npm run test:guarantees`. */
const guarantees = ['test/{guarantees,emulators}/**/*.test.ts', 'test/**/*.{faults,large}.test.ts']

/** Whole tables of variants: `npm run test:variants`. */
const variants = ['test/**/*.variants.test.ts']

const common = {
  setupFiles: 'test/support/setup-file.ts',
  // Every test starts its own servers on free ports, so files may run side by side.
  testTimeout: 60_000,
  hookTimeout: 60_000,
  expect: { poll: { timeout: 10_000 } },
  // Files share their workers: a process for each file would load the same modules 170 times.
  isolate: false,
}

export default defineConfig({
  test: {
    globalSetup: ['global-setup', 'shipped-action', 'recordings-folder'].map((name) => `test/support/${name}.ts`),
    // More workers than the smallest machine has cores: many tests wait for processes and deadlines. The other two suites have six, because more of their tests wait.
    maxWorkers: 4,
    // Tests of a file run in any order.
    sequence: { shuffle: { tests: true }, sequencer: FileOrder },
    reporters: ['default'],
    projects: [
      { extends: true, test: { ...common, name: 'unit', include: unit, exclude: [...guarantees, ...variants] } },
      { extends: true, test: { ...common, name: 'guarantees', include: guarantees, provide: { functions: 'built' } } },
      { extends: true, test: { ...common, name: 'variants', include: variants, provide: { functions: 'built' } } },
      {
        extends: true,
        test: {
          ...common,
          name: 'integration',
          include: ['test/**/*.test.ts'],
          exclude: [...unit, ...guarantees, ...variants],
          // The platform's builder takes longer than all these tests of the service.
          provide: { functions: 'sources' },
        },
      },
    ],
  },
})
