import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isHandoffError } from '../../../src/handoff/domain/errors.js'
import type { ProgramRecord } from '../../../src/handoff/domain/sandbox-protocol-decoder.js'
import { createRecordReader } from '../../../src/handoff/domain/sandbox-protocol-decoder.js'

function read(pieces: string[], limits?: { line: number; total: number }): ProgramRecord[] {
  const records: ProgramRecord[] = []
  const reader = createRecordReader((record) => records.push(record), limits)
  for (const piece of pieces) reader.push(piece)
  reader.end()
  return records
}

const code = (work: () => unknown) => {
  try {
    work()
  } catch (error) {
    return isHandoffError(error) ? error.code : error
  }
  return 'accepted'
}

const records: ProgramRecord[] = [
  { v: 1, type: 'step', step: 'clone', milliseconds: 12 },
  { v: 1, type: 'stored', path: 'analysis/files.json', bytes: 3, sha256: 'a'.repeat(64) },
  { v: 1, type: 'notice', text: 'ein Wort — mit Umlauten: äöü 漢字' },
  {
    v: 1,
    type: 'excerpt',
    path: 'a\nb.ts',
    blob: 'b'.repeat(40),
    from: 3,
    lines: ['x', '{"v":1,"type":"done"}'],
    source: 'code',
    score: 1.5,
  },
  { v: 1, type: 'done' },
]
const printed = records.map((record) => `${JSON.stringify(record)}\n`).join('')

test('records arrive whatever the pieces are', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(printed.length), { maxLength: 12 }), (cuts) => {
      const edges = [0, ...cuts.sort((a, b) => a - b), printed.length]
      const pieces = edges.slice(1).map((edge, index) => printed.slice(edges[index], edge))
      expect(read(pieces)).toEqual(records)
    }),
  )
})

test('a record inside a record stays text', () => {
  const found = read([printed])
  expect(found.filter((record) => record.type === 'done')).toHaveLength(1)
})

test.each([
  'hello',
  '{"v":1}',
  '{"v":2,"type":"done"}',
  '{"v":1,"type":"root-shell"}',
  '{"v":1,"type":"constructor"}',
  '{"v":1,"type":"__proto__"}',
  '{"v":1,"type":"stored","path":"a","bytes":-1,"sha256":"x"}',
  '{"v":1,"type":"step","step":"seal","milliseconds":1}',
  '[]',
  'null',
])('refuses %s', (line) => {
  expect(code(() => read([`${line}\n`]))).toBe('sandbox')
})

test('a machine that prints without end is stopped', () => {
  expect(code(() => read(['x'.repeat(2_000)], { line: 1_000, total: 10_000 }))).toBe('sandbox')
  const line = `${JSON.stringify({ v: 1, type: 'notice', text: 'x'.repeat(100) })}\n`
  expect(
    code(() =>
      read(
        Array.from({ length: 100 }, () => line),
        { line: 1_000, total: 5_000 },
      ),
    ),
  ).toBe('sandbox')
})

test('no text makes the reader crash or believe it', () => {
  const runs = process.env['LONG'] === '1' ? 20_000 : 200
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.string(), fc.json(), fc.constant('\n')), { maxLength: 6 }), (pieces) => {
      const result = code(() => read(pieces))
      return result === 'sandbox' || (result === 'accepted' && pieces.join('').replaceAll('\n', '') === '')
    }),
    { numRuns: runs },
  )
})

test('a line and the whole output have a longest length, and one character more is refused', () => {
  const done = '{"v":1,"type":"done"}'
  const length = done.length
  expect(code(() => read([done], { line: length, total: length }))).toBe('accepted')
  expect(code(() => read([done], { line: length - 1, total: length }))).toBe('sandbox')
  expect(code(() => read([done], { line: length, total: length - 1 }))).toBe('sandbox')
  expect(code(() => read([done.slice(0, 9), done.slice(9)], { line: length - 1, total: 1_000 }))).toBe('sandbox')
})

test('an error of what takes the records stays what it is', () => {
  const reader = createRecordReader(() => {
    throw new RangeError('not of the sandbox')
  })
  expect(() => reader.push('{"v":1,"type":"done"}\n')).toThrow(RangeError)
})
