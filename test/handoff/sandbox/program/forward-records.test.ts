// A process that a repository has taken over prints what it likes. Only records that it may send go on, and only once the run directory is proved.
import { expect, test } from 'vitest'
import { forwardRecords } from '../../../../src/handoff/sandbox/program/forward-records.js'

/** What is written and rejected after these pieces of output. */
async function forwarded(pieces: (string | Buffer)[], proven: Promise<unknown> = Promise.resolve()) {
  const [written, rejected]: [string[], unknown[]] = [[], []]
  const take = forwardRecords({
    proven,
    write: (line) => written.push(Buffer.from(line).toString()),
    reject: (error) => rejected.push(error),
  })
  for (const piece of pieces) take(Buffer.from(piece))
  await new Promise((resolve) => setImmediate(resolve))
  return { written, rejected }
}

const record = (type: string, more: object = {}) => `${JSON.stringify({ v: 1, type, ...more })}\n`

test.each([
  ...['survey', 'text', 'diagram', 'change', 'changed-lines', 'relocated'],
  ...['excerpt', 'object', 'listing', 'notes', 'card', 'searched', 'notice'],
])('a record %s goes on as it is', async (type) => {
  expect(await forwarded([record(type)])).toEqual({ written: [record(type)], rejected: [] })
})

test.each(['stored', 'stored-tree', 'done', 'step', 'drive9', 'no-base', 'unknown'])(
  'no record %s goes on',
  async (type) => {
    expect(await forwarded([record(type)])).toEqual({ written: [], rejected: [] })
  },
)

test.each(['no json', 'null', '7', '"failed"', '{}', '[]', ''])('the line %j is left out', async (line) => {
  expect(await forwarded([`${line}\n`, record('text')])).toEqual({ written: [record('text')], rejected: [] })
})

test('lines may come in any pieces, also cut in a character, and the last one without an end is none', async () => {
  const bytes = Buffer.from(record('text', { text: 'ä€' }) + record('card') + record('text').trimEnd())
  const pieces = Array.from(bytes, (byte) => Buffer.from([byte]))
  const whole = [record('text', { text: 'ä€' }), record('card')]
  expect((await forwarded(pieces)).written).toEqual(whole)
  expect((await forwarded([bytes])).written).toEqual(whole)
})

test.each([
  [
    { code: 'too-many-files', message: 'Too many.' },
    { failure: 'too-many-files', message: 'Too many.' },
  ],
  [
    { code: 'corrupt', message: 'x' },
    { failure: 'internal', message: 'x' },
  ],
  [{}, { failure: 'internal', message: 'it did not say why' }],
])('a failure %j is no record: it ends the work', async (said, expected) => {
  const { written, rejected } = await forwarded([record('failed', said)])
  expect({ written, rejected }).toEqual({ written: [], rejected: [expect.objectContaining(expected)] })
})

test('nothing goes on before the run directory is proved', async () => {
  const proven = Promise.withResolvers<void>()
  expect(await forwarded([record('excerpt')], proven.promise)).toEqual({ written: [], rejected: [] })
  const wrong = new Error('another directory')
  expect(await forwarded([record('excerpt')], Promise.reject(wrong))).toEqual({ written: [], rejected: [wrong] })
})
