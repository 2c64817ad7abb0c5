// What is loaded once: a failure that passes, such as a process out of descriptors, must not last as long as the process.
import { expect, test } from 'vitest'
import { lazy } from '../../../src/handoff/util/lazy.js'

function failing(times: number) {
  let loads = 0
  return lazy(async () => {
    loads += 1
    if (loads <= times) throw Object.assign(new Error('too many open files'), { code: 'EMFILE' })
    return loads
  })
}

test('a load is shared, and its result stays', async () => {
  const load = failing(0)
  expect(await Promise.all([load(), load()])).toEqual([1, 1])
  expect(await load()).toBe(1)
})

test('a failed load fails for those who wait for it, and the next caller loads again', async () => {
  const load = failing(1)
  const both = await Promise.allSettled([load(), load()])
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await load()).toBe(2)
})
