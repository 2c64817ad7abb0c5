import { expect, test } from 'vitest'
import { HandoffError } from '../../../src/handoff/domain/errors.js'
import { doubled, retry } from '../../../src/handoff/util/retry.js'
import { manualClock } from '../../support/clock.js'

const never = new AbortController().signal

test('tries again after each pause, and returns the first result', async () => {
  const clock = manualClock({ jump: true })
  const attempts: number[] = []
  const result = await retry(
    async (number) => {
      attempts.push(number)
      if (number < 4) throw new Error(`attempt ${number}`)
      return 'done'
    },
    (_, number) => ({ milliseconds: doubled(100, number) }),
    { clock, signal: never, doing: 'asking' },
  )
  expect(result).toBe('done')
  expect(attempts).toEqual([1, 2, 3, 4])
  expect(clock.slept).toEqual([100, 200, 400])
})

test('ends with the error that the decision throws', async () => {
  const clock = manualClock({ jump: true })
  const failing = retry(
    async () => Promise.reject(new Error('lost')),
    (error, number) => {
      if (number === 2) throw new Error(`given up: ${(error as Error).message}`)
      return { milliseconds: 1 }
    },
    { clock, signal: never, doing: 'asking' },
  )
  await expect(failing).rejects.toThrow('given up: lost')
  expect(clock.slept).toEqual([1])
})

test.each([
  { name: 'a deadline during the pause is reported by the given error', reason: 'TimeoutError', message: 'too late' },
  { name: 'an abort during the pause is reported as an abort', reason: 'AbortError', message: 'asking example.org' },
])('$name', async ({ reason, message }) => {
  const clock = manualClock()
  const stop = new AbortController()
  const failing = retry(
    async () => Promise.reject(new Error('lost')),
    () => ({ milliseconds: 1_000, late: () => new HandoffError('git', 'too late') }),
    { clock, signal: stop.signal, doing: 'asking example.org' },
  )
  const checked = expect(failing).rejects.toThrow(message)
  await new Promise(setImmediate)
  stop.abort(new DOMException('over', reason))
  await checked
})
