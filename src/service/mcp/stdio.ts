// The Model Context Protocol over standard input and output, for one person on one machine.
import { randomUUID } from 'node:crypto'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { type App, getApp } from '../app.js'
import type { RequestWork } from '../ask/question.js'
import { timeLimit } from '../http/request-deadline.js'
import { createMcpServer } from './server.js'
import type { McpSession } from './session.js'

/** As long as a function may take. */
const callMs = 300_000

/** Serves until the client closes its end or the signal is aborted. No call is left when it resolves. */
export async function serveMcp(ready: Promise<unknown>, stop: AbortSignal): Promise<void> {
  const closed = new AbortController()
  const calls = new Set<Promise<unknown>>()
  const { session, app } = localSession(ready, AbortSignal.any([stop, closed.signal]), calls)
  const ended = Promise.withResolvers<void>()
  process.stdin.once('end', () => ended.resolve())
  process.stdin.once('close', () => ended.resolve())
  stop.addEventListener('abort', () => ended.resolve(), { once: true })
  const handle = serveStdio(() => createMcpServer(session), { onerror: ({ message }) => app.log({ error: message }) })
  await ended.promise
  closed.abort()
  await handle.close()
  while (calls.size > 0) await Promise.allSettled(calls)
}

function localSession(
  ready: Promise<unknown>,
  client: AbortSignal,
  calls: Set<Promise<unknown>>,
): { session: McpSession; app: App } {
  const app = getApp()
  const hold = async (work: Promise<unknown>) => {
    calls.add(work)
    // The call itself reports its failure.
    await work.catch(() => undefined)
    calls.delete(work)
  }
  const session: McpSession = {
    app,
    caller: { way: 'bearer', name: 'local', repositories: [{ name: '*' }], mayComment: false },
    async run(call) {
      await ready
      const { work, end } = localWork(app, client, hold)
      const running = call(work)
      void hold(running).then(end)
      return running
    },
  }
  return { session, app }
}

/** What a request of the platform gives, without a platform. */
function localWork(app: App, client: AbortSignal, hold: (work: Promise<unknown>) => Promise<void>) {
  const limit = timeLimit(client, Date.now() + callMs)
  const work: RequestWork = {
    requestId: randomUUID(),
    trace: undefined,
    deadline: limit.deadline,
    limit,
    signal: limit.answering(),
    background: (one) => void hold(one),
    note: () => {},
    time: () => {},
    logLater: (later) => void hold(later.then(app.log)),
  }
  return { work, end: () => limit.end() }
}
