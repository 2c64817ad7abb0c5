// The page, served with the headers it is deployed with, beside a service that follows the contract and plays what a test tells it to. What
// the real functions never send (hostile texts, broken streams, every kind of failure) is sent by this one.
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join, normalize } from 'node:path'
import { buildPage } from '../../src/build/page.js'
import {
  json,
  type LocalServer,
  type RecordedRequest,
  type Reply,
  startServer,
} from '../../src/emulators/faulty-server.js'
import { summaryBlocks } from '../../src/handoff/domain/summary/summary-blocks.js'
import { commit, earlier, pieces, repository, run, someAnswer, someRun, summary, token } from './content.js'

export interface Events {
  /** Words have an id, other events none. */
  send(name: string, data: unknown, id?: string): void
  /** Waits, but not beyond the end of the connection. */
  pause(milliseconds: number): Promise<void>
  gone(): boolean
  response: ServerResponse
}

export interface Script {
  repositories: string[]
  runs: Record<string, unknown>[]
  summary: string
  /** Instead of those that the product's parser makes of the summary. */
  summaryBlocks?: unknown
  diagram?: unknown
  handoff: Record<string, unknown>
  answers: Record<string, unknown>[]
  models: string[]
  /** What `/api/auth/session` says. */
  session: { offered: boolean; signedIn: boolean; user?: { id: number; login: string } }
  /** Repositories that the person may not read any more. */
  lost: Set<string>
  /** What was said of answers. */
  feedback: unknown[]
  /** How a question is answered. */
  play(events: Events, question: Record<string, unknown>): Promise<void>
  /** How an answer that is being made goes on after the last event that was seen. Without it the record is sent. */
  follow?(events: Events, since: string | undefined): Promise<void>
}

export interface ScriptedService extends LocalServer {
  script: Script
  /** The built page. */
  folder: string
  /** Puts everything back to how it began. */
  reset(): void
  questions: Record<string, unknown>[]
}

const root = join(import.meta.dirname, '../..')
const types: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
  txt: 'text/plain; charset=utf-8',
}

/** The headers of `vercel.json`. With what they say of trusted types Chromium itself refuses every way to turn text into markup. */
async function pageHeaders(): Promise<Record<string, string>> {
  const deployment = JSON.parse(await readFile(join(root, 'vercel.json'), 'utf8')) as {
    headers: { source: string; headers: { key: string; value: string }[] }[]
  }
  const all = deployment.headers.flatMap(({ headers }) => headers)
  const headers = Object.fromEntries(all.map(({ key, value }) => [key.toLowerCase(), value]))
  const policy = headers['content-security-policy']
  for (const part of ["default-src 'none'", "require-trusted-types-for 'script'"])
    if (!policy?.includes(part)) throw new Error('vercel.json does not set the policy the page relies on')
  return headers
}

export async function startService(): Promise<ScriptedService> {
  const headers = await pageHeaders()
  const folder = await mkdtemp(join(tmpdir(), 'page-'))
  await buildPage(root, folder)
  const questions: Record<string, unknown>[] = []
  const script = beginning()
  const server = await startServer('the scripted ask service', async (request, response) => {
    const url = new URL(request.path, 'http://localhost')
    if (!url.pathname.startsWith('/api/')) return page(folder, url.pathname, headers)
    if (url.pathname === '/api/auth/session') return json(200, { ...script.session })
    if (url.pathname === '/api/auth/logout') {
      script.session = { ...script.session, signedIn: false }
      return { status: 204 }
    }
    if (!script.session.signedIn && request.headers['authorization'] !== `Bearer ${token}`) return refuse()
    if (script.lost.has(String(url.searchParams.get('repository')))) return noAccess()
    if (request.method === 'PATCH') return feedback(request, script)
    if (url.pathname === '/api/ask') return answer(request, response, script, questions)
    const { follow } = script
    if (follow && /\/answers\/\w+$/.test(url.pathname) && request.headers['accept']?.includes('event-stream'))
      return playEvents(response, (events) => follow(events, request.headers['last-event-id']))
    return data(url, script)
  })
  return {
    ...server,
    script,
    questions,
    folder,
    async close() {
      await server.close()
      await rm(folder, { recursive: true, force: true })
    },
    reset() {
      server.clearRules()
      server.requests.length = 0
      questions.length = 0
      delete script.summaryBlocks
      delete script.diagram
      delete script.follow
      Object.assign(script, beginning())
    },
  }
}

const beginning = (): Script => ({
  repositories: [repository, 'octo/website'],
  runs: [0, 1, 2].map(someRun),
  summary,
  handoff: { version: 1, host: 'github.com', repository, model: { name: 'gpt-5.2-mini', host: 'api.openai.com' } },
  answers: structuredClone(earlier),
  play: answerInSteps,
  models: ['gpt-5.2-mini'],
  session: { offered: false, signedIn: false },
  lost: new Set(),
  feedback: [],
})

async function page(folder: string, path: string, headers: Record<string, string>): Promise<Reply> {
  const name = normalize(path === '/' ? '/index.html' : path)
  const body = await readFile(join(folder, name)).catch(() => undefined)
  if (!body) return { status: 404, headers, body: 'not found' }
  return { status: 200, headers: { ...headers, 'content-type': types[name.slice(name.lastIndexOf('.') + 1)]! }, body }
}

export function problem(status: number, title: string, more: Record<string, unknown> = {}): Reply {
  const document = { type: 'about:blank', title, status, instance: '/api', requestId: `req-${status}`, ...more }
  return { ...json(status, document), headers: { 'content-type': 'application/problem+json' } }
}

const refuse = () =>
  problem(401, 'Not signed in', {
    detail: 'The token is not one that this service knows.',
    next: 'Paste the token you were given, whole.',
    code: 'unauthorized',
  })

const noAccess = () =>
  problem(403, 'Not allowed', {
    detail: 'You may not read this repository on GitHub.',
    next: 'Ask its owner for access.',
    code: 'forbidden',
  })

function feedback(request: RecordedRequest, script: Script): Reply {
  script.feedback.push(JSON.parse(request.body.toString()))
  return json(200, { useful: 1, notUseful: 0 })
}

function data(url: URL, script: Script): Reply {
  const [, , , runId, part, id] = url.pathname.split('/')
  if (runId === undefined)
    return url.searchParams.has('repository')
      ? json(200, runsOf(url, script))
      : json(200, { repositories: script.repositories, models: script.models })
  if (part === 'files')
    return json(200, {
      path: url.searchParams.get('path'),
      blob: 'c'.repeat(40),
      from: 11,
      lines: ['', 'line twelve', 'line thirteen', 'line fourteen', ''],
    })
  if (id !== undefined) return one(script.answers.find((known) => known['id'] === id))
  if (part === 'answers') return json(200, answersOf(url, script))
  const found = script.runs.find((known) => known['run'] === decodeURIComponent(runId))
  const blocks = script.summaryBlocks ?? summaryBlocks(script.summary, commit, { host: 'github.com', repository })
  const { summary, diagram, handoff } = script
  return one(found && { ...found, summary, summaryBlocks: blocks, ...(diagram ? { diagram } : {}), handoff })
}

const one = (value: Record<string, unknown> | undefined) =>
  value
    ? json(200, value)
    : problem(404, 'Not found', {
        detail: 'Commit 3f9c2a71d04b was never summarised.',
        next: 'Summarise the commit first: push it, or run the workflow by hand.',
        code: 'not-found',
      })

/** Two runs on a page, to have more than one page. */
function runsOf(url: URL, script: Script) {
  const runs = script.runs.filter((known) => known['repository'] === url.searchParams.get('repository'))
  const ref = url.searchParams.get('ref')
  if (ref !== null) return { runs: runs.filter((known) => known['ref'] === `refs/heads/${ref}`) }
  const from = Number(url.searchParams.get('cursor') ?? 0)
  return { runs: runs.slice(from, from + 2), ...(runs.length > from + 2 ? { next: String(from + 2) } : {}) }
}

function answersOf(url: URL, { answers }: Script) {
  const from = Number(url.searchParams.get('cursor') ?? 0)
  const limit = Number(url.searchParams.get('limit') ?? 20)
  const listed = answers.slice(from, from + limit).map(({ code: _code, blocks: _blocks, ...answer }) => answer)
  return { answers: listed, ...(answers.length > from + limit ? { next: String(from + limit) } : {}) }
}

async function answer(
  request: RecordedRequest,
  response: ServerResponse,
  script: Script,
  questions: Record<string, unknown>[],
): Promise<Reply | undefined> {
  const question = JSON.parse(request.body.toString()) as Record<string, unknown>
  questions.push(question)
  return playEvents(response, (events) => script.play(events, question))
}

async function playEvents(response: ServerResponse, play: (events: Events) => Promise<void>): Promise<undefined> {
  const gone = () => response.destroyed || response.writableEnded
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' })
  await play({
    response,
    gone,
    send: (name, value, id) =>
      void response.write(`event: ${name}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(value)}\n\n`),
    pause: (milliseconds) =>
      new Promise((resolve) => {
        const end = () => {
          clearTimeout(timer)
          response.off('close', end)
          resolve()
        }
        const timer = setTimeout(end, milliseconds)
        response.once('close', end)
      }),
  })
  if (!gone()) response.end()
  return undefined
}

/** Plays all steps of a question. `pace` makes them slower, for screenshots. */
export const answerInSteps = (events: Events, question: Record<string, unknown>) => inSteps(events, question, 0)

export async function inSteps(events: Events, question: Record<string, unknown>, pace: number): Promise<void> {
  const { send, pause } = events
  const status = (state: string, more: Record<string, unknown> = {}) => send('status', { state, ...more })
  const step = async (name: string, milliseconds: number, inside: () => Promise<void> | void = () => {}) => {
    status('step', { step: name, at: Date.now() })
    await pause(milliseconds * pace)
    await inside()
    status('step-done', { step: name, milliseconds: Math.max(1, milliseconds * pace) })
  }
  const id = someAnswer()['id']
  status('looking', { requestId: 'req-ask' })
  await step('look up', 60)
  await step('claim', 40)
  status('accepted', { id, run, self: someAnswer()['self'] })
  await step('open sandbox', 400, () => status('sandbox-open', { id: 'i7x2k9', template: 'base' }))
  await step('find', 500, () => status('found', { count: 9, files: 4 }))
  await step('answer', 0, async () => {
    for (const [index, text] of pieces.entries()) {
      send('token', { text })
      if (index === 2) status('sandbox-gone', { id: 'i7x2k9' })
      await pause(30 * pace)
    }
  })
  send('usage', { purpose: 'answer', inputTokens: 8_412, outputTokens: 221 })
  await step('check', 5)
  await step('keep', 40)
  send('answer', someAnswer({ question: question['question'] }))
}

/** A stored answer: no sandbox. */
export async function fromStore({ send }: Events, question: Record<string, unknown>): Promise<void> {
  send('status', { state: 'looking', requestId: 'req-ask' })
  send('status', { state: 'reused', id: someAnswer()['id'] })
  send(
    'answer',
    someAnswer({
      question: question['question'],
      reused: true,
      completedAt: new Date(Date.now() - 180_000).toISOString(),
    }),
  )
}
