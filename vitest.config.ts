import { defineConfig } from 'vitest/config'
import { FileOrder } from './test/support/file-order.js'

/** Tests that only compute: they start no process and no server. */
const unit = ['test/handoff/domain/**/*.test.ts']

/** Faults, large inputs, whole tables of variants, and the emulators themselves: `npm run test:guarantees`. */
const guarantees = ['test/{guarantees,emulators}/**/*.test.ts', 'test/**/*.{faults,large,variants}.test.ts']

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
    // More workers than the smallest machine has cores: many tests wait for processes and deadlines. `test:guarantees` has six, because more of them wait.
    maxWorkers: 4,
    // Tests of a file run in any order.
    sequence: { shuffle: { tests: true }, sequencer: FileOrder },
    reporters: ['default'],
    projects: [
      { extends: true, test: { ...common, name: 'unit', include: unit, exclude: guarantees } },
      { extends: true, test: { ...common, name: 'guarantees', include: guarantees, provide: { functions: 'built' } } },
      {
        extends: true,
        test: {
          ...common,
          name: 'integration',
          include: ['test/**/*.test.ts'],
          exclude: [...unit, ...guarantees],
          // The platform's builder takes longer than all these tests of the service.
          provide: { functions: 'sources' },
        },
      },
    ],
  },
})
