import { expect, test } from 'vitest'
import { anySignal, orAborted } from '../../../src/handoff/util/abort.js'
import { delayAbort } from '../../../src/handoff/util/step-timer.js'
import { until } from '../../support/until.js'

test('aborted with the first of them, for its reason', async () => {
  const [first, second] = [new AbortController(), new AbortController()]
  const combined = anySignal(first.signal, second.signal)
  second.abort('enough')
  expect([combined.aborted, combined.reason]).toEqual([true, 'enough'])
  const late = anySignal(first.signal, AbortSignal.timeout(10))
  await until('the time is over', () => late.aborted)
})

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
