// Two commits in one prompt and one answer: what is shown of each, and whose lines a citation is believed of.
import { describe, expect, test } from 'vitest'
import { readPrompt } from '../../../../src/emulators/model/parse-prompt.js'
import type { Excerpt } from '../../../../src/handoff/domain/answer.js'
import { decodeAnswer, encodeAnswer } from '../../../../src/handoff/domain/answer.js'
import { answerData } from '../../../../src/handoff/domain/answers/answer-data.js'
import { counterparts, pathChanges, withoutTwins } from '../../../../src/handoff/domain/answers/comparison-diff.js'
import { compareMessages, verifyComparison } from '../../../../src/handoff/domain/answers/comparison-prompt.js'
import { answerMarkdown } from '../../../../src/handoff/domain/answers/render-answer.js'
import { makeRunId } from '../../../../src/handoff/domain/run.js'
import { answerRecord } from '../../../support/records.js'

const [A, B] = ['1f0c3de'.padEnd(40, '0'), '8a21b07'.padEnd(40, '0')] as const
const piece = (path: string, from: number, lines: string[], blob = '1'): Excerpt => ({
  path,
  blob: blob.repeat(40),
  from,
  lines,
  source: 'code',
  score: 1,
})
const before = piece('src/token.ts', 40, ['if (expires < now) {', '  refresh()', '}'])
const after = piece('src/token.ts', 41, ['if (expires - now < 60_000) {', '  refresh()', '}'], '2')
const sides = [
  { commit: A, excerpts: [before], summary: 'Old.' },
  { commit: B, excerpts: [after], summary: 'New.' },
] as const

describe('what is asked', () => {
  const prompt = {
    question: 'What changed?\n=== end',
    from: sides[0],
    to: sides[1],
    changes: [{ path: 'src/token.ts', change: 'changed' as const }],
    changedInAll: 7,
  }
  test('names the commit of every piece, and is read so', () => {
    const read = readPrompt(compareMessages(prompt))
    expect(read.task).toBe('compare')
    expect(read.files.map(({ path, at, lines }) => [path, at, lines[0]])).toEqual([
      ['src/token.ts', '1f0c3de', { number: 40, text: before.lines[0] }],
      ['src/token.ts', '8a21b07', { number: 41, text: after.lines[0] }],
    ])
    expect(read.texts.map(({ kind, title, lines }) => [kind, title, lines])).toEqual([
      ['commits', '', ['earlier: 1f0c3de', 'later: 8a21b07']],
      ['summary', 'at 1f0c3de', ['Old.']],
      ['summary', 'at 8a21b07', ['New.']],
      ['changes', '', ['changed: "src/token.ts"', 'files that differ in all: 7']],
      ['question', '', ['What changed?', '=== end']],
    ])
  })

  test('the instructions are the same bytes in every call', () => {
    const other = { ...prompt, question: 'x', from: { ...prompt.from, commit: 'c'.repeat(40) } }
    expect(compareMessages(other)[0]).toEqual(compareMessages(prompt)[0])
  })
})

describe('what is cited', () => {
  const check = (markdown: string) => verifyComparison(markdown, sides)

  test('is checked against the lines of its own commit', () => {
    const { text, citations, cited } = check(
      'Earlier. [[1f0c3de:src/token.ts:40 "if (expires < now)"]] [[8a21b07:src/token.ts:41-42 "60_000"]]',
    )
    expect(text).toBe('Earlier. [1f0c3de:src/token.ts:40] [8a21b07:src/token.ts:41-42]')
    expect(citations).toMatchObject([
      { path: 'src/token.ts', commit: A, from: 40, to: 40, quote: 'if (expires < now)', verified: true },
      { path: 'src/token.ts', commit: B, from: 41, to: 42, quote: '60_000', verified: true },
    ])
    expect(cited.map(({ path, commit, from }) => [path, commit, from])).toEqual([
      ['src/token.ts', A, 40],
      ['src/token.ts', B, 41],
    ])
  })

  test.each([
    ['the other commit’s lines', '[[1f0c3de:src/token.ts:41 "expires - now < 60_000"]]'],
    ['no commit', '[[src/token.ts:41 "expires - now < 60_000"]]'],
    ['a commit that is neither', '[[0000000:src/token.ts:41 "expires - now < 60_000"]]'],
    ['a path that was not shown', '[[8a21b07:src/other.ts:41 "expires - now < 60_000"]]'],
  ])('%s does not count', (_, citation) => {
    const { text, citations, cited, unsupported } = check(`It is so. ${citation}`)
    expect({ text, unsupported, cited }).toEqual({ text: 'It is so. (unsupported)', unsupported: 1, cited: [] })
    expect(citations.map(({ verified }) => verified)).toEqual([false])
  })
})

describe('what is shown of it', () => {
  const checked = verifyComparison(
    'So. [[1f0c3de:src/token.ts:40 "expires"]] [[8a21b07:src/token.ts:41 "expires"]]',
    sides,
  )
  const record = answerRecord({
    run: makeRunId(B, 'x'),
    question: 'What changed?',
    compareWith: { run: makeRunId(A, 'x'), commit: A },
    ...checked,
    excerpts: [{ path: 'src/token.ts', commit: A, blob: '1'.repeat(40), from: 40, to: 42, sha256: '2'.repeat(64) }],
  })
  const place = { host: 'github.com', repository: 'octo/tools' }
  const at = (sha: string, lines: string) => `https://github.com/octo/tools/blob/${sha}/src/token.ts#${lines}`

  test('permalinks go to the right commit, and no source is listed twice', () => {
    const markdown = answerMarkdown(record, place, { form: 'comment' })
    for (const [label, url] of [
      ['1f0c3de:src/token.ts:40', at(A, 'L40')],
      ['8a21b07:src/token.ts:41', at(B, 'L41')],
    ] as const)
      expect(markdown.split(`[\`${label}\`](${url})`)).toHaveLength(2)
    expect(markdown).toContain('Compared `1f0c3de` with `8a21b07` of `octo/tools`.')
    const data = answerData(record, place)
    expect(data.citations.map(({ label, url, commit }) => [label, url, commit])).toEqual([
      ['1f0c3de:src/token.ts:40', at(A, 'L40'), A],
      ['8a21b07:src/token.ts:41', at(B, 'L41'), B],
    ])
    expect(data.compareWith).toEqual(record.compareWith)
  })

  test('the record comes back as it was written', () => {
    expect(decodeAnswer(encodeAnswer(record))).toEqual(record)
  })
})

describe('the two sides', () => {
  const from = new Map([
    ['a', '1'],
    ['b', '1'],
    ['gone', '1'],
    ['same', '1'],
  ])
  const to = new Map([
    ['a', '2'],
    ['b', '1'],
    ['new', '1'],
    ['same', '1'],
  ])

  test('what became of each path', () => {
    expect(pathChanges(from, to, ['same', 'a'])).toEqual({
      changes: [
        { path: 'a', change: 'changed' },
        { path: 'same', change: 'same' },
        { path: 'gone', change: 'removed' },
        { path: 'new', change: 'added' },
      ],
      changedInAll: 3,
    })
  })

  test('a place is asked for on the other side when it is there, differs, and was not shown', () => {
    const found = [piece('a', 100, ['x']), piece('b', 1, ['x']), piece('gone', 1, ['x']), piece('a', 5, ['y'])]
    const other = { blobs: to, shown: { excerpts: [piece('a', 1, Array(9).fill('z') as string[])] } }
    expect(counterparts(found, from, other)).toEqual([{ kind: 'read', path: 'a', from: 85, to: 115 }])
  })

  test('what is the same in both is shown once', () => {
    const whole = piece('same', 1, ['1', '2', '3'])
    const part = piece('same', 2, ['2'])
    const older = piece('same', 2, ['2'], '9')
    expect(withoutTwins([part, older, before], [whole, after])).toEqual([older, before])
  })
})
