// Events on their way: with an id where a client can continue, a ping while nothing happens, one end.
import { expect, test } from 'vitest'
import { eventStream, type Pinging } from '../../src/service/http/event-stream.js'

function handPinging(): Pinging & { tick(): void; running: number } {
  const calls = new Set<() => void>()
  return {
    everyMs: 10_000,
    every(_milliseconds, call) {
      calls.add(call)
      return () => calls.delete(call)
    },
    tick: () => {
      for (const call of calls) call()
    },
    get running() {
      return calls.size
    },
  }
}

test('a ping between events, and none after the end', async () => {
  const pinging = handPinging()
  const stream = eventStream(pinging)
  stream.send('status', { state: 'looking' })
  stream.send('token', { text: 'x' }, 'c1-1')
  pinging.tick()
  stream.end('answer', { text: 'a\nb' })
  pinging.tick()
  stream.send('token', { text: 'late' })
  stream.end('error', {})
  expect(pinging.running).toBe(0)
  expect(await stream.response.text()).toBe(
    'event: status\ndata: {"state":"looking"}\n\nevent: token\nid: c1-1\ndata: {"text":"x"}\n\n: ping\n\nevent: answer\ndata: {"text":"a\\nb"}\n\n',
  )
})

test('a client that disconnects is noticed, and nothing more is written', async () => {
  const pinging = handPinging()
  const stream = eventStream(pinging)
  await stream.response.body!.cancel('gone')
  expect(stream.gone.aborted).toBe(true)
  expect(pinging.running).toBe(0)
  stream.send('token', { text: 'x' })
  stream.end('answer', {})
})
