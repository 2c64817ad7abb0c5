// The durable format: what was ever written must decode for ever, and what is not ours must be refused with a sentence.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeAnswer, encodeAnswer } from '../../../src/handoff/domain/answer.js'
import { isHandoffError } from '../../../src/handoff/domain/errors.js'
import {
  decodeHandoff,
  decodePointer,
  decodeRef,
  encodeHandoff,
  encodePointer,
  encodeRef,
  type Handoff,
  isOf,
  sealLimit,
} from '../../../src/handoff/domain/handoff-record.js'

const fixtures = join(import.meta.dirname, '../../fixtures/format')
const bytes = (text: string) => new TextEncoder().encode(text)

const formats: Record<string, { decode: (data: Uint8Array) => unknown; encode: (value: never) => Uint8Array }> = {
  handoff: { decode: decodeHandoff, encode: encodeHandoff },
  pointer: { decode: decodePointer, encode: encodePointer },
  ref: { decode: decodeRef, encode: encodeRef },
  answer: { decode: decodeAnswer, encode: encodeAnswer },
}

const golden = readdirSync(fixtures).filter((name) => name.endsWith('.json'))
const formatOf = (name: string) => formats[name.split('.')[0]!.split('-')[0]!]!

test('there is a golden file of every kind', () => {
  const kinds = new Set(golden.map((name) => name.split('.')[0]))
  expect([...kinds].sort()).toEqual([
    'answer-done',
    'answer-failed',
    'answer-running',
    'handoff',
    'handoff-drive9',
    'handoff-least',
    'pointer',
    'ref',
  ])
})

test.each(golden)('%s decodes, and encodes to the same bytes', (name) => {
  const stored = readFileSync(join(fixtures, name))
  const { decode, encode } = formatOf(name)
  expect(Buffer.from(encode(decode(stored) as never)).toString()).toBe(stored.toString())
})

const refusalOf = (work: () => unknown) => {
  try {
    work()
  } catch (error) {
    if (isHandoffError(error)) return { code: error.code, message: error.message }
    throw error
  }
  return 'accepted'
}

test.each(golden)('%s of a newer version is refused with a sentence', (name) => {
  const newer = { ...(JSON.parse(readFileSync(join(fixtures, name), 'utf8')) as object), version: 2 }
  expect(refusalOf(() => formatOf(name).decode(bytes(JSON.stringify(newer))))).toMatchObject({
    code: 'unknown-version',
    message: expect.stringContaining('format version 2; this handoff reads version 1'),
  })
})

test.each(golden)('%s without any one of its required fields is refused', (name) => {
  const whole = JSON.parse(readFileSync(join(fixtures, name), 'utf8')) as Record<string, unknown>
  const optional = new Set([
    'repositoryId',
    'ref',
    'basedOn',
    'partial',
    'cost',
    'requestedBy',
    'thread',
    'asker',
    'sandbox',
    'reusedFrom',
    'drive9',
  ])
  for (const field of Object.keys(whole)) {
    // In an answer the sandbox may be absent, in a handoff it may not.
    const mayMiss = optional.has(field) && !(field === 'sandbox' && name.startsWith('handoff'))
    const { [field]: _gone, ...rest } = whole
    const result = refusalOf(() => formatOf(name).decode(bytes(JSON.stringify(rest))))
    expect(result === 'accepted', `${name} without ${field}`).toBe(mayMiss)
  }
})

test.each(['../x', '/etc/passwd', 'a//b', 'a/./b', ''])('an artifact at %j is refused', (path) => {
  const whole = JSON.parse(readFileSync(join(fixtures, 'handoff.json'), 'utf8')) as { artifacts: { path: string }[] }
  whole.artifacts[0]!.path = path
  expect(refusalOf(() => decodeHandoff(bytes(JSON.stringify(whole))))).toMatchObject({ code: 'corrupt' })
})

test.each<[string, string | undefined, string | undefined, boolean]>([
  ['the same number', '7', '7', true],
  ['another number', '7', '8', false],
  ['no number in the record', undefined, '8', true],
  ['no number of the repository', '7', undefined, true],
])('a record with %s', (_what, repositoryId, id, same) => {
  const record = { ...(repositoryId === undefined ? {} : { repositoryId }) } as Handoff
  const repository = { host: 'github.com', owner: 'octo', name: 'tools', ...(id === undefined ? {} : { id }) }
  expect(isOf(record, repository)).toBe(same)
})

test('a record is written with one request, or not at all', () => {
  const whole = decodeHandoff(readFileSync(join(fixtures, 'handoff.json')))
  const sized = (length: number) => ({ ...whole, notices: ['x'.repeat(length)] })
  const longest = sealLimit - 1 - encodeHandoff(sized(0)).length
  expect(encodeHandoff(sized(longest))).toHaveLength(sealLimit - 1)
  expect(refusalOf(() => encodeHandoff(sized(longest + 1)))).toMatchObject({ code: 'invalid-input' })
})

test('no bytes at all make a decoder crash', () => {
  const json = fc.json({ maxDepth: 4 }).map(bytes)
  const any = fc.oneof(fc.uint8Array({ maxLength: 200 }), json)
  const runs = process.env['LONG'] === '1' ? 20_000 : 200
  fc.assert(
    fc.property(any, fc.constantFrom(...Object.values(formats)), (data, { decode }) => {
      const result = refusalOf(() => decode(data))
      return typeof result === 'object' && ['corrupt', 'unknown-version'].includes(result.code)
    }),
    { numRuns: runs },
  )
})

test('any mutation of a good handoff is either refused or harmless', () => {
  const good = readFileSync(join(fixtures, 'handoff.json'))
  fc.assert(
    fc.property(fc.nat(good.length - 1), fc.integer({ min: 0, max: 255 }), (at, value) => {
      const changed = new Uint8Array(good)
      changed[at] = value
      const result = refusalOf(() => decodeHandoff(changed))
      return result === 'accepted' || ['corrupt', 'unknown-version'].includes(result.code)
    }),
    { numRuns: 500 },
  )
})

test('a record too large for one conditional write is refused before it is written', () => {
  const whole = decodeHandoff(readFileSync(join(fixtures, 'handoff.json')))
  const notices = Array.from({ length: 200 }, () => 'x'.repeat(400))
  expect(refusalOf(() => encodeHandoff({ ...whole, notices }))).toMatchObject({ code: 'invalid-input' })
})
