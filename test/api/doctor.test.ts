// `npm run doctor` finds nothing wrong with a deployment that is as it should be, and names what is.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Deployment, deploy, root, token } from './kit.js'

let here: Deployment

beforeAll(async () => {
  here = await deploy()
}, 200_000)

afterAll(async () => {
  await here?.close()
})

function doctor(
  address: string,
  environment: Record<string, string> = {},
): Promise<{ code: number | null; text: string }> {
  const loader = join(root, 'src/local/typescript.mjs')
  const child = spawn(process.execPath, ['--import', loader, join(root, 'src/commands/doctor.ts'), address], {
    env: { PATH: process.env['PATH'] ?? '', ...environment },
  })
  let text = ''
  child.stdout.on('data', (piece) => {
    text += String(piece)
  })
  child.stderr.on('data', (piece) => {
    text += String(piece)
  })
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, text })))
}

test('a good deployment, from outside and with a token', async () => {
  const { code, text } = await doctor(here.url, { HANDOFF_TOKEN: token })
  expect(text).toContain('The deployment is as it should be.')
  expect(text).toContain('✓ the directory is reached')
  expect(text).not.toContain('✗')
  expect(code).toBe(0)
})

test('a setting that is missing, one that cannot be read, a token that is not known', async () => {
  const broken = await here.another({ LLM_MODEL: '', HANDOFF_CALLER_TOKENS: 'many' })
  const { code, text } = await doctor(broken.url, { HANDOFF_TOKEN: 'x' })
  expect(code).toBe(1)
  expect(text).toContain('✗ settings are there: missing: LLM_MODEL')
  expect(text).toContain('✗ settings can be read: cannot be read: HANDOFF_CALLER_TOKENS')
  expect(text).toContain('✗ the token is known')
})

test('no address, nobody at the address', async () => {
  expect((await doctor('nowhere')).code).toBe(2)
  expect((await doctor('http://127.0.0.1:9')).text).toContain('cannot be reached')
})
