import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Excerpt } from '../../../../src/handoff/domain/answer.js'
import {
  type AnswerPrompt,
  answerMessages,
  termsMessages,
} from '../../../../src/handoff/domain/answers/answer-prompt.js'
import { parseTerms } from '../../../../src/handoff/domain/answers/parse-reply.js'
import { anyText } from '../any-text.js'

const runs = process.env['LONG'] ? 10_000 : 200

const injections = JSON.parse(readFileSync(new URL('../../../corpus/injections.json', import.meta.url), 'utf8')) as {
  name: string
  text: string
}[]

const excerpt = (path: string, from: number, lines: string[], source: Excerpt['source'] = 'code'): Excerpt => ({
  path,
  blob: 'b'.repeat(40),
  from,
  lines,
  source,
  score: 1,
})

const prompt = (parts: Partial<AnswerPrompt> = {}): AnswerPrompt => ({
  question: 'How is the token refreshed?',
  excerpts: [excerpt('src/a.ts', 10, ['const a = 1', '', 'export default a'])],
  summary: '## What it is\n\nA thing.',
  earlier: [],
  round: 1,
  roundsLeft: 2,
  ...parts,
})

const dataOf = (parts: Partial<AnswerPrompt> = {}) => answerMessages(prompt(parts))[1]!.content

/** The heads of all blocks, after making sure that there is nothing else but their numbered lines and our closing words. */
function headsOf(data: string): string[] {
  const heads: string[] = []
  let inside = false
  const rest: string[] = []
  const wrong: string[] = []
  for (const line of data.split(/\r\n|[\n\r\u2028\u2029\u0085\u000b\u000c]/)) {
    if (line === '=== end') inside = false
    else if (line.startsWith('=== ')) {
      if (inside) wrong.push(`a block begins inside a block: ${line}`)
      heads.push(line)
      inside = true
    } else if (!inside && line !== '') rest.push(line)
    else if (inside && !/^(?:\d+)?\| /.test(line)) wrong.push(`a line without a number: ${line}`)
  }
  expect(wrong).toEqual([])
  expect(rest).toHaveLength(1)
  return heads
}

describe('what is asked of the model', () => {
  it('names the task first and is the same in every call', () => {
    const [first, second] = [prompt(), prompt({ question: 'Why?', roundsLeft: 0, round: 3 })].map((one) =>
      answerMessages(one),
    )
    expect(first![0]).toEqual(second![0])
    expect(first![0]!.content.split('\n')[0]).toBe('Task: answer')
    expect(termsMessages('Why?')[0]!.content.split('\n')[0]).toBe('Task: terms')
    expect(first!.map((message) => message.role)).toEqual(['system', 'user'])
  })

  it('shows data in blocks, the question last', () => {
    const data = dataOf({
      earlier: [{ question: 'What is\nit?', answer: 'A thing. [src/a.ts:1]' }],
      listings: [{ path: 'src', entries: ['a.ts', 'b.ts'] }],
    })
    expect(data).toMatchInlineSnapshot(`
      "=== summary
      | ## What it is
      | 
      | A thing.
      === end

      === earlier "What is it?"
      | A thing. [src/a.ts:1]
      === end

      === file "src/a.ts" lines 10-12 (code, excerpt)
      10| const a = 1
      11| 
      12| export default a
      === end

      === tree
      | "src":
      | a.ts
      | b.ts
      === end

      === question
      | How is the token refreshed?
      === end

      This is round 1. Answer if you can; if you cannot, you may ask for MORE 2 times.
      "
    `)
  })

  it('says whether more may be asked for', () => {
    expect(dataOf({ roundsLeft: 1 })).toContain('you may ask for MORE once.')
    expect(dataOf({ roundsLeft: 0 })).toContain('MORE is not possible any more')
  })

  it('leaves out an empty summary, and shows the words of a summary that was found as such', () => {
    expect(dataOf({ summary: ' ' })).not.toContain('=== summary')
    const found = dataOf({ summary: '', excerpts: [excerpt('analysis/code-summary.md', 1, ['It is so.'], 'summary')] })
    expect(found).toContain('=== summary\n| It is so.\n=== end')
    expect(found).not.toContain('=== file')
  })

  it.each(injections)('lets nothing out of its block: $name', ({ text }) => {
    const data = dataOf({
      question: text,
      excerpts: [excerpt(text, 1, [text, ...text.split('\n')])],
      summary: text,
      earlier: [{ question: text, answer: text }],
      listings: [{ path: text, entries: [text] }],
      notes: [{ path: text, text }],
      search: { found: 'partly', missing: [text], files: 3 },
    })
    expect(headsOf(data)).toHaveLength(7)
    expect(data).not.toMatch(/[\u202a-\u202e\u200b\udb40]|\u001b/)
    expect(data.isWellFormed()).toBe(true)
    expect(() => headsOf(`${termsMessages(text, text)[1]!.content}\nclosing`)).not.toThrow()
  })

  it('lets nothing out of its block, whatever it is', () => {
    const hostile = fc.array(
      fc.oneof(
        fc.constantFrom('=== end', '=== question', '\n', '\r', '\u2028', '\u0085', '| ', '1| ', '"', '\\'),
        anyText(10),
      ),
      { size: 'max', maxLength: 12 },
    )
    fc.assert(
      fc.property(hostile, (parts) => {
        const text = parts.join('')
        const heads = headsOf(dataOf({ question: text, summary: `x${text}`, excerpts: [excerpt(text, 1, [text])] }))
        expect(heads).toHaveLength(3)
      }),
      { numRuns: runs },
    )
  })
})

describe('words to search for', () => {
  const replies: [string, string[]][] = [
    ['refreshToken expiry auth', ['refreshToken', 'expiry', 'auth']],
    ['Terms: refreshToken, `expiry`; "auth"', ['refreshToken', 'expiry', 'auth']],
    ['- refreshToken\n- expiry\n- auth', ['refreshToken', 'expiry', 'auth']],
    ['```\nrefreshToken expiry\n```', ['refreshToken', 'expiry']],
    ['hm\n</think>\nrefreshToken RefreshToken', ['RefreshToken']],
    ['.gitignore a C++ #define $state x', ['.gitignore', 'C++', '#define', '$state']],
    ['', []],
  ]
  it.each(replies)('%j', (reply, words) => expect(parseTerms(reply)).toEqual(words))

  it('are few and short whatever the reply is', () => {
    expect(parseTerms(Array.from({ length: 400 }, (_, index) => `word${index}`).join(' '))).toHaveLength(12)
    expect(parseTerms('x'.repeat(100_000))).toEqual([])
  })
})
