// Server-sent events, and the search for an answer after a lost connection: the same modules as on the page, without a browser.
import { expect, test } from 'vitest'
import type { Answer, PendingAnswer, StoredAnswer } from '../../web/api-types.js'
import { readEvents, type ServerEvent } from '../../web/event-source.js'
import { findRecord } from '../../web/recover-answer.js'
import { someAnswer } from './content.js'

function streamOf(bytes: Uint8Array<ArrayBuffer>, size: number) {
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size))
      controller.close()
    },
  })
}

test.each([1, 2, 3, 7, 1_000])('events are read from pieces of %i bytes', async (size) => {
  const text =
    ': ping\r\n\r\nid: 1\r\nevent: token\r\ndata: {"text":"é🙂"}\r\n\r\nevent:answer\ndata: {\ndata: "a":1}\n\nretry: 5\n\ndata: cut'
  const read: ServerEvent[] = []
  for await (const event of readEvents(streamOf(new TextEncoder().encode(text), size))) read.push(event)
  expect(read).toEqual([
    ['token', { text: 'é🙂' }, '1'],
    ['answer', { a: 1 }],
  ])
})

test('a stream that is silent for too long is left', async () => {
  let isCancelled = false
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (controller) => controller.enqueue(new TextEncoder().encode('data: 1\n\n')),
    cancel() {
      isCancelled = true
    },
  })
  const found: unknown[] = []
  const reading = (async () => {
    for await (const [, data] of readEvents(stream, undefined, 50)) found.push(data)
  })()
  await expect(reading).rejects.toThrow('No data arrived for too long.')
  expect([found, isCancelled]).toEqual([[1], true])
})

test('a search removes its listeners, and ends when it is stopped', async () => {
  const controller = new AbortController()
  const { signal } = controller
  let listeners = 0
  const count = (name: 'addEventListener' | 'removeEventListener', change: number) => {
    const real = signal[name].bind(signal) as (type: string, listener: () => void) => void
    Object.assign(signal, {
      [name](type: string, listener: () => void) {
        listeners += change
        real(type, listener)
      },
    })
  }
  count('addEventListener', 1)
  count('removeEventListener', -1)
  const pending: PendingAnswer = { status: 'running', id: '1', commit: '', question: '', acceptedAt: '' }
  const done = someAnswer() as unknown as Answer
  const records: StoredAnswer[] = [pending, pending, done]
  expect(await findRecord(async () => records.shift()!, signal)).toBe(done)
  expect(listeners).toBe(0)
  const stopped = findRecord(async () => pending, signal)
  controller.abort('stopped')
  await expect(stopped).rejects.toBe('stopped')
})
