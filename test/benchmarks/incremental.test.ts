import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { measurePushes } from '../../src/benchmarks/push-cost.js'
import { surveyTextBytes } from '../../src/handoff/domain/summary/estimate-cost.js'
import { largeRepository } from '../handoff/workflows/summarise/kit.js'

const directory = mkdtempSync(join(tmpdir(), 'incremental-'))
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
  const files = largeRepository()
  commit(files)
  commit({ 'core/part0/file0.ts': `// new\n${files['core/part0/file0.ts']}` })
  commit({ 'package-lock.json': '{}' })
  git('rm', '-qr', 'docs')
  commit({})
})
afterAll(() => rmSync(directory, { recursive: true }))

it('measures pushes by what they send, on a real history', async () => {
  const report = await measurePushes(join(directory, '.git'), 3)
  expect(report.full.describedFiles).toBe(52)
  expect(report.pushes).toHaveLength(3)
  const [edited, skipped, removed] = report.pushes
  expect(edited!.share).toBeGreaterThan(0)
  expect(edited!.share).toBeLessThan(0.02)
  expect([edited!.files, skipped!.files]).toEqual([1, 0])
  expect(skipped).toMatchObject({ inputTokens: 0, calls: 0, unchanged: true })
  expect(removed!.calls).toBeGreaterThan(0)
  expect(report).toMatchObject({ stale: [], uncovered: [], median: Math.min(edited!.share, removed!.share) })
})

it('asks a survey for as much text as a limit in tokens has room for', async () => {
  const perByte = surveyTextBytes((text) => text.length, 100_000)
  const perFour = surveyTextBytes((text) => Math.ceil(text.length / 4), 100_000)
  expect(perByte).toBeLessThan(100_000)
  expect(perFour / perByte).toBeCloseTo(4, 1)
})
