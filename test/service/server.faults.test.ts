// A server of one's own is stopped, or a client leaves: no answer is lost, and no sandbox stays.
import { expect, test } from 'vitest'
import { byNpm, startServerProcess } from '../support/server-process.js'
import { until } from '../support/until.js'
import { call, events, name, post } from './kit.js'
import { ownServer } from './own-server.js'

const own = ownServer()
const { another, ask } = own

test('a client that leaves ends its question and its sandbox', async () => {
  own.here.stack.clouds.model.rule({ path: /chat\/completions/, fault: { kind: 'hang' } })
  const leave = new AbortController()
  const before = own.here.machines()
  const asking = events(own.server.url, ask('Who leaves?'), { signal: leave.signal })
  asking.catch(() => undefined)
  await until('it is at work', () => own.here.machines() > before)
  leave.abort()
  await until('the sandbox is gone', () => own.here.living() === 0)
})

test.each(['SIGTERM', 'SIGINT'] as const)('%s ends a server that has nothing to do at once', async (signal) => {
  const idle = await another()
  // A connection that is kept open does not hold it.
  await call(idle.url, '/api/openapi')
  idle.signal(signal)
  expect(await idle.ended).toEqual({ code: 0, signal: null })
  expect(idle.output()).toMatch(/Stopped\.\n$/)
})

test('stopped in the middle of questions it says where their answers will be, leaves no sandbox, and they are answered when asked again', async () => {
  const first = await another({ HANDOFF_STOP_SECONDS: '4' })
  own.here.stack.clouds.model.rule({ path: /chat\/completions/, fault: { kind: 'hang' } })
  const before = own.here.machines()
  const questions = ['What stops?', 'What stops in events?', 'What stops later?'].map(ask)
  const [inOnePiece, inEvents] = [post(first.url, questions[0]), events(first.url, questions[1])]
  const { body: accepted } = await post(first.url, questions[2], { prefer: 'respond-async' })
  await until('all are at work', () => own.here.machines() === before + 3 && own.here.living() === 3)
  first.signal('SIGTERM')
  await until('it says so', () => first.output().includes('SIGTERM: what runs has 4 s to end.'))
  await expect(fetch(`${first.url}/api/openapi`)).rejects.toThrow()
  const piece = await inOnePiece
  const last = (await inEvents).events.at(-1)!
  expect(piece).toMatchObject({ status: 202, body: { status: 'running', self: expect.any(String) } })
  expect(last).toMatchObject({ event: 'error', data: { code: 'timeout', self: expect.any(String) } })
  expect(await first.ended).toEqual({ code: 0, signal: null })
  expect(first.output()).toMatch(/Stopped\.\n$/)
  expect(own.here.living()).toBe(0)
  own.here.stack.clouds.model.clearRules()
  const next = await another()
  for (const self of [piece.body.self, last.data.self, accepted.self])
    expect((await call(next.url, self)).body.status).toBe('queued')
  const answers = await Promise.all(questions.map((question) => post(next.url, question)))
  expect(answers.map(({ status, body }) => [status, body.self])).toEqual(
    [piece.body.self, last.data.self, accepted.self].map((self) => [200, self]),
  )
}, 90_000)

test.each(['SIGTERM to npm', 'Ctrl-C in its terminal'])('`npm start` stops in order too: %s', async (how) => {
  await using first = await startServerProcess(own.here.environment, byNpm)
  own.here.stack.clouds.model.rule({ fault: { kind: 'delay', milliseconds: 700 } })
  const asking = post(first.url, ask(`What stops by ${how}?`))
  await until('it is at work', () => own.here.living() > 0)
  if (how.startsWith('SIGTERM')) first.signal('SIGTERM')
  else first.signalAll('SIGINT')
  expect(await asking).toMatchObject({ status: 200, body: { status: 'done' } })
  await until('it has stopped', () => first.output().includes('Stopped.\n'))
  await first.ended
  await expect(fetch(`${first.url}/api/openapi`)).rejects.toThrow()
})

test('a second signal, a moment later, ends it at once', async () => {
  const { drive } = own.here.stack.clouds
  const first = await another({ HANDOFF_STOP_SECONDS: '60' })
  const from = drive.requests.length
  const takeBack = drive.rule({ fault: { kind: 'hang' } })
  const asking = call(first.url, `/api/runs?repository=${name}`)
  asking.catch(() => undefined)
  await until('it is at work', () => drive.requests.length > from)
  first.signal('SIGINT')
  await until('it says so', () => first.output().includes('SIGINT: what runs'))
  await new Promise((resolve) => setTimeout(resolve, 1_100))
  first.signal('SIGINT')
  expect((await first.ended).code).toBe(1)
  await expect(asking).rejects.toThrow()
  takeBack()
})

test('what ends in time after the signal is answered as if there had been none', async () => {
  const first = await another()
  own.here.stack.clouds.model.rule({ path: /chat\/completions/, fault: { kind: 'delay', milliseconds: 1_000 } })
  const asking = post(first.url, ask('What ends in time?'))
  await until('it is at work', () => own.here.living() > 0)
  first.signal('SIGTERM')
  expect(await asking).toMatchObject({ status: 200, body: { status: 'done' } })
  expect(await first.ended).toEqual({ code: 0, signal: null })
})
