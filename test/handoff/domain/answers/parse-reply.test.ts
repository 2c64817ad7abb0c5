import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseReply } from '../../../../src/handoff/domain/answers/parse-reply.js'
import { streamFilter } from '../../../../src/handoff/domain/answers/stream-filter.js'
import { processorTime } from '../../../support/processor-time.js'

const runs = process.env['LONG'] ? 10_000 : 200
const read = (path: string, from: number, to: number) => ({ kind: 'read' as const, path, from, to })

describe('a reply that asks for more', () => {
  const asked = [read('src/a.ts', 10, 200), { kind: 'search', terms: 'refresh token' }, { kind: 'list', path: 'src' }]
  const plain = 'MORE\nread "src/a.ts" 10-200\nsearch refresh token\nlist "src"'
  const same: [string, string][] = [
    ['as asked for', plain],
    ['small letters', plain.replace('MORE', 'more')],
    ['with a colon', plain.replace('MORE', 'MORE:')],
    ['decorated', plain.replace('MORE', '**MORE**')],
    ['as a heading', plain.replace('MORE', '## MORE')],
    ['in a fence', `\`\`\`\n${plain}\n\`\`\``],
    ['in a fence with a language', `\`\`\`text\n${plain}\n\`\`\``],
    ['with spaces and empty lines', `\n\n  ${plain.replaceAll('\n', '\n\n   ')}\n`],
    ['as a list', plain.replaceAll('\n', '\n- ')],
    ['as a numbered list in code', plain.replace(/\n(.*)/g, '\n1. `$1`')],
    ['other line ends', plain.replaceAll('\n', '\r\n')],
    ['thoughts without their beginning', `I need more.\n</think>\n\n${plain}`],
    ['a sentence before it', `I need to see more of the code.\n\n${plain}`],
    ['requests in capitals', plain.replace('read', 'Read').replace('search', 'SEARCH')],
    ['no quotation marks', plain.replaceAll('"', '')],
    ['a colon before the lines', plain.replace('" 10', '":10')],
    ['the word lines', plain.replace('10-200', 'lines 10-200')],
  ]
  it.each(same)('%s', (_, reply) => expect(parseReply(reply)).toEqual({ kind: 'more', requests: asked }))

  const requests: [string, unknown[]][] = [
    ['read "src/a.ts"', [read('src/a.ts', 1, 400)]],
    ['read "src/a.ts" 7', [read('src/a.ts', 7, 7)]],
    ['read "src/a.ts" 200-10', [read('src/a.ts', 10, 200)]],
    ['read "src/a.ts" 10-99999', [read('src/a.ts', 10, 409)]],
    ['read "src/a b \\"c\\".ts" 1-2', [read('src/a b "c".ts', 1, 2)]],
    ['read "./src/a.ts" 0-2', [read('src/a.ts', 1, 2)]],
    ['list', [{ kind: 'list', path: '' }]],
    ['list "."', [{ kind: 'list', path: '' }]],
    ['list "src/"', [{ kind: 'list', path: 'src' }]],
    ['search "a  b"', [{ kind: 'search', terms: 'a b' }]],
    ['read "../../etc/passwd" 1-10', []],
    ['read "/etc/passwd" 1-10', []],
    ['read "C:\\\\windows" 1-10', []],
    ['read "src/../../x" 1-10', []],
    ['read "src/a\\nb" 1-10', []],
    ['list ".."', []],
    ['search', []],
    ['delete "src/a.ts"', []],
  ]
  it.each(requests)('%s', (line, expected) =>
    expect(parseReply(`MORE\n${line}`)).toEqual({ kind: 'more', requests: expected }),
  )

  it('is never for more than eight things', () => {
    const reply = `MORE\n${Array.from({ length: 50 }, (_, index) => `read "f${index}" 1-9`).join('\n')}`
    expect(parseReply(reply)).toEqual({
      kind: 'more',
      requests: Array.from({ length: 8 }, (_, index) => read(`f${index}`, 1, 9)),
    })
  })
})

describe('a reply that follows names', () => {
  it('asks for definitions and callers by one identifier', () => {
    expect(parseReply('MORE\ndefine chargeCard\ncallers `billing.charge_card()`\ndefine\ncallers ...')).toEqual({
      kind: 'more',
      requests: [
        { kind: 'define', name: 'chargeCard' },
        { kind: 'callers', name: 'charge_card' },
      ],
    })
  })
})

describe('a reply that answers', () => {
  const answers: [string, string, string, boolean][] = [
    ['as it is', 'It is so. [[a.ts:1]]', 'It is so. [[a.ts:1]]', false],
    ['in a fence', '```markdown\nIt is `so`.\n\n```ts\nx\n```\nEnd.\n```', 'It is `so`.\n\n```ts\nx\n```\nEnd.', false],
    ['beginning with code', '```ts\nx\n```\nEnd.', '```ts\nx\n```\nEnd.', false],
    ['beginning and ending with code', '```\nx\n```\nand\n```\ny\n```', '```\nx\n```\nand\n```\ny\n```', false],
    ['after thoughts without their beginning', 'MORE\nread "x"\n</think>\n\nIt is so.', 'It is so.', false],
    [
      'that begins with more',
      'More than one place does it.\nread "this" first.',
      'More than one place does it.\nread "this" first.',
      false,
    ],
    [
      'that speaks of MORE',
      'It prints a line.\n\nMORE\n\nand then waits.',
      'It prints a line.\n\nMORE\n\nand then waits.',
      false,
    ],
    ['that speaks of MORE late', 'a\n\nb\n\nMORE\nread "x" 1-2', 'a\n\nb\n\nMORE\nread "x" 1-2', false],
    ['not found', 'NOT FOUND\nThere is no such thing.', 'There is no such thing.', true],
    ['not found, decorated', '**Not found.**\n\nNo such thing.', 'No such thing.', true],
    [
      'not found, on the same line',
      'NOT FOUND: there is no such thing.\nNone.',
      'there is no such thing.\nNone.',
      true,
    ],
    ['of things not found', 'Not found errors are thrown here.', 'Not found errors are thrown here.', false],
    ['nothing', '', '', false],
  ]
  it.each(answers)('%s', (_, reply, markdown, unanswered) => {
    expect(parseReply(reply)).toEqual({ kind: 'answer', markdown, unanswered })
  })

  it('is cut at the length that a record holds', () => {
    const parsed = parseReply('😀'.repeat(300_000))
    expect(parsed.kind === 'answer' && parsed.markdown.length).toBe(400_000)
  })
})

/** What is shown when the reply comes in pieces of these lengths. */
function streamed(reply: string, lengths: number[]): { shown: string; answering: boolean; early: boolean } {
  const filter = streamFilter()
  let shown = ''
  let at = 0
  for (let index = 0; at < reply.length; index++) {
    const length = lengths[index % lengths.length]!
    shown += filter.push(reply.slice(at, at + length))
    at += length
  }
  const early = filter.answering()
  shown += filter.end()
  return { shown, answering: filter.answering(), early }
}

describe('a reply as it comes', () => {
  const cases: [string, string, string][] = [
    [
      'citations are shown short',
      'It is so. [[src/a.ts:10-20 "const a = [[1]]"]] Yes.',
      'It is so. [src/a.ts:10-20] Yes.',
    ],
    ['what only looks like one is shown', 'a[[0]] and [[ -f x ]] and [b](c)', 'a[[0]] and [[ -f x ]] and [b](c)'],
    ['one that is cut at the end is dropped', 'It is so. [[src/a.ts:10 "const', 'It is so. '],
    ['a wish for more is not shown', 'MORE\nread "src/a.ts" 1-20', ''],
    ['nor one in small letters', '  more\n- read "src/a.ts" 1-20', ''],
    ['nor one in a fence', '```\nMORE\nread "src/a.ts" 1-20\n```', ''],
    ['the fence around everything is not shown', '```markdown\nIt is so.\n```\n', 'It is so.\n'],
    ['NOT FOUND is not shown', 'NOT FOUND\nNo such thing.', '\nNo such thing.'],
    ['words that begin like it are', 'Not foundations but walls.', 'Not foundations but walls.'],
    ['more than that is shown', 'More than one place. Yes.', 'More than one place. Yes.'],
    ['MORE in prose is shown in the end', 'MORE\nor less, that is so.\n', 'MORE\nor less, that is so.\n'],
    [
      'code is shown as it is',
      '```ts\nconst a = [[1, 2], [3]]\n```\nEnd.',
      '```ts\nconst a = [[1, 2], [3]]\n```\nEnd.',
    ],
  ]
  it.each(cases)('%s', (_, reply, shown) => {
    // Prose that begins with MORE is held back: a stream shows it at the end or not at all.
    const allowed = reply.startsWith('MORE\nor') ? ['', shown] : [shown]
    for (const lengths of [[1], [3], [7, 2], [1_000]]) expect(allowed).toContain(streamed(reply, lengths).shown)
  })

  it('shows the same however it is cut', () => {
    const pieces = [
      'MORE',
      'more',
      '\n',
      ' ',
      'read "a" 1-2',
      'A word. ',
      '[[',
      ']]',
      '[[src/a.ts:1 "x"]]',
      '```',
      '```markdown\n',
      '</think>',
      'NOT FOUND',
      '"',
      '**',
      '- ',
      '\r\n',
      'é😀',
    ]
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...pieces), { maxLength: 14, size: 'max' }),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 6 }),
        (parts, lengths) => {
          const reply = parts.join('')
          const inPieces = streamed(reply, lengths)
          expect(inPieces.shown).toBe(streamed(reply, [reply.length + 1]).shown)
          const parsed = parseReply(reply)
          expect(inPieces.answering).toBe(parsed.kind === 'answer')
          // A stream that announced an answer must not turn into something else.
          const announced = inPieces.early && !/^<\/think>/m.test(reply)
          expect(announced && parsed.kind !== 'answer').toBe(false)
          expect(parsed.kind === 'more' && /^\s*MORE\s*$/m.test(inPieces.shown)).toBe(false)
        },
      ),
      { numRuns: runs * 2 },
    )
  })

  it('knows early that a long answer is one', () => {
    const filter = streamFilter()
    filter.push(`${'A long first line. '.repeat(12)}`)
    filter.push('And')
    expect(filter.answering()).toBe(true)
    const second = streamFilter()
    second.push('Short.\n\nSecond')
    expect(second.answering()).toBe(true)
    const unclear = streamFilter()
    unclear.push('Short.')
    expect(unclear.answering()).toBe(false)
    unclear.end()
    expect(unclear.answering()).toBe(true)
  })

  it('keeps up with 200,000 characters in small pieces', () => {
    const reply = 'A sentence about it. [[src/a.ts:10-20 "const a = 1"]]\n'.repeat(3_700)
    expect(streamed(reply, [4]).shown).toBe('A sentence about it. [src/a.ts:10-20]\n'.repeat(3_700))
    for (const text of [reply, '['.repeat(200_000), `MORE\n${'x '.repeat(100_000)}`])
      expect(processorTime(() => streamed(text, [4]))).toBeLessThan(3_000)
  })
})
