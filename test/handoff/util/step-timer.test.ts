// Two failures at once: the first decides the code, both are reported.
import { expect, test } from 'vitest'
import { HandoffError } from '../../../src/handoff/domain/errors.js'
import { openBoth, withCleanup } from '../../../src/handoff/util/step-timer.js'

const full = () => new HandoffError('drive-quota', 'drive9 has no room.', { next: 'Remove old runs.' })
const lingering = () => new HandoffError('sandbox', 'Sandbox i1 could not be killed.', { next: 'Run npm run sweep.' })

const reported = (work: Promise<unknown>) =>
  work.then(
    () => 'no error',
    (error: unknown) => (error instanceof HandoffError ? error.toJSON() : error),
  )

test('work that fails and an undoing that fails are both reported', async () => {
  const undone: string[] = []
  const work = withCleanup(
    () => Promise.reject(full()),
    [() => Promise.reject(lingering()), async () => undone.push('second')],
  )
  expect(await reported(work)).toEqual({
    code: 'drive-quota',
    message: 'drive9 has no room. Besides: Sandbox i1 could not be killed.',
    next: 'Remove old runs. Run npm run sweep.',
  })
  expect(undone).toEqual(['second'])
})

test('two undoings that fail after good work are both reported', async () => {
  const work = withCleanup(async () => 'good', [() => Promise.reject(lingering()), () => Promise.reject(full())])
  expect(await reported(work)).toMatchObject({
    code: 'sandbox',
    message: 'Sandbox i1 could not be killed. Besides: drive9 has no room.',
  })
})

test('two beginnings that fail are both reported, and nothing is left of either', async () => {
  const released: string[] = []
  const release = { first: async (name: string) => released.push(name) }
  expect(await reported(openBoth(Promise.reject(lingering()), Promise.reject(full()), {}))).toMatchObject({
    message: 'Sandbox i1 could not be killed. Besides: drive9 has no room.',
  })
  expect(await reported(openBoth(Promise.resolve('one'), Promise.reject(full()), release))).toEqual(full().toJSON())
  expect(released).toEqual(['one'])
})

test.each([
  ['the same sentence', full(), full(), full().toJSON()],
  ['two that one signal stopped', stopped('opening'), stopped('asking'), stopped('opening').toJSON()],
  ['a bug of ours first', new TypeError('bug'), full(), new TypeError('bug')],
])('%s is one failure', async (_what, first, second, expected) => {
  expect(await reported(withCleanup(() => Promise.reject(first), [() => Promise.reject(second)]))).toEqual(expected)
})

function stopped(doing: string): HandoffError {
  return new HandoffError('cancelled', `Stopped while ${doing}.`)
}
