// docs/service.md shows what happens: its transcripts are run, and its table of codes is complete.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { requiredSettings } from '../../src/handoff/domain/settings.js'
import { statusByCode } from '../../src/service/http/problem-details.js'
import { type Deployment, deploy, root, token } from './kit.js'

const text = readFileSync(join(root, 'docs/service.md'), 'utf8')
const run = promisify(execFile)
let here: Deployment

beforeAll(async () => {
  here = await deploy()
}, 200_000)

afterAll(async () => {
  await here?.close()
})

const transcripts = [...text.matchAll(/```console\n\$ (.*)\n([\s\S]*?)```/g)].map((match) => ({
  command: match[1]!,
  output: match[2]!,
}))

/** `…` stands for anything, also for several lines. */
function likeShown(output: string): RegExp {
  const parts = output
    .trim()
    .split('…')
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('[\\s\\S]*')}\\s*$`)
}

test('there are transcripts', () => {
  expect(transcripts.length).toBeGreaterThanOrEqual(7)
})

test('each command prints what is shown, in the order of the page', async () => {
  for (const { command, output } of transcripts) {
    const real = command.replaceAll('https://handoff.example.org', here.url)
    const { stdout } = await run('bash', ['-c', real], { env: { PATH: process.env['PATH'] ?? '', TOKEN: token } })
    expect(stdout.replaceAll('\r', ''), command).toMatch(likeShown(output))
  }
})

test('the deploy button names this repository and the settings that an answer needs', () => {
  const { repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { repository: string }
  const published = `https://github.com/${repository.replace('github:', '')}`
  const address = new URL(/\]\((https:\/\/vercel\.com\/new\/clone[^)]*)\)/.exec(text)![1]!)
  expect(address.searchParams.get('repository-url')).toBe(published)
  expect(address.searchParams.get('env')!.split(',')).toEqual([...requiredSettings, 'HANDOFF_BEARERS'])
  expect(address.searchParams.get('envLink')).toBe(`${published}/blob/main/docs/settings.md`)
})

test('every code that an answer may carry is explained', () => {
  const rows = text.slice(text.indexOf('## Statuses and codes'), text.indexOf('## What holds'))
  for (const [code, status] of Object.entries(statusByCode)) {
    const row = rows.split('\n').find((line) => line.includes(`\`${code}\``))
    expect(row, code).toBeDefined()
    expect(row!.split('|')[1]).toContain(String(status))
  }
})
