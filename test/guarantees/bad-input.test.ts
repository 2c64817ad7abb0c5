// Any input is accepted, or rejected soon with a defined error, and what is shown of it is harmless. The decoders of the handoff and
// of a sandbox's records, the run ids and the Markdown itself are fuzzed where they are tested; this is the rest of what strangers reach.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeAnswer, encodeAnswer } from '../../src/handoff/domain/answer.js'
import { parseAskCommand } from '../../src/handoff/domain/answers/ask-command.js'
import { readAskMarker, writeAskMarker } from '../../src/handoff/domain/answers/comment-marker.js'
import { readAskEvent } from '../../src/handoff/domain/answers/parse-ask-comment.js'
import { longestQuestion, normaliseQuestion, parseQuestion } from '../../src/handoff/domain/answers/question.js'
import { answerMarkdown } from '../../src/handoff/domain/answers/render-answer.js'
import { HandoffError, isHandoffError } from '../../src/handoff/domain/errors.js'
import { readFileTable } from '../../src/handoff/domain/file-table.js'
import { decodePointer, decodeRef } from '../../src/handoff/domain/handoff-record.js'
import { parseSettings, secretSettings } from '../../src/handoff/domain/settings.js'
import { settingTable } from '../../src/handoff/domain/settings-reference.js'
import { decodeNotes } from '../../src/handoff/domain/summary/notes.js'
import { decodeSummaryRecord } from '../../src/handoff/domain/summary/summary-record.js'
import { anyText } from '../handoff/domain/any-text.js'
import { hostileMarkdown as hostilePieces } from '../handoff/domain/markdown/hostile-markdown.js'
import { findings } from '../handoff/domain/markdown/markdown-tree.js'
import { processorTime } from '../support/processor-time.js'

const numRuns = process.env['LONG'] === '1' ? 5_000 : 300
const check = <T>(property: fc.IProperty<[T]>) => fc.assert(property, { numRuns })

/** The value, or undefined when it is refused in order. Any other error is a failure. */
function taken<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (isHandoffError(error) && error.message.length < 2_000) return undefined
    throw error
  }
}

const hostileMarkdown = hostilePieces.map((pieces) => [...pieces].join(''))

const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))
const fixture = (name: string) =>
  JSON.parse(readFileSync(join(import.meta.dirname, '../fixtures/format', name), 'utf8')) as object

const oddValue = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    -1,
    0.5,
    1e308,
    2 ** 53,
    '',
    '../..',
    '\u0000',
    '__proto__',
    [],
    {},
    [[]],
    'x'.repeat(30_000),
  ),
  anyText(20),
  fc.jsonValue(),
)

/** A good value with one to three of its places changed, removed or repeated. */
function spoiled(good: object): fc.Arbitrary<unknown> {
  const change = fc.record({ at: fc.nat(10_000), how: fc.constantFrom('set', 'remove', 'add'), value: oddValue })
  return fc.array(change, { minLength: 1, maxLength: 3 }).map((changes) => {
    const value: unknown = structuredClone(good)
    for (const { at, how, value: shared } of changes) {
      const odd: unknown = structuredClone(shared)
      const places = placesIn(value)
      const place = places[at % places.length]!
      if (how === 'set') place.of[place.key] = odd
      else if (how === 'remove') delete place.of[place.key]
      else
        Object.defineProperty(place.of, 'unknown', { value: odd, enumerable: true, configurable: true, writable: true })
    }
    return value
  })
}

interface Spot {
  of: Record<string, unknown>
  key: string
}

function placesIn(value: unknown): Spot[] {
  if (typeof value !== 'object' || value === null) return [{ of: { value } as Record<string, unknown>, key: 'value' }]
  const of = value as Record<string, unknown>
  const own = Object.keys(of).map((key) => ({ of, key }))
  const below = Object.values(of).flatMap((child) =>
    typeof child === 'object' && child !== null ? placesIn(child) : [],
  )
  return own.length + below.length > 0 ? [...own, ...below] : [{ of, key: 'added' }]
}

const blob = 'a'.repeat(40)
const table = {
  version: 1,
  commit: blob,
  trees: { src: blob },
  files: [{ path: 'src/a.ts', mode: '100644', blob, size: 3, kind: 'source', state: 'read' }],
  secrets: [{ path: 'src/a.ts', line: 1, rule: 'x' }],
}
const digest = 'b'.repeat(64)
const statement = {
  text: 'It is a.',
  citations: [{ path: 'src/a.ts', from: 1, to: 2, blob, digest }],
  names: ['src'],
  opens: 'item',
}
const summary = {
  version: 1,
  commit: blob,
  model: 'm',
  prompts: 2,
  inputTokens: 5,
  sections: ['a', 'b', 'c', 'd'].map((heading) => ({ heading, statements: [statement] })),
  directories: ['docs'],
  words: [{ directory: 'src', words: ['one'] }],
}
const notes = { version: 1, notes: [{ key: digest, text: 'It is a.', cut: true }] }

describe('a stored file', () => {
  const decoders: [string, object, (bytes: Uint8Array) => unknown][] = [
    ['an answer', fixture('answer-done.json'), decodeAnswer],
    ['a claim', fixture('answer-running.json'), decodeAnswer],
    ['a commit pointer', fixture('pointer.json'), decodePointer],
    ['a ref', fixture('ref.json'), decodeRef],
    ['the statements of a summary', summary, decodeSummaryRecord],
    ['notes', notes, decodeNotes],
    ['a table of files', table, readFileTable],
  ]

  test.each(decoders)('%s with any error, or any bytes, is refused with an error of ours', (_name, good, decode) => {
    expect(taken(() => decode(bytesOf(good)))).toBeDefined()
    check(fc.property(spoiled(good), (value) => void taken(() => decode(bytesOf(value)))))
    check(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        (bytes) => void expect(taken(() => decode(bytes))).toBeUndefined(),
      ),
    )
    check(
      fc.property(
        anyText(200),
        (text) => void expect(taken(() => decode(new TextEncoder().encode(text)))).toBeUndefined(),
      ),
    )
  })

  test('an answer is written as it was read', () => {
    check(
      fc.property(spoiled(fixture('answer-done.json')), (value) => {
        const record = taken(() => decodeAnswer(bytesOf(value)))
        expect(record && decodeAnswer(encodeAnswer(record))).toEqual(record)
      }),
    )
  })

  test('no field name reaches the prototype of objects', () => {
    for (const decode of [decodeAnswer, decodePointer, decodeSummaryRecord, decodeNotes, readFileTable]) {
      taken(() =>
        decode(
          new TextEncoder().encode(
            '{"version":1,"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
          ),
        ),
      )
    }
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })
})

describe('a question', () => {
  test('is stored as clean text within its length, or refused', () => {
    check(
      fc.property(fc.oneof(anyText(300), hostileMarkdown, fc.string({ maxLength: 6_000, size: 'max' })), (text) => {
        const question = taken(() => parseQuestion(text))
        fc.pre(question !== undefined)
        expect([...question].length).toBeLessThanOrEqual(longestQuestion)
        expect(question.isWellFormed()).toBe(true)
        expect(parseQuestion(question)).toBe(question)
        expect(normaliseQuestion(question)).toBe(normaliseQuestion(` ${question} `))
      }),
    )
  })

  test('of a million characters is refused early', () => {
    for (const text of ['?', '`', '[', ' a', '\u0301', '<!--', '/ask '].map((piece) =>
      piece.repeat(1_000_000 / piece.length),
    )) {
      let question: string | undefined
      const time = processorTime(() => {
        question = taken(() => parseQuestion(text))
      })
      expect({ shown: (question ?? '').length < 100, early: time < 2_000 }).toEqual({ shown: true, early: true })
    }
  })

  test('in a comment is found only at its start', () => {
    check(
      fc.property(fc.oneof(anyText(200), hostileMarkdown), (text) => {
        const command = parseAskCommand(`/ask ${text}`)
        expect(command).not.toBeNull()
        expect(command!.question).toBe(command!.question.trim())
        const asks = /^\s*\/ask(\s|$)/i.test(text.replace(/^\ufeff/, ''))
        expect(asks || parseAskCommand(text) === null).toBe(true)
      }),
    )
  })
})

describe('the event of a comment', () => {
  const user = { login: 'wanda', id: 5, type: 'User' }
  const comment = { id: 7, body: '/ask why?', user, created_at: '2026-01-01T00:00:00Z' }
  const repository = { id: 1, full_name: 'octo/tools' }
  const good = { action: 'created', repository, comment, issue: { number: 3, pull_request: {} } }

  test('is a question, is ignored with a reason, or is refused', () => {
    expect(readAskEvent('issue_comment', good)).toMatchObject({ question: 'why?' })
    check(
      fc.property(spoiled(good), (payload) => {
        const event = taken(() => readAskEvent('issue_comment', payload))
        fc.pre(event !== undefined)
        expect('ignored' in event ? event : event.target.thread).toEqual(
          'ignored' in event
            ? { ignored: expect.stringMatching(/\.$/) }
            : expect.objectContaining({ number: expect.any(Number) }),
        )
      }),
    )
  })

  test('of any name and any shape breaks nothing', () => {
    check(
      fc.property(
        fc.tuple(anyText(20), fc.jsonValue()),
        ([name, payload]) => void taken(() => readAskEvent(name, payload)),
      ),
    )
  })
})

describe('the comment with an answer', () => {
  const done = fixture('answer-done.json')
  const place = { host: 'github.com', repository: 'octo/tools' }
  /** Our own collapsed part is the only HTML there is. It is not taken out: what stood around it would meet. */
  const withoutOurs = (markdown: string) => markdown.replace(/<(\/?(?:details|summary))>/g, '($1)')

  test('is harmless in a real CommonMark parser, for any question, answer and citation', () => {
    check(
      fc.property(
        fc.tuple(hostileMarkdown, hostileMarkdown, hostileMarkdown, fc.constantFrom('comment', 'job-summary')),
        ([question, text, path, form]) => {
          const citations = [{ path, from: 1, to: 2, quote: text.slice(0, 100), verified: true }]
          const record = {
            ...done,
            question,
            text: `${text} [${path}:1-2]`,
            citations,
            searched: [path.slice(0, 50)],
          } as never
          const shown = answerMarkdown(record, place, { form: form as 'comment', notes: [text.slice(0, 80)] })
          expect(findings(withoutOurs(shown), place.host)).toEqual([])
        },
      ),
    )
  })

  test('has a marker that its text cannot forge', () => {
    const marker = { question: 7, part: 1, state: 'working' as const }
    check(
      fc.property(hostileMarkdown, (text) => {
        expect(
          readAskMarker(`${writeAskMarker(marker)}\n${text}\n${writeAskMarker({ ...marker, state: 'done' as never })}`),
        ).toEqual(marker)
      }),
    )
  })
})

function readOrRefuse(environment: Record<string, string>) {
  try {
    return parseSettings(environment)
  } catch (error) {
    if (isHandoffError(error)) return error
    throw error
  }
}

test('settings of any text are read, or refused without repeating a secret', () => {
  const names = settingTable.map(({ name }) => name)
  const base = { E2B_API_KEY: 'e', DRIVE9_API_KEY: 'd', LLM_API_KEY: 'l', LLM_MODEL: 'm' }
  check(
    fc.property(fc.dictionary(fc.constantFrom(...names), anyText(60)), (given) => {
      const hidden = Object.fromEntries(
        Object.entries(given).map(([name, text]) => [name, secretSettings.includes(name) ? `secret-${text}` : text]),
      )
      const read = readOrRefuse({ ...base, ...hidden })
      expect(read instanceof HandoffError || read.limits.deadlineMs > 0).toBe(true)
      expect(read instanceof HandoffError && JSON.stringify(read).includes('secret-')).toBe(false)
    }),
  )
})
