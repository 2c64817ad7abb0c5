import { defineConfig } from 'vitest/config'

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

/** Tests run in any order. Where changes are decided about, files do too; elsewhere the slowest file of the last run begins. */
const sequence = { shuffle: { files: Boolean(process.env['CI']), tests: true } }

export default defineConfig({
  test: {
    globalSetup: ['global-setup', 'shipped-action', 'recordings-folder'].map((name) => `test/support/${name}.ts`),
    // More workers than the smallest machine has cores: many tests wait for processes and deadlines.
    maxWorkers: 4,
    reporters: ['default'],
    projects: [
      { extends: true, test: { ...common, name: 'unit', sequence, include: unit, exclude: guarantees } },
      { extends: true, test: { ...common, name: 'guarantees', include: guarantees, provide: { functions: 'built' } } },
      {
        extends: true,
        test: {
          ...common,
          name: 'integration',
          sequence,
          include: ['test/**/*.test.ts'],
          exclude: [...unit, ...guarantees],
          // The platform's builder takes longer than all these tests of the service.
          provide: { functions: 'sources' },
        },
      },
    ],
  },
})
