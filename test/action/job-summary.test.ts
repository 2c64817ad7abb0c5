// The job summary of a run: what it says once, and what stands where.
import { expect, test } from 'vitest'
import { summaryReport } from '../../src/action/job-summary.js'
import type { SummariseResult } from '../../src/handoff/index.js'

const commit = 'c'.repeat(40)
const link = (label: string) => `[\`${label}\`](https://github.com/octo/tools/blob/${commit}/src/a.ts#L1)`
const correction = {
  id: 'issue-1',
  at: '2026-11-19T10:00:00.000Z',
  by: 'ann',
  commit,
  places: [{ path: 'src/a.ts', from: 1, to: 1, blob: 'b'.repeat(40), digest: 'd'.repeat(64) }],
}
const result = {
  summary: `# octo/tools at ${commit}\n\n> Not complete: a limit left 3 files undescribed\n\n## What it is and for whom\n\nIt rows. ${link('src/a.ts:1')} It floats.\n\n---\n\n| files |\n`,
  differences: [],
  corrections: [
    { ...correction, text: 'src/a.ts:1 It sails.' },
    {
      ...correction,
      id: 'issue-2',
      text: 'src/b.ts:9 It sinks.',
      places: [{ ...correction.places[0], path: 'src/b.ts', from: 9, to: 9 }],
    },
  ],
  handoff: {
    repository: 'octo/tools',
    commit,
    run: `${commit}-one`,
    partial: 'a limit left 3 files undescribed',
    survey: { files: 1, read: 1, cut: 0, skipped: 0, bytes: 9, reasons: {} },
    model: { name: 'm' },
    usage: { inputTokens: 1, outputTokens: 1 },
    sandbox: { id: 's', template: 't' },
    durations: {},
    reusedPercent: 0,
    secrets: 0,
  },
} as unknown as SummariseResult
const report = summaryReport(result, {
  context: { serverUrl: 'https://github.com', repository: 'octo/tools' },
} as Parameters<typeof summaryReport>[1])

test('what is not complete is said once, at the top', () => {
  expect(report.match(/a limit left 3 files undescribed/g)).toHaveLength(1)
  expect(report.indexOf('**Not complete.**')).toBeLessThan(report.indexOf('## Summary'))
})

test('a correction stands at its statement, and only one without a statement has a place of its own', () => {
  expect(report).toContain('(**Correction** by `ann`, 2026-11-19: src/a.ts:1 It sails.) It floats.')
  const [, own = ''] = report.split('## Corrections\n\n')
  expect(own).toMatch(/^> \*\*Correction\*\* by `ann`, 2026-11-19: src\/b\.ts:9 It sinks\./)
  expect(report.match(/It sails/g)).toHaveLength(1)
})
