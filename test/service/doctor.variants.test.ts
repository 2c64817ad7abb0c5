// `npm run doctor` finds nothing wrong with a deployment that is as it should be, and names what is.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startServer } from '../../src/emulators/faulty-server.js'
import { runProgram } from '../support/run-program.js'
import { type Deployment, deploy, name, post, token, webhookSecrets } from './kit.js'

let here: Deployment

beforeAll(async () => {
  here = await deploy()
}, 200_000)

afterAll(async () => {
  await here?.close()
})

async function doctor(address: string, environment: Record<string, string> = {}) {
  const { code, stdout, stderr } = await runProgram('src/cli/doctor.ts', [address], environment)
  return { code, text: stdout + stderr }
}

test('a good deployment, from outside and with a token', async () => {
  const { code, text } = await doctor(here.url, { HANDOFF_TOKEN: token })
  expect(text).toContain('The deployment is as it should be.')
  expect(text).toContain('✓ drive9 is ready')
  expect(text).toContain('✓ E2B takes the key')
  expect(text).not.toContain('✗')
  expect(code).toBe(0)
})

test('a setting that is missing, one that cannot be read, a token that is not known', async () => {
  const broken = await here.another({ LLM_MODEL: '', HANDOFF_CALLER_TOKENS: 'many' })
  const { code, text } = await doctor(broken.url, { HANDOFF_TOKEN: 'x' })
  expect(code).toBe(1)
  expect(text).toContain('✗ settings are there: missing: LLM_MODEL')
  expect(text).toContain('✗ settings can be read: cannot be read: HANDOFF_CALLER_TOKENS')
  expect(text).toContain('HANDOFF_CALLER_TOKENS: as many tokens as one question may take')
  expect(text).toContain('✗ the token is known')
})

test('a key that E2B does not take, a webhook that cannot answer, an address that is none', async () => {
  const broken = await here.another({
    E2B_API_KEY: 'e2b_0000000000000000000000000000000000000000',
    HANDOFF_WEBHOOK_SECRETS: webhookSecrets.join(','),
    LLM_PRICE_INPUT: 'cheap',
    DRIVE9_ROOT: 'x/../y',
  })
  const { code, text } = await doctor(broken.url, { HANDOFF_TOKEN: token })
  expect(code).toBe(1)
  expect(text).toContain('✗ settings can be read: cannot be read: DRIVE9_ROOT, LLM_PRICE_INPUT')
  expect(text).toContain('✗ who asks in a comment can be answered there')
  expect(text).toContain('✗ E2B takes the key: missing-setting')
  const asked = await post(broken.url, { repository: name, run: here.run.run, question: 'What is set?' })
  expect([asked.status, asked.body.code, asked.headers.get('retry-after')]).toEqual([503, 'missing-setting', null])
})

test('no address, and an address where no server listens', async () => {
  expect(await doctor('nowhere')).toMatchObject({ code: 1, text: expect.stringContaining('is not an http(s) address') })
  const gone = await startServer('gone', () => ({ status: 200 }))
  await gone.close()
  for (const [address, reason] of [
    [gone.url, 'ECONNREFUSED'],
    ['http://127.0.0.1:9', 'nothing can be asked at such an address'],
  ]) {
    const { code, text } = await doctor(address!)
    expect(code).toBe(1)
    expect(text).toMatch(new RegExp(`^${address} cannot be reached: (${reason})\n$`))
  }
})
