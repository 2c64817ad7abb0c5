// `npm run doctor -- <url>`: looks at a deployment from outside and says what is not as it should be. Sends nothing that costs; with
// HANDOFF_TOKEN in the environment it also checks what needs authentication.

import { HandoffError } from '../handoff/domain/errors.js'
import { parseJson } from '../handoff/util/decode.js'
import { fetchText } from '../handoff/util/http.js'
import { parseHttpUrl } from '../handoff/util/http-url.js'
import { type Given, runCommand } from './command-line.js'
import { readEnvironment } from './load-env.js'

interface Finding {
  what: string
  /** Undefined when the check passed. */
  problem?: string
  next?: string
}

interface Seen {
  status: number
  headers: Headers
  text: string
}

const command = {
  name: 'doctor',
  description:
    'Looks at a deployment from outside and says what is wrong with it. HANDOFF_TOKEN in the environment lets it look inside too.',
  positionals: { usage: 'https://<deployment>', least: 1, most: 1 },
  options: {},
  example: 'doctor -- https://handoff.example.org',
  cost: 'nothing; about twenty small requests, no sandbox and no model.',
} as const

const longestLookMs = 20_000

async function look(url: URL, path: string, init: Omit<RequestInit, 'signal'> = {}): Promise<Seen> {
  return fetchText(new URL(path, url), { redirect: 'manual', timeoutMs: longestLookMs, ...init })
}

function json(text: string): Record<string, unknown> {
  const value = parseJson(text)
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

async function checkHealth(url: URL): Promise<Finding[]> {
  const { status, text, headers } = await look(url, '/api/health')
  if (status === 401 && !headers.has('x-request-id')) {
    const next =
      'Check the production address, or switch Deployment Protection off for it: GitHub and jobs cannot pass it.'
    return [{ what: 'health', problem: 'the platform itself asks for a login before our code is reached', next }]
  }
  const { missing, wrong, wanted = {}, status: state, ways } = json(text) as Health
  if (state === undefined)
    return [{ what: 'health', problem: `the answer (${status}) is not that of handoff`, next: 'Check the address.' }]
  return [
    {
      what: 'settings are there',
      ...(missing?.length
        ? { problem: `missing: ${missing.join(', ')}`, next: 'Set them in the project and deploy again.' }
        : {}),
    },
    {
      what: 'settings can be read',
      ...(wrong?.length
        ? {
            problem: `cannot be read: ${wrong.join(', ')}`,
            next: wrong.map((name) => `${name}: ${wanted[name] ?? 'see docs/settings.md'}.`).join('\n  '),
          }
        : {}),
    },
    ...(ways === undefined ? [] : checkWays(ways)),
  ]
}

interface Health {
  missing?: string[]
  wrong?: string[]
  /** What each of the wrong ones has to be. */
  wanted?: Record<string, string>
  status?: string
  ways?: { webhook?: boolean; comments?: boolean }
}

/** Checks access settings that do not work. */
function checkWays({ webhook, comments }: NonNullable<Health['ways']>): Finding[] {
  const dumb = webhook && !comments
  return [
    {
      what: 'who asks in a comment can be answered there',
      ...(dumb
        ? {
            problem: 'there is a webhook, and nothing to write comments with',
            next: 'Set HANDOFF_GITHUB_TOKEN, or HANDOFF_APP_ID and HANDOFF_APP_PRIVATE_KEY.',
          }
        : {}),
    },
  ]
}

const closed: [string, string, RequestInit][] = [
  [
    'questions want a token',
    '/api/ask',
    { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } },
  ],
  ['runs want a token', '/api/runs', {}],
  ['the webhook wants a signature', '/api/github', { method: 'POST', body: '{}' }],
  ['the webhook of E2B wants a signature', '/api/sandboxes', { method: 'POST', body: '{}' }],
]

async function checkClosed(url: URL): Promise<Finding[]> {
  return Promise.all(
    closed.map(async ([what, path, init]) => {
      const { status } = await look(url, path, init)
      return {
        what,
        ...(status === 401 ? {} : { problem: `${path} answered ${status} without a token; 401 was expected` }),
      }
    }),
  )
}

/** What must never be published. */
const secretPlaces = [
  '/.env',
  '/package.json',
  '/vercel.json',
  '/action.yml',
  '/src/handoff/index.ts',
  '/src/service/app.ts',
  '/test/service/kit.ts',
  '/dist/index.js',
  '/.git/config',
]

async function checkPublished(url: URL): Promise<Finding[]> {
  const found = await Promise.all(secretPlaces.map(async (path) => ({ path, seen: await look(url, path) })))
  const open = found.filter(({ seen }) => seen.status === 200).map(({ path }) => path)
  const next = 'outputDirectory in vercel.json must be dist/web, and buildCommand empty.'
  return [
    {
      what: 'only the page is published',
      ...(open.length === 0 ? {} : { problem: `also published: ${open.join(', ')}`, next }),
    },
  ]
}

async function checkPage(url: URL): Promise<Finding[]> {
  const { status, headers } = await look(url, '/')
  const policy = headers.get('content-security-policy') ?? ''
  const strict = policy.includes("default-src 'none'") && !policy.includes('unsafe')
  return [
    { what: 'the page is there', ...(status === 200 ? {} : { problem: `/ answered ${status}` }) },
    {
      what: 'the page may run nothing but its own files',
      ...(strict ? {} : { problem: 'its Content-Security-Policy is missing or loose' }),
    },
    {
      what: 'addresses are used by https only',
      ...(url.protocol === 'https:' || ['localhost', '127.0.0.1'].includes(url.hostname)
        ? {}
        : { problem: 'tokens travel in clear text' }),
    },
  ]
}

async function checkDescription(url: URL): Promise<Finding[]> {
  const { status, text } = await look(url, '/api/openapi')
  const fits = status === 200 && String(json(text)['openapi']).startsWith('3.1')
  return [{ what: 'the description is there', ...(fits ? {} : { problem: `/api/openapi answered ${status}` }) }]
}

interface Checked {
  status?: string
  code?: string
}

async function checkInside(url: URL, token: string): Promise<Finding[]> {
  const { status, text } = await look(url, '/api/health?deep=1', { headers: { authorization: `Bearer ${token}` } })
  const { drive, sandboxes } = json(text) as { drive?: Checked; sandboxes?: Checked }
  if (status === 401 || status === 403) return [{ what: 'the token is known', problem: 'HANDOFF_TOKEN was refused' }]
  const problem = (found: Checked | undefined) =>
    found?.status === 'ok' ? {} : { problem: found?.code ?? found?.status ?? `status ${status}` }
  return [
    { what: 'the token is known' },
    { what: 'drive9 is ready', ...problem(drive) },
    { what: 'E2B takes the key', ...problem(sandboxes) },
  ]
}

async function checkAll(url: URL, token: string | undefined): Promise<Finding[]> {
  const checks = [checkHealth, checkClosed, checkPublished, checkPage, checkDescription]
  const found = await Promise.all(checks.map((check) => check(url)))
  return [...found.flat(), ...(token === undefined ? [] : await checkInside(url, token))]
}

/** The code of what lies beneath. Messages of others stay out: they may repeat whatever they were given. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  if (error.name === 'TimeoutError') return `no answer within ${longestLookMs / 1_000} seconds`
  const { code } = (error.cause ?? error) as { code?: unknown }
  if (typeof code === 'string' && /^[A-Z][A-Z0-9_]+$/.test(code)) return code
  return error instanceof TypeError ? 'nothing can be asked at such an address' : error.name
}

async function doctor({ positionals: [address = ''] }: Given<typeof command.options>): Promise<number> {
  const url = parseHttpUrl(address)
  if (!url) {
    throw new HandoffError('invalid-input', `${address} is not an http(s) address.`, {
      next: 'Write: npm run doctor -- https://<deployment>',
    })
  }
  const token = readEnvironment()['HANDOFF_TOKEN']?.trim()
  try {
    const findings = await checkAll(url, token === '' ? undefined : token)
    for (const { what, problem, next } of findings) {
      process.stdout.write(
        `${problem === undefined ? '✓' : '✗'} ${what}${problem === undefined ? '' : `: ${problem}`}\n`,
      )
      if (next !== undefined) process.stdout.write(`  ${next}\n`)
    }
    const wrong = findings.filter(({ problem }) => problem !== undefined).length
    process.stdout.write(
      wrong === 0
        ? 'The deployment is as it should be.\n'
        : `${wrong} of ${findings.length} are not as they should be.\n`,
    )
    return wrong === 0 ? 0 : 1
  } catch (error) {
    process.stderr.write(`${address} cannot be reached: ${reasonOf(error)}\n`)
    return 1
  }
}

await runCommand(command, doctor)
