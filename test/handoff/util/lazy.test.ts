// What is loaded once is loaded once, and a failure of it does not last: the next caller tries again.
import { expect, test } from 'vitest'
import { lazy } from '../../../src/handoff/util/lazy.js'

test('callers share one load, at the same time and later', async () => {
  let loads = 0
  const load = lazy(async () => ++loads)
  expect(await Promise.all([load(), load()])).toEqual([1, 1])
  expect(await load()).toBe(1)
})

test('a load that failed is forgotten, and callers of the same moment share the failure', async () => {
  let loads = 0
  const load = lazy(async () => {
    loads += 1
    if (loads === 1) throw new Error('EMFILE')
    return loads
  })
  expect((await Promise.allSettled([load(), load()])).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await load()).toBe(2)
  expect(await load()).toBe(2)
})
