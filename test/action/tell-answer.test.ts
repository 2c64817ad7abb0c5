// What a job learns of an answer, of any length: the outputs fit into what GitHub takes of one job.
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'
import type { Job } from '../../src/action/job-context.js'
import { tellAnswer } from '../../src/action/publish-answer.js'
import { makeRunner } from '../../src/action/runner.js'
import type { Reply } from '../../src/action/runs-for-question.js'
import type { Citation } from '../../src/handoff/domain/answer.js'
import { answerRecord } from '../support/records.js'
import { readPairs, refusedFiles } from './runner-rules.js'

const folder = mkdtempSync(join(tmpdir(), 'reported-'))
const files = { output: join(folder, 'output'), summary: join(folder, 'summary') }

beforeEach(() => {
  for (const file of Object.values(files)) writeFileSync(file, '')
  process.env['GITHUB_OUTPUT'] = files.output
})
afterAll(() => {
  delete process.env['GITHUB_OUTPUT']
  rmSync(folder, { recursive: true })
})

async function reported(text: string, citations: Citation[]) {
  const runner = {
    ...makeRunner(),
    quote: () => undefined,
    info: () => undefined,
    // GitHub's package keeps the first file of a process, and other files of tests share this one.
    writeJobSummary: async (markdown: string) => appendFileSync(files.summary, markdown),
  }
  const context = { temporary: folder, repository: 'octo/tools', serverUrl: 'https://github.com' }
  const job = { runner, context, redact: (one: string) => one } as unknown as Job
  const record = answerRecord({ text, citations })
  await tellAnswer(job, { record, reused: false, notes: [] } as Reply)
  const output = readFileSync(files.output, 'utf8')
  const summary = readFileSync(files.summary, 'utf8')
  return { outputs: readPairs(output), refused: refusedFiles({ output, summary, state: '', env: '', path: '' }) }
}

const cited = (count: number): Citation[] =>
  Array.from({ length: count }, (_none, index) => ({
    path: 'src/a.ts',
    from: index + 1,
    to: index + 1,
    verified: true,
  }))

test('an answer that fits is whole, with its citations', async () => {
  const { outputs, refused } = await reported('So it is. 🦊', cited(2))
  expect(refused).toEqual([])
  expect(outputs['answer']).toBe('So it is. 🦊')
  expect(JSON.parse(outputs['citations']!)).toHaveLength(2)
})

test.each([
  ['letters', 'x'.repeat(890_000)],
  ['characters of two units', `x${'🦊'.repeat(300_000)}`],
  ['characters of two units, the other way', '🦊'.repeat(300_000)],
])('outputs fit, and no character is cut in two: an answer of many %s', async (_what, text) => {
  const { outputs, refused } = await reported(text, cited(20_000))
  expect(refused).toEqual([])
  expect(outputs['answer']!.isWellFormed()).toBe(true)
  expect(outputs['answer']).not.toContain('\ufffd')
  expect(outputs['answer']).toMatch(/\n\[cut; the whole answer is in answer-file\]$/)
  expect(outputs['answer']!.length).toBeGreaterThan(200_000)
  expect(outputs['citations']).toBe('[]')
})
