// What a reply about a change means, and what a report may hold.
import { describe, expect, it, test } from 'vitest'
import { changeParts } from '../../../../src/handoff/domain/change/change-parts.js'
import { parseChangeReply } from '../../../../src/handoff/domain/change/change-prompt.js'
import {
  type ChangeReport,
  decodeChangeReport,
  encodeChangeReport,
} from '../../../../src/handoff/domain/change/change-report.js'
import { changeComment } from '../../../../src/handoff/domain/change/render-change.js'

describe('a reply', () => {
  it('has sentences, and questions that begin with their sign', () => {
    const reply =
      'It adds a clock. [[a.ts:1 "x"]]\n\n? Who winds it? [[a.ts:1]]\n- ? What is the time?\n? Third?\n? Fourth?'
    expect(parseChangeReply(reply)).toEqual({
      markdown: 'It adds a clock. [[a.ts:1 "x"]]',
      questions: ['Who winds it?', 'What is the time?', 'Third?'],
    })
  })

  it('may have no question, and a question in a sentence is a sentence', () => {
    expect(parseChangeReply('Does it tick? It does.')).toEqual({ markdown: 'Does it tick? It does.', questions: [] })
  })
})

const [base, head] = ['b'.repeat(40), 'a'.repeat(40)]
const file = (path: string) => ({
  path,
  status: 'modified' as const,
  kind: 'source' as const,
  added: 1,
  removed: 2,
  definitions: [],
})
const report = (files: number, ripples: number): ChangeReport => ({
  version: 1,
  base,
  head,
  change: {
    base,
    head,
    files: Array.from({ length: files }, (_, index) => file(`src/f${index}.ts`)),
    filesLeftOut: 0,
    ripples: Array.from({ length: ripples }, (_, index) => ({
      kind: 'caller',
      path: `src/r${index}.ts`,
      line: 1,
      of: 'src/f0.ts',
      names: ['one'],
    })),
    ripplesLeftOut: 0,
  },
  model: 'm',
  statements: Array.from({ length: 6 }, (_, index) => ({
    text: `Sentence ${index} of the model, which says what the change does.`,
    citations: [{ path: 'src/f0.ts', from: 1, to: 2, blob: 'c'.repeat(40), digest: 'd'.repeat(64) }],
  })),
  questions: ['Why?', 'How?', 'When?'],
  unseen: 4,
  usage: { inputTokens: 1, outputTokens: 1 },
})
const commentOf = (given: ChangeReport) =>
  changeComment({
    head,
    report: given,
    diagram: undefined,
    place: { host: 'github.com', repository: 'octo/tools' },
    parts: new Set(changeParts),
    summaryUrl: 'https://github.com/octo/tools/actions/runs/1',
    cost: { amount: 0.01, currency: 'USD', source: 'table' },
    model: 'm',
  })

test('a report is read as it was written, and one of a newer version is refused', () => {
  expect(decodeChangeReport(encodeChangeReport(report(2, 2)))).toEqual(report(2, 2))
  const newer = new TextEncoder().encode(JSON.stringify({ ...report(1, 1), version: 2 }))
  expect(() => decodeChangeReport(newer)).toThrow(/version/)
})

test('of 3,000 files and 60 places one screen is unfolded, and what is not listed is counted', () => {
  const text = commentOf(report(3_000, 60))
  const unfolded = text.replace(/<details>[\s\S]*?<\/details>/g, '')
  expect(unfolded.split('\n').filter((line) => line.trim() !== '').length).toBeLessThan(30)
  expect(text).toContain('<summary>3,000 files, +3,000 −6,000 lines</summary>')
  expect(text).toContain('2,800 more files are not listed.')
  expect(text).toContain('The model saw no line of 4 of these files.')
  expect(text).toContain('<summary>55 more places</summary>')
})

test('long sentences and long paths leave a screen unfolded too, and the others are counted', () => {
  const { change, ...rest } = report(30, 60)
  const deep = 'packages/some-library/src/node/a-folder-with-a-name/'
  const text = commentOf({
    ...rest,
    statements: rest.statements.map((one) => ({ ...one, text: `${one.text} ${'It goes on and on. '.repeat(20)}` })),
    change: {
      ...change!,
      ripples: change!.ripples.map((one) => ({ ...one, path: deep + one.path, of: deep + one.of })),
    },
  })
  const unfolded = text.replace(/<details>[\s\S]*?<\/details>/g, '').replace(/\]\([^()\s]*\)/g, '')
  const lines = unfolded.split('\n').map((line) => Math.ceil(line.length / 90))
  expect(lines.reduce((sum, count) => sum + count, 0)).toBeLessThan(34)
  expect(text).toMatch(/<summary>\d more sentences<\/summary>/)
  expect(text).toMatch(/<summary>5\d more places<\/summary>/)
  expect(text.match(/Sentence \d of the model/g)).toHaveLength(6)
})

test('each sentence and each place has a link to the head', () => {
  const links = commentOf(report(1, 3)).match(/\]\(https:[^)]*\)/g) ?? []
  const code = links.filter((link) => link.includes('/blob/'))
  expect(code.length).toBeGreaterThanOrEqual(6 + 3 + 1)
  expect(code.filter((link) => !link.startsWith(`](https://github.com/octo/tools/blob/${head}/`))).toEqual([])
})
