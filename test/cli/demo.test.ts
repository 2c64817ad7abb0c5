// The demo as a stranger runs it: in a process of its own, on a repository of theirs, to the end.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeRepository, type TestRepository } from '../support/repository.js'
import { startProgram } from '../support/run-program.js'

let repository: TestRepository
let temporary: string

beforeAll(async () => {
  temporary = mkdtempSync(join(tmpdir(), 'demo-'))
  repository = await makeRepository({
    'README.md': '# Clocks\n\nTells the time in every zone.\n',
    "src/it's a clock.ts":
      'export function tellTime(zone: string): string {\n  return new Date().toLocaleString("en", { timeZone: zone })\n}\n',
  })
})

afterAll(async () => {
  await repository?.[Symbol.asyncDispose]()
  rmSync(temporary, { recursive: true, force: true })
})

const start = (words: string[], environment: Record<string, string> = {}) =>
  startProgram('src/cli/demo.ts', words, { TMPDIR: temporary, ...environment })

test('one JSON document with everything, and citations that exist in that repository', async () => {
  const { code, stdout, stderr } = await start([repository.directory, 'How does tellTime know the zone?', '--json'])
    .ended
  expect(code, stderr).toBe(0)
  const report = JSON.parse(stdout)
  expect(report).toMatchObject({
    commit: repository.head,
    question: 'How does tellTime know the zone?',
    handoff: { version: 1, commit: repository.head },
  })
  expect(report.sandboxes.map(({ role }: { role: string }) => role)).toEqual(['summarise', 'ask'])
  const [a, b] = report.sandboxes
  expect(a.killed <= b.created).toBe(true)
  expect(b.killed).toEqual(expect.any(String))
  expect(report.citations.length).toBeGreaterThan(0)
  for (const { path, from, to } of report.citations) {
    const lines = (await repository.git('show', `${report.commit}:${path}`)).split('\n')
    expect(from).toBeGreaterThan(0)
    expect(to).toBeLessThanOrEqual(lines.length)
  }
  expect(Object.keys(report)).toEqual(expect.arrayContaining(['run', 'runDirectory', 'summary', 'answer', 'timings']))
})

test('plain lines where there is no terminal, and A is gone before B is there', async () => {
  const { code, stdout } = await start([repository.directory, 'How does tellTime know the zone?'], { NO_COLOR: '1' })
    .ended
  expect(code).toBe(0)
  expect(stdout).not.toContain('\u001b')
  expect(stdout.split('\n').filter((line) => line.startsWith('  model'))[0]).toContain('offline-extractive')
  const order = [
    '▲ Sandbox A',
    '▼ Sandbox A',
    '▲ Sandbox B',
    '▼ Sandbox B',
    'Answer',
    'Sources',
    'Run directory',
    'Time and tokens',
  ].map((text) => stdout.indexOf(text))
  expect(order).toEqual([...order].sort((x, y) => x - y))
})

test.each([
  [['/nowhere/at/all'], 'There is nothing at /nowhere/at/all.'],
  [['https://user:secret@example.org/a/b'], 'carries a credential'],
  [['.', '--', '--'.repeat(3_000)], 'at most 4,000 are taken'],
  [['--verbose'], "Unknown option '--verbose'"],
])('%j ends with one sentence and what to do', async (words, sentence) => {
  const { code, stdout, stderr } = await start(words as string[]).ended
  expect(code).toBe(1)
  expect(stderr).toContain(sentence)
  expect(stderr).not.toContain('secret@')
  expect(stderr).not.toContain('    at ')
  expect(stdout).not.toContain('Sandbox A ')
})
