// Cards, from which a model chooses files where the ranking is unsure, and what its choice does.
import { expect, test } from 'vitest'
import { chooseMessages, parseChoice } from '../../../../../src/handoff/domain/answers/answer-prompt.js'
import { estimateTokens } from '../../../../../src/handoff/domain/estimate-tokens.js'
import { decodeRecord } from '../../../../../src/handoff/domain/sandbox-protocol-decoder.js'
import { foundIn, pathsOf } from './search-repository.js'

/** Files of which each could be the one: the same words, other names. */
const alike = Object.fromEntries(
  Array.from({ length: 80 }, (_, at) => [
    `src/part${at}/socket.ts`,
    `// Part ${at} closes its socket when the peer is gone.\nimport { peer } from '../peer'\n\nexport function closeSocket${at}(id: number): boolean {\n  return peer.close(id, 'socket ${at}')\n}\n`,
  ]),
)
const question = 'Why does the socket close when the peer is gone?'

test('an unsure ranking gives cards of sixty files, each of at most eighty tokens', async () => {
  const { cards } = await foundIn(alike, question, { cards: true })
  expect(cards).toHaveLength(60)
  for (const card of cards) {
    decodeRecord(JSON.stringify({ v: 1, type: 'card', ...card }))
    expect(estimateTokens(chooseMessages('', [card])[1]!.content)).toBeLessThanOrEqual(80)
  }
  const [at] = /\d+/.exec(cards[0]!.path)!
  expect(cards[0]).toMatchObject({
    names: [`closeSocket${at}`],
    says: `Part ${at} closes its socket when the peer is gone.`,
  })
})

test('no cards where the first file leads clearly, where all are shown anyway, and where none are wanted', async () => {
  const clear = {
    ...alike,
    'src/lease.ts': 'export function renewLease(lease: Lease): Lease {\n  return lease.renew()\n}\n',
  }
  expect((await foundIn(clear, 'What does renewLease in src/lease.ts do?', { cards: true })).cards).toEqual([])
  const few = Object.fromEntries(Object.entries(alike).slice(0, 10))
  expect((await foundIn(few, question, { cards: true })).cards).toEqual([])
  expect((await foundIn(alike, question)).cards).toEqual([])
})

test('chosen files come first, in the order of the choice', async () => {
  const chosen = ['src/part71/socket.ts', 'src/part3/socket.ts', 'src/not/there.ts']
  const found = await foundIn(alike, question, { chosen })
  expect(pathsOf(found).slice(0, 2)).toEqual(chosen.slice(0, 2))
  expect(pathsOf(found).length).toBeGreaterThan(10)
})

test('a card shows no secret and no line of a licence', async () => {
  const key = `ghp_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2).slice(0, 36)}`
  const path = 'src/part5/socket.ts'
  const files = {
    ...alike,
    [path]: `// Copyright 2020 the authors of sockets\n// Use ${key} for this.\n${alike[path]}`,
  }
  const { cards } = await foundIn(files, question, { cards: true })
  expect(JSON.stringify(cards)).not.toContain(key)
  expect(JSON.stringify(cards)).not.toContain('Copyright')
})

const cards = ['a.ts', 'b.ts', 'c.ts'].map((path) => ({ path, names: [], says: '' }))
test.each([
  ['2 1', ['b.ts', 'a.ts']],
  ['3, 3, 1', ['c.ts', 'a.ts']],
  ['`[2]`', ['b.ts']],
  ['<think>\n1\n</think>\n2', ['b.ts']],
  ['0', []],
  ['99 2', ['b.ts']],
  ['I would take 2 of them.', []],
  ['', []],
])('a reply of %j chooses %j', (reply, paths) => expect(parseChoice(reply, cards)).toEqual(paths))
