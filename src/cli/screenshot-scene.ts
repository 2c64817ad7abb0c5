// What the pictures of the README show: a small repository, a question, and what the model stand-in replies. The product checks the reply as it
// checks every reply: a citation that does not hold would be missing in the picture.

export const repositoryName = 'octo/tools'
export const question = 'Do two callers ever request the same token twice?'

const lines = (...text: string[]) => `${text.join('\n')}\n`

export const files: Record<string, string> = {
  'README.md': lines(
    '# tools',
    '',
    'Keeps access tokens fresh for services that talk to slow partners.',
    '',
    'Run `npm test` to check it.',
  ),
  'src/token.ts': lines(
    "import { requestToken } from './partner.js'",
    '',
    'const hourMs = 3_600_000',
    'const pending = new Map<string, Promise<Token>>()',
    '',
    'export interface Token {',
    '  account: string',
    '  value: string',
    '  issuedAt: number',
    '}',
    '',
    '/** Callers that ask at the same time share one request. */',
    'export async function refreshToken(token: Token): Promise<Token> {',
    '  if (Date.now() - token.issuedAt < hourMs) return token',
    '  const running = pending.get(token.account)',
    '  if (running) return running',
    '  const request = requestToken(token.account).finally(() => pending.delete(token.account))',
    '  pending.set(token.account, request)',
    '  return request',
    '}',
  ),
  'src/partner.ts': lines(
    "import type { Token } from './token.js'",
    '',
    '/** The partner allows ten requests a minute for each account. */',
    'export async function requestToken(account: string): Promise<Token> {',
    "  const response = await fetch('https://partner.example/token', { method: 'POST', body: account })",
    '  if (!response.ok) throw new Error(`The partner answered ${response.status}.`)',
    '  return { account, value: await response.text(), issuedAt: Date.now() }',
    '}',
  ),
  'test/token.test.ts': lines(
    "import assert from 'node:assert'",
    "import { test } from 'node:test'",
    "import { refreshToken } from '../src/token.js'",
    '',
    "test('a young token is kept', async () => {",
    "  const token = { account: 'a', value: 'x', issuedAt: Date.now() }",
    '  assert.equal(await refreshToken(token), token)',
    '})',
  ),
}

export const summaryReply = `## What it is and for whom

A small library that keeps access tokens fresh, for services that talk to slow partners (README.md:3).

## How it is built

- \`refreshToken\` decides whether a token is too old (src/token.ts:14) and shares one request between callers (src/token.ts:16).
- \`requestToken\` asks the partner and reads the reply (src/partner.ts:5).

## Where to start reading

Start at src/token.ts:13, then read src/partner.ts:4.

## How to build, test and run it, and its risks

Run \`npm test\` (README.md:5). The tests do not cover a request that fails (test/token.test.ts:5).
`

export const answerReply = `No, not within one process. A request that is under way is kept by account, and later callers get the same promise. [[src/token.ts:15-16 "if (running) return running"]]

- A token younger than an hour is returned as it is, so it causes no request. [[src/token.ts:14 "if (Date.now() - token.issuedAt < hourMs) return token"]]
- The entry is removed when the request ends, also when it fails; the next caller then tries again. [[src/token.ts:17 "finally(() => pending.delete(token.account))"]]

Two processes do not share the map, so each sends a request of its own. [[src/token.ts:4 "const pending = new Map<string, Promise<Token>>()"]] The partner allows ten a minute for each account. [[src/partner.ts:3 "The partner allows ten requests a minute"]]
`
