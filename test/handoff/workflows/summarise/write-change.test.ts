// The sentences about a change: what they cost at most, and what becomes of replies that do not hold.
import { expect, test } from 'vitest'
import type { AppContext } from '../../../../src/handoff/context.js'
import { writeChange } from '../../../../src/handoff/workflows/summarise/write-change.js'
import { type Script, scriptedModel, surveyOf } from './kit.js'

const never = new AbortController().signal
const files = { 'src/a.ts': 'export const a = 1\nexport const b = 2\n', 'pic.png': 'x' }
const { table } = surveyOf(files)
const [base, head] = ['b'.repeat(40), table.commit]
const changed = (path: string, more = {}) => ({
  path,
  status: 'modified' as const,
  kind: 'source' as const,
  added: 1,
  removed: 1,
  definitions: [],
  ...more,
})
const lines = [
  {
    path: 'src/a.ts',
    blob: table.files.find(({ path }) => path === 'src/a.ts')!.blob,
    from: 1,
    lines: ['export const a = 1', 'export const b = 2'],
    gone: ['export const a = 0'],
  },
]
const described = { base, head, files: [changed('src/a.ts')], filesLeftOut: 0, ripples: [], ripplesLeftOut: 0 }
const prices = { input: 1, output: 1 }

function write(
  script: Script,
  { maxCost, spent, ...found }: { maxCost?: number; spent?: number; described?: object; lines?: object[] } = {},
) {
  const model = scriptedModel(script)
  const context = {
    ports: { model, emit: () => {} },
    limits: { inputTokens: 1e6, deadlineMs: 1e6, ...(maxCost === undefined ? {} : { maxCost }) },
    prices,
  } as unknown as AppContext
  const cost = spent === undefined ? undefined : { amount: spent, currency: 'USD' as const, source: 'settings' }
  const job = { context, head, found: { base, described, lines, ...found }, table, spent: cost } as Parameters<
    typeof writeChange
  >[0]
  return writeChange(job, never).then((report) => ({ report, asked: model.requests.length }))
}

const cited = 'The constant is one now. [[src/a.ts:1 "export const a = 1"]]'

test('within the limit there are sentences, and what the summary spent counts', async () => {
  const within = await write({ say: () => cited }, { maxCost: 10, spent: 1 })
  expect(within.report.statements).toHaveLength(1)
  const beyond = await write({ say: () => cited }, { maxCost: 1, spent: 1 })
  expect(beyond).toMatchObject({ asked: 0, report: { statements: [], problem: expect.stringContaining('cost limit') } })
  expect(beyond.report.change?.files).toHaveLength(1)
})

test.each([
  ['drops all citations', 'The constant is one now.'],
  ['cites lines that it was not shown', 'It reads a file. [[src/a.ts:90-95 "readFile()"]] And more. [[src/none.ts:1]]'],
])('a model that %s leaves the table and says why there is no sentence', async (_, text) => {
  const { report } = await write({ say: () => text })
  expect(report).toMatchObject({ statements: [], problem: expect.stringContaining('cited no line') })
  expect(report.change?.files.map(({ path }) => path)).toEqual(['src/a.ts'])
})

test('sentences in another language, and 400 of them, end as six', async () => {
  const text = Array.from({ length: 400 }, (_, n) => `定数${n}は一です。[[src/a.ts:1 "export const a = 1"]]`).join('\n')
  const { report } = await write({ say: () => text })
  expect(report.statements).toHaveLength(6)
  expect(report.statements.every(({ citations }) => citations.length === 1)).toBe(true)
})

test('a base that is gone, and a change of binary files only, ask no model', async () => {
  const gone = await write({}, { described: undefined as never, lines: [] })
  expect(gone).toMatchObject({
    asked: 0,
    report: { problem: expect.stringContaining('does not serve the base bbbbbbb') },
  })
  expect(gone.report).not.toHaveProperty('change')
  const binary = await write(
    {},
    {
      described: { ...described, files: [changed('pic.png', { added: 0, removed: 0, uncompared: 'binary' })] },
      lines: [],
    },
  )
  expect(binary).toMatchObject({ asked: 0, report: { problem: expect.stringContaining('only binary') } })
})

test('paths that the commit does not have are left out, whatever the sandbox says', async () => {
  const { report } = await write(
    { say: () => cited },
    { described: { ...described, files: [changed('src/a.ts'), changed('src/forged.ts')] } },
  )
  expect(report.change?.files.map(({ path }) => path)).toEqual(['src/a.ts'])
})
