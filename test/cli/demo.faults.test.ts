// The demo interrupted: by each signal and at any moment it leaves neither a process nor a directory.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { processesAbout } from '../support/processes.js'
import { makeRepository, type TestRepository } from '../support/repository.js'
import { startProgram } from '../support/run-program.js'
import { until } from '../support/until.js'

let repository: TestRepository
let temporary: string

beforeAll(async () => {
  temporary = mkdtempSync(join(tmpdir(), 'demo-'))
  repository = await makeRepository({
    'README.md': '# Clocks\n\nTells the time in every zone.\n',
    'src/clock.ts': 'export const tellTime = (zone: string) => new Date().toLocaleString("en", { timeZone: zone })\n',
  })
})

afterAll(async () => {
  await repository?.[Symbol.asyncDispose]()
  rmSync(temporary, { recursive: true, force: true })
})

const start = (words: string[]) => startProgram('src/cli/demo.ts', words, { TMPDIR: temporary })

test('Ctrl-C that comes twice, from the terminal and from npm, still ends the sandbox', async () => {
  const { child, ended } = start([repository.directory])
  let said = ''
  child.stdout!.on('data', (text: Buffer) => {
    said += text.toString()
  })
  await until('Sandbox A is up', () => said.includes('▲ Sandbox A'))
  child.kill('SIGINT')
  await new Promise((resolve) => setTimeout(resolve, 5))
  child.kill('SIGINT')
  const { code, stdout } = await ended
  expect(code).toBe(130)
  expect(stdout).toContain('▼ Sandbox A')
})

const steps = [
  'Summarise',
  '▲ Sandbox A',
  'open directory',
  'clone',
  'drain',
  '▼ Sandbox A',
  'seal',
  '▲ Sandbox B',
  'find',
  'keep',
]
const signals = ['SIGINT', 'SIGKILL', 'SIGTERM'] as const
const moments = steps.map((step, index) => ({ step, signal: signals[index % 3]! }))
/** One for each signal, now of this step, now of that; all of them in the long mode. */
const chosen =
  process.env['LONG'] === '1' ? moments : signals.map((_, index) => moments[3 * Math.floor(Math.random() * 3) + index]!)

test.each(chosen)('interrupted by $signal at "$step" it leaves nothing behind', async ({ step, signal }) => {
  const { child, ended } = start([repository.directory, 'How does tellTime know the zone?'])
  let said = ''
  child.stdout!.on('data', (text: Buffer) => {
    said += text.toString()
  })
  await until(`it says ${step}`, () => said.includes(step))
  child.kill(signal)
  await ended
  const what = `after ${signal} at ${step}`
  await until(`no process ${what}`, () => processesAbout(temporary).length === 0, 10_000)
  const left = () => readdirSync(temporary).filter((name) => name.startsWith('handoff-'))
  await until(`no directory ${what}`, () => left().length === 0, 10_000)
})

test('and after that a second run completes', async () => {
  const { code } = await start([repository.directory, 'How does tellTime know the zone?', '--json']).ended
  expect(code).toBe(0)
})
