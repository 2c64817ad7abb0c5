import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { measureHistory } from '../../src/benchmarks/history.js'
import { createChecks } from '../../src/benchmarks/history-checks.js'
import { surveyTextBytes } from '../../src/handoff/domain/summary/estimate-cost.js'
import type { SummaryRecord } from '../../src/handoff/domain/summary/summary-record.js'
import type { FileTable } from '../../src/handoff/domain/survey.js'
import { largeRepository } from '../handoff/workflows/summarise/kit.js'

const directory = mkdtempSync(join(tmpdir(), 'history-'))
const identity = {
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@b',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@b',
  GIT_CONFIG_GLOBAL: '/dev/null',
}
const git = (...words: string[]) =>
  execFileSync('git', ['-C', directory, ...words], { env: { ...process.env, ...identity } })

function commit(files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), text)
  }
  git('add', '.')
  git('commit', '-qm', 'Change')
}

beforeAll(() => {
  git('init', '-q')
  const files: Record<string, string> = { ...largeRepository(), 'package-lock.json': '[]' }
  commit(files)
  commit({ 'core/part0/file0.ts': `// new\n${files['core/part0/file0.ts']}` })
  commit({ 'package-lock.json': '{}' })
  git('rm', '-qr', 'docs')
  commit({})
})
afterAll(() => rmSync(directory, { recursive: true }))

it('measures pushes by what they send, and finds nothing stale, on a real history', async () => {
  const report = await measureHistory(join(directory, '.git'), 3)
  expect(report.full.statements).toBeGreaterThan(20)
  expect(report.full.cited).toBeGreaterThan(0.9)
  const [edited, skipped, removed] = report.pushes
  expect(edited).toMatchObject({ files: 1, lost: 0, inputTokens: 0, share: 0 })
  expect(skipped).toMatchObject({ files: 0, inputTokens: 0, calls: 0, unchanged: true })
  expect(removed).toMatchObject({ calls: 0, unchanged: false })
  expect(removed!.lost).toBeGreaterThan(2)
  expect(report.checks).toMatchObject({ stale: [], deleted: [], uncovered: [], rewritten: 0 })
  expect(report.checks.citations).toBeGreaterThan(80)
})

it('sees a statement whose lines changed, and a deleted path that is named', async () => {
  const checks = createChecks(join(directory, '.git'))
  const [before, after] = String(git('rev-list', '--reverse', 'HEAD'))
    .trim()
    .split('\n') as [string, string]
  const table = (...paths: string[]) => ({ files: paths.map((path) => ({ path })) }) as unknown as FileTable
  const path = 'core/part0/file0.ts'
  const place = { path, from: 1, to: 2, blob: 'b'.repeat(40), digest: 'd'.repeat(64) }
  const statements = [{ text: `It is docs/a.ts.`, citations: [place] }]
  const record = { sections: [{ heading: '', statements }], directories: [] } as unknown as SummaryRecord
  await checks.check(before, table(path, 'docs/a.ts'), record)
  expect(checks.found).toMatchObject({ stale: [], deleted: [], uncovered: [] })
  await checks.check(after, table(path, 'web/b.ts'), record)
  expect(checks.found.stale).toEqual([`${after.slice(0, 8)} ${path}:1-2`])
  expect(checks.found.deleted).toEqual([`${after.slice(0, 8)} docs/a.ts`])
  expect(checks.found.uncovered).toEqual([`${after.slice(0, 8)} web/`])
})

it('asks a survey for as much text as a limit in tokens has room for', async () => {
  const perByte = surveyTextBytes((text) => text.length, 100_000)
  const perFour = surveyTextBytes((text) => Math.ceil(text.length / 4), 100_000)
  expect(perByte).toBeLessThan(100_000)
  expect(perFour / perByte).toBeCloseTo(4, 1)
})
