// The health check names invalid settings where the product and the service refuse them, and says what each has to be.

import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { replyLimit, type WantedReply } from '../../src/handoff/domain/model-limits.js'
import { budgetProblem, type HandoffError, isHandoffError, makeGitHub, parseSettings } from '../../src/handoff/index.js'
import { isLoopback } from '../../src/handoff/util/http-url.js'
import { invalidSettings } from '../../src/service/routes/health.js'
import { readServiceSettings } from '../../src/service/settings.js'

const needed = { E2B_API_KEY: 'x', DRIVE9_API_KEY: 'x', LLM_API_KEY: 'x', LLM_MODEL: 'x' }
const addresses = [
  'http://127.0.0.1:1',
  'https://a.example/v1/',
  'nonsense',
  'ftp://a.example',
  'https://me:secret@a.example',
  ' ',
  '',
]
const numbers = ['0', '1', '0.5', '1e3', '-1', 'many', 'NaN', 'Infinity', ' 7 ', '']
const roots = ['/handoff', '/a/b.c/', '/', '', 'x/../y', '/..', '/a/../b', '/a b', 'handoff', '/.hidden']
const settings: Record<string, string[]> = {
  LLM_BASE_URL: addresses,
  DRIVE9_SERVER: addresses,
  E2B_API_URL: addresses,
  E2B_SANDBOX_URL: addresses,
  DRIVE9_BINARY_URL: [...addresses, 'http://a.example/drive9'],
  DRIVE9_BINARY_SHA256: ['', ' ', 'latest', 'a'.repeat(63), 'a'.repeat(64), 'A'.repeat(64)],
  LLM_PRICE_INPUT: numbers,
  LLM_PRICE_OUTPUT: numbers,
  HANDOFF_MAX_COST: numbers,
  LLM_CONTEXT_TOKENS: numbers,
  HANDOFF_MAX_INPUT_TOKENS: numbers,
  HANDOFF_DEADLINE_SECONDS: numbers,
  DRIVE9_ROOT: roots,
}

function isRead(environment: Record<string, string>): boolean {
  try {
    parseSettings(environment)
    return true
  } catch (error) {
    if (isHandoffError(error, 'invalid-input')) return false
    throw error
  }
}

const wrongIn = (environment: Record<string, string>) => invalidSettings(readServiceSettings(environment), environment)

test.each(Object.entries(settings))(
  '%s is wrong for the health check where it is for the product',
  async (name, values) => {
    for (const value of values) {
      const environment = { ...needed, [name]: value }
      expect({ value, wrong: name in (await wrongIn(environment)) }).toEqual({
        value,
        wrong: !isRead(environment),
      })
    }
  },
)

/** What the product says of a deployment's limits when the first question has to be worked on. */
function refusalOf(environment: Record<string, string>): HandoffError | undefined {
  const { model } = parseSettings(environment)
  const asked = { ...model, replyTokens: (wanted: WantedReply) => replyLimit(model, wanted) }
  return budgetProblem(readServiceSettings(environment).limits, asked, model.prices)
}

test('what a caller may take in a day holds one question at least, for the health check as for the product', async () => {
  const prices = { LLM_PRICE_INPUT: '1', LLM_PRICE_OUTPUT: '1' }
  const budgets: [name: string, value: string, more: Record<string, string>, fits: boolean][] = [
    ['HANDOFF_CALLER_TOKENS', '107399', { LLM_MODEL: 'gpt-4o' }, false],
    ['HANDOFF_CALLER_TOKENS', '107400', { LLM_MODEL: 'gpt-4o' }, true],
    // A model that thinks needs room for it, and for a second request.
    ['HANDOFF_CALLER_TOKENS', '226999', { LLM_MODEL: 'gpt-6-luna' }, false],
    ['HANDOFF_CALLER_TOKENS', '227000', { LLM_MODEL: 'gpt-6-luna' }, true],
    ['HANDOFF_CALLER_TOKENS', '36900', { LLM_MODEL: 'gpt-4o', LLM_CONTEXT_TOKENS: '8000' }, true],
    ['HANDOFF_CALLER_TOKENS', '1e7', {}, true],
    ['HANDOFF_CALLER_TOKENS', '0', {}, false],
    ['HANDOFF_CALLER_TOKENS', 'many', {}, false],
    ['HANDOFF_CALLER_TOKENS', '', {}, true],
    ['HANDOFF_CALLER_COST', '5', { LLM_MODEL: 'gpt-4o' }, true],
    ['HANDOFF_CALLER_COST', '0.31', { LLM_MODEL: 'gpt-4o' }, false],
    ['HANDOFF_CALLER_COST', '0.32', { LLM_MODEL: 'gpt-4o' }, true],
    ['HANDOFF_CALLER_COST', '5', { LLM_MODEL: 'no-known-price' }, false],
    ['HANDOFF_CALLER_COST', '5', { LLM_MODEL: 'no-known-price', ...prices }, true],
    ['HANDOFF_CALLER_COST', '5', { LLM_MODEL: 'no-known-price', LLM_PRICE_INPUT: '1' }, false],
    ['HANDOFF_CALLER_COST', '', { LLM_MODEL: 'no-known-price' }, true],
  ]
  for (const [name, value, more, fits] of budgets) {
    const environment = { ...needed, ...more, [name]: value }
    const named = Object.keys(await wrongIn(environment)).filter((one) => one === name)
    const refusal = await refusalOf(environment)
    expect({ environment, named, code: refusal?.code }).toEqual({
      environment,
      named: fits ? [] : [name],
      code: fits ? undefined : 'missing-setting',
    })
    expect(`${refusal?.message} ${refusal?.next}`.includes(name)).toBe(!fits)
  }
})

test.each([
  ['HANDOFF_CALLER_TOKENS', { LLM_MODEL: 'gpt-4o' }],
  ['HANDOFF_CALLER_COST', { LLM_MODEL: 'gpt-4o' }],
  // Not a whole number of cents.
  ['HANDOFF_CALLER_COST', { LLM_PRICE_INPUT: '1', LLM_PRICE_OUTPUT: '1' }],
  ['HANDOFF_CALLER_COST', { LLM_PRICE_INPUT: '0.01', LLM_PRICE_OUTPUT: '0.01' }],
])('%s: what the refusal of a small budget says to set is enough', (name, more) => {
  const environment = { ...needed, LLM_MODEL: 'gpt-4o', ...more }
  const enough = /Set it to ([\d,.]+) or more/.exec(refusalOf({ ...environment, [name]: '0.0001' })?.next ?? '')?.[1]
  expect(refusalOf({ ...environment, [name]: String(enough).replaceAll(',', '') })).toBeUndefined()
})

test('a further model without a price is as wrong as the usual one', async () => {
  const environment = { ...needed, LLM_MODEL: 'gpt-4o', HANDOFF_MODELS: 'no-known-price', HANDOFF_CALLER_COST: '5' }
  expect(Object.keys(await wrongIn(environment))).toEqual(['HANDOFF_CALLER_COST'])
})

/** What it throws; undefined when nothing. */
function refusedWith(work: () => unknown): string | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return String(error)
  }
}

test('the key of the App is wrong for the health check where it is for the line to GitHub', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const pkcs1 = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString()
  const pkcs8 = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const spki = publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const curve = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const cipher = { cipher: 'aes-256-cbc', passphrase: 'x' }
  const keys: [what: string, key: string, read: boolean][] = [
    ['as downloaded', pkcs1, true],
    ['in the newer form', pkcs8, true],
    ['line ends as words', pkcs1.replaceAll('\n', '\\n'), true],
    ['line ends of Windows', pkcs1.replaceAll('\n', '\r\n'), true],
    ['line ends lost', pkcs1.replaceAll('\n', ' '), false],
    ['its end lost', pkcs1.slice(0, 200), false],
    ['without its first and last lines', pkcs1.split('\n').slice(1, -2).join('\n'), false],
    ['the public key', spki, false],
    ['of another kind', curve.export({ type: 'sec1', format: 'pem' }).toString(), false],
    ['with a passphrase', privateKey.export({ type: 'pkcs8', format: 'pem', ...cipher }).toString(), false],
    ['in base64', Buffer.from(pkcs1).toString('base64'), false],
    ['a word', 'key.pem', false],
  ]
  for (const [what, key, read] of keys) {
    const { wrong, github } = readServiceSettings({ ...needed, HANDOFF_APP_ID: '1', HANDOFF_APP_PRIVATE_KEY: key })
    const { app, apiUrl, serverUrl } = github
    const credentials = { appId: app!.id, privateKey: app!.privateKey }
    const makeClient = () => makeGitHub({ apiUrl, serverUrl, credentials, userAgent: 'test' })
    expect({ what, wrong: Object.keys(wrong), refused: refusedWith(makeClient) }).toEqual({
      what,
      wrong: read ? [] : ['HANDOFF_APP_PRIVATE_KEY'],
      refused: read ? undefined : expect.stringContaining('private key'),
    })
  }
})

test.each([
  ...addresses,
  'http://localhost:8080/_services/token',
  'http://[::1]:1',
  'http://127.0.0.1.evil.example',
  'http://localhost.evil.example',
  'http://git.example/_services/token',
])('jobs are let in by the keys of an issuer like %j only over a secure connection', (issuer) => {
  const environment = {
    ...needed,
    HANDOFF_OIDC_AUDIENCE: 'https://x',
    HANDOFF_OIDC_REPOSITORIES: '*',
    HANDOFF_OIDC_ISSUER: issuer,
  }
  const { oidc, wrong } = readServiceSettings(environment)
  const address = URL.canParse(issuer) ? new URL(issuer) : undefined
  const safe =
    address?.username === '' && (address.protocol === 'https:' || (/^http:/.test(issuer) && isLoopback(address)))
  const usual = issuer.trim() === ''
  expect({ wrong: Object.keys(wrong), open: oidc !== undefined }).toEqual({
    wrong: safe || usual ? [] : ['HANDOFF_OIDC_ISSUER'],
    open: safe || usual,
  })
})

test('an origin that no browser sends is refused', () => {
  const refused = ['example.com', 'https://example.com/', 'https://a.org/docs', '*', 'https://a.org, b.org', 'null']
  const wrong = { HANDOFF_CORS_ORIGINS: 'origins such as https://docs.example.org, separated by commas' }
  for (const origins of refused)
    expect(readServiceSettings({ ...needed, HANDOFF_CORS_ORIGINS: origins }).wrong).toEqual(wrong)
  const taken = readServiceSettings({ ...needed, HANDOFF_CORS_ORIGINS: 'https://a.org, http://localhost:3000' })
  expect(taken).toMatchObject({ wrong: {}, corsOrigins: ['https://a.org', 'http://localhost:3000'] })
})

test('what each wrong setting has to be is reported, and never what it is', async () => {
  const value = 'x y !? not it'
  const names = [
    'LLM_BASE_URL',
    'DRIVE9_SERVER',
    'DRIVE9_BINARY_URL',
    'DRIVE9_BINARY_SHA256',
    'DRIVE9_ROOT',
    'LLM_PRICE_INPUT',
    'LLM_CONCURRENCY',
    'LLM_REASONING_EFFORT',
    'HANDOFF_DEPTH',
    'HANDOFF_JOURNAL',
    'HANDOFF_QUEUE_URL',
    'GITHUB_SERVER_URL',
    'HANDOFF_OIDC_ISSUER',
    'HANDOFF_CALLER_TOKENS',
    'HANDOFF_BEARERS',
    'HANDOFF_ASK_PERMISSION',
    'HANDOFF_CORS_ORIGINS',
    'HANDOFF_APP_ID',
  ]
  for (const name of names) {
    const wrong = await wrongIn({ ...needed, [name]: value })
    expect(Object.keys(wrong).length, name).toBe(1)
    expect(Object.values(wrong)[0], name).toMatch(/^\S.{5,}[^.]$/)
    expect(Object.values(wrong)[0]).not.toContain(value)
  }
})
