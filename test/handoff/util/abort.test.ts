import { expect, test } from 'vitest'
import { delayAbort, limited, orAborted } from '../../../src/handoff/util/abort.js'
import { until } from '../../support/until.js'

test('what has begun has a moment more', async () => {
  const stop = new AbortController()
  const later = delayAbort(stop.signal, 30)
  const began = performance.now()
  stop.abort('enough')
  expect(later.aborted).toBe(false)
  await until('the moment is over', () => later.aborted)
  expect(later.reason).toBe('enough')
  expect(performance.now() - began).toBeGreaterThan(25)
})

test('who waits stops at once, and the work goes on', async () => {
  const stop = new AbortController()
  const work = Promise.withResolvers<string>()
  const waiting = orAborted(work.promise, stop.signal, 'the work was under way')
  stop.abort(new DOMException('late', 'TimeoutError'))
  await expect(waiting).rejects.toMatchObject({
    code: 'timeout',
    message: 'Time ran out while the work was under way.',
  })
  work.resolve('done')
  expect(await work.promise).toBe('done')
  expect(await orAborted(work.promise, new AbortController().signal, 'it is done')).toBe('done')
})

test('a limit aborts when its time is over, or with the other signal', async () => {
  const stop = new AbortController()
  using soon = limited(undefined, 5)
  using later = limited(stop.signal, 60_000)
  await until('the time is over', () => soon.signal.aborted)
  expect(soon.signal.reason).toMatchObject({ name: 'TimeoutError' })
  expect(later.signal.aborted).toBe(false)
  stop.abort('enough')
  expect(later.signal.reason).toBe('enough')
})

test('a limit that was disposed of does not abort any more', async () => {
  const limit = limited(undefined, 5)
  limit[Symbol.dispose]()
  using longer = limited(undefined, 20)
  await until('a longer limit is over', () => longer.signal.aborted)
  expect(limit.signal.aborted).toBe(false)
})
