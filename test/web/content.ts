// What the scripted service serves: a small repository, its runs, an answer. Written as a service would send it.

import { parseDocument } from '../../src/handoff/domain/markdown/parse-document.js'

export const repository = 'octo/tools'
export const commit = '3f9c2a71d04be85f6a1c9d2e7b8054f3c6a91e20'
export const run = `${commit}-18442-1`
export const token = 'page-test-token-7f3a'
export const question = 'How is the token refreshed?'

const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()

export const summary = `# octo/tools at ${commit}

## What it is and for whom

A small library that keeps **access tokens** fresh, for services that talk to slow partners. It asks for a new token only when the old one is older than an hour (src/token.ts:4-9), and shares one request between all who wait.

## How it is built

- \`src/token.ts:1\` decides when a token is too old.
- \`src/partners/request.ts:12-40\` asks the partner and reads the reply.
- Everything else is wiring: see src/index.ts:1.

## Where to start reading

Start at src/token.ts:4 and follow \`requestToken\`.

\`\`\`ts
const token = await refreshToken(known)
\`\`\`

## How to build, test and run it, and its risks

Run \`npm test\`. The clock is not injected, so the hour cannot be tested quickly.

---

| files | count | |
| --- | ---: | --- |
| read whole | 41 | |
| read in part | 3 | |
| in the commit | 52 | 184220 bytes |
`

export function someRun(index = 0): Record<string, unknown> {
  const sha = index === 0 ? commit : `${index}`.padStart(2, '0').repeat(20)
  return {
    run: index === 0 ? run : `${sha}-${18_442 - index}-1`,
    repository,
    commit: sha,
    ref: index === 1 ? 'refs/pull/12/head' : index === 2 ? 'refs/heads/release/2.x' : 'refs/heads/main',
    sealedAt: hoursAgo(2 + index * 30),
    model: 'gpt-5.2-mini',
    files: 52 - index,
    ...(index === 2 ? { partial: 'the survey reached its limit' } : {}),
    self: `/api/runs/x?repository=octo%2Ftools`,
  }
}

const code = [
  'import { requestToken } from "./partners/request.js"',
  '',
  'const hour = 3_600_000',
  '',
  '/** Refreshes the token when it is older than an hour; waiting callers share one request. */',
  'export async function refreshToken(token: Token): Promise<Token> {',
  '  if (Date.now() - token.issuedAt < hour) return token',
  '  pending ??= requestToken(token.account).finally(() => (pending = undefined))',
  '  return pending',
  '}',
]

export const answerText =
  'A token that is **younger than an hour** is returned as it is [src/token.ts:7].\n\n' +
  'An older one is asked for anew, and each waiting caller shares that one request [src/token.ts:8-9]:\n\n' +
  '1. `refreshToken` looks at `issuedAt`.\n2. It calls `requestToken` for the account [src/partners/request.ts:12-14].\n3. The reply becomes the token of all callers.\n'

const citation = (path: string, from: number, to: number, quote?: string) => ({
  path,
  from,
  to,
  label: `${path}:${from === to ? from : `${from}-${to}`}`,
  url: `https://github.com/${repository}/blob/${commit}/${path}#L${from}`,
  ...(quote === undefined ? {} : { quote }),
})

/** The service parses the text with the product's own parser. */
export function someAnswer(more: Record<string, unknown> = {}): Record<string, unknown> {
  const answer = { ...plainAnswer(), ...more }
  const citations = (answer.citations as { label: string }[]).map(({ label }) => label)
  const home = { host: 'github.com', path: repository }
  return { blocks: parseDocument(String(answer.text), { citations, repository: home }), ...answer }
}

function plainAnswer(): Record<string, unknown> & { text: unknown; citations: unknown } {
  return {
    status: 'done',
    id: 'a1b2c3d4e5f60718293a4b5c6d7e8f90',
    repository,
    run,
    commit,
    question,
    text: answerText,
    markdown: answerText,
    citations: [
      citation('src/token.ts', 7, 7, 'if (Date.now() - token.issuedAt < hour) return token'),
      citation('src/token.ts', 8, 9),
      citation('src/partners/request.ts', 12, 14),
    ],
    code: [{ path: 'src/token.ts', blob: 'b'.repeat(40), from: 1, lines: code }],
    verified: '3 of 3 citations verified',
    unsupported: 0,
    unanswered: false,
    truncated: false,
    model: 'gpt-5.2-mini',
    usage: { inputTokens: 8_412, outputTokens: 221 },
    cost: { amount: 0.0031, currency: 'USD', source: 'settings' },
    acceptedAt: hoursAgo(0.001),
    completedAt: new Date().toISOString(),
    seconds: { 'open sandbox': 0.4, find: 1.2, answer: 1.9 },
    reused: false,
    self: `/api/runs/${run}/answers/a1b2c3d4e5f60718293a4b5c6d7e8f90?repository=octo%2Ftools`,
  }
}

/** The answer in the pieces a model sends, with citations as models write them. */
export const pieces = answerText.replace(/\[(src\/[^\]]+)\]/g, '[[$1 "token"]]').match(/[\s\S]{1,12}/g) ?? []

export const earlier = [
  {
    ...someAnswer({ question: 'Which partners are there?', id: '0'.repeat(32), completedAt: hoursAgo(26) }),
    code: undefined,
  },
  {
    status: 'failed',
    id: '1'.repeat(32),
    repository,
    run,
    commit,
    question:
      'What happens when the partner does not answer at all, and how long does it wait before it gives up and tells the caller?',
    acceptedAt: hoursAgo(50),
    error: { code: 'model', message: 'The model’s service did not answer.', next: 'Ask again in a moment.' },
  },
]
