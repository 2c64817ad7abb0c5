import { expect, test } from 'vitest'
import { delayAbort, orAborted } from '../../../src/handoff/util/abort.js'
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
