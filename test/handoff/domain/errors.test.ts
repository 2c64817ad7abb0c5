// What becomes of two failures at once, and of one that may be left unsaid.
import { expect, test } from 'vitest'
import { asOneFailure, HandoffError, ignoreFailure, settleAll } from '../../../src/handoff/domain/errors.js'

const full = () => new HandoffError('drive-quota', 'drive9 has no room.', { next: 'Remove old runs.' })
const lingering = () => new HandoffError('sandbox', 'Sandbox i1 could not be killed.', { next: 'Run npm run sweep.' })

const reported = (work: Promise<unknown>) =>
  work.then(
    () => 'no error',
    (error: unknown) => (error instanceof HandoffError ? error.toJSON() : error),
  )

/** Does the work with two resources whose release fails as given. */
async function withResources(work: () => Promise<unknown>, ...releases: (() => Promise<unknown>)[]): Promise<unknown> {
  await using resources = new AsyncDisposableStack()
  for (const release of releases.toReversed()) resources.defer(async () => void (await release()))
  return await work()
}
const oneFailure = (work: Promise<unknown>) =>
  work.catch((error: unknown) => {
    throw asOneFailure(error)
  })

test('work that fails and a release that fails are both reported', async () => {
  const released: string[] = []
  const work = withResources(
    () => Promise.reject(full()),
    () => Promise.reject(lingering()),
    async () => released.push('second'),
  )
  expect(await reported(oneFailure(work))).toEqual({
    code: 'drive-quota',
    message: 'drive9 has no room. Besides: Sandbox i1 could not be killed.',
    next: 'Remove old runs. Run npm run sweep.',
  })
  expect(released).toEqual(['second'])
})

test('two releases that fail after good work are both reported', async () => {
  const work = withResources(
    async () => 'good',
    () => Promise.reject(lingering()),
    () => Promise.reject(full()),
  )
  expect(await reported(oneFailure(work))).toMatchObject({
    code: 'sandbox',
    message: 'Sandbox i1 could not be killed. Besides: drive9 has no room.',
  })
})

test('two beginnings that fail are both reported, and the others have ended before', async () => {
  expect(await reported(settleAll([Promise.reject(lingering()), Promise.reject(full())]))).toMatchObject({
    message: 'Sandbox i1 could not be killed. Besides: drive9 has no room.',
  })
  const opened: string[] = []
  const slow = new Promise((resolve) => setTimeout(resolve, 20)).then(() => opened.push('one'))
  expect(await reported(settleAll([slow, Promise.reject(full())]))).toEqual(full().toJSON())
  expect(opened).toEqual(['one'])
})

test.each([
  ['the same sentence', full(), full(), full().toJSON()],
  ['two that one signal stopped', stopped('opening'), stopped('asking'), stopped('opening').toJSON()],
  ['a bug of ours first', new TypeError('bug'), full(), new TypeError('bug')],
])('%s is one failure', async (_what, first, second, expected) => {
  expect(await reported(settleAll([Promise.reject(first), Promise.reject(second)]))).toEqual(expected)
})

function stopped(doing: string): HandoffError {
  return new HandoffError('cancelled', `Stopped while ${doing}.`)
}

test('a failure of a service may be left unsaid, and a bug may not', async () => {
  expect(await Promise.reject(full()).catch(ignoreFailure)).toBe(undefined)
  await expect(Promise.reject(new TypeError('bug')).catch(ignoreFailure)).rejects.toThrow('bug')
})
