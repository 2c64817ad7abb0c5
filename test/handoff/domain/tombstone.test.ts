// What stands in the place of something that is being removed.
import { expect, test } from 'vitest'
import { encodeTombstone, isYoung, readTombstone, type Tombstone } from '../../../src/handoff/domain/tombstone.js'

const removedAt = '2026-11-19T10:00:00.000Z'
const mark: Tombstone = { version: 1, removed: 'a-run', removedAt }

test('a tombstone is read as it was written', () => {
  expect(readTombstone(encodeTombstone(mark))).toEqual(mark)
})

test.each([
  '',
  'a tar',
  'null',
  '{}',
  JSON.stringify({ ...mark, version: 2 }),
  JSON.stringify({ ...mark, removed: undefined }),
  JSON.stringify({ ...mark, removedAt: 'yesterday' }),
  JSON.stringify({ version: 1, run: 'a-run', handoff: 'b'.repeat(64), sealedAt: removedAt }),
])('%j is none', (text) => {
  expect(readTombstone(Buffer.from(text))).toBeUndefined()
})

test('what is no bytes at all is a defect, and no other file', () => {
  expect(() => readTombstone('a tar' as unknown as Uint8Array)).toThrow(TypeError)
})

test('it is young for a quarter of an hour', () => {
  const after = (milliseconds: number) => isYoung(mark, Date.parse(removedAt) + milliseconds)
  expect([after(0), after(899_999), after(900_000)]).toEqual([true, true, false])
})
