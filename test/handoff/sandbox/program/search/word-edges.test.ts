// What the first and last letters of words rule out has no meaning indeed, and they rule out most.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { meaningInName, parseQuestion } from '../../../../../src/handoff/sandbox/program/search/query.js'
import { splitIdentifier } from '../../../../../src/handoff/sandbox/program/search/tokenize.js'
import { mayHaveWord } from '../../../../../src/handoff/sandbox/program/search/word-edges.js'

const questionOf = (text: string) => parseQuestion(text, { terms: ['database', 'retry'] })
const hasMeaning = (question: string, name: string) =>
  splitIdentifier(name).some((part) => meaningInName(questionOf(question), part) !== undefined)
const may = (question: string, name: string) => mayHaveWord(questionOf(question).edges, name)

const words = [
  'try',
  'ax',
  'copy',
  'file name',
  'http',
  '404',
  'c',
  'expiration',
  'dbConnection',
  'slow',
  'log',
  'ids',
  'größe',
]
const forms = [
  'tries',
  'retried',
  'axes',
  'copies',
  'filename',
  'HTTPServer',
  '404',
  '40',
  'c',
  'expired',
  'dbs',
  'slowlog',
  'noproxy',
  'id',
]

test('a name that is ruled out has no meaning', () => {
  const word = fc.oneof(fc.constantFrom(...words), fc.string({ maxLength: 5, unit: fc.constantFrom(...'aeiyst01') }))
  const piece = fc.oneof(
    fc.constantFrom(...words, ...forms),
    fc.constantFrom(...forms).map((form) => form[0]!.toUpperCase() + form.slice(1)),
    fc.constantFrom('_', '-', '.', '/', 's', 'S', '1', 'é'),
    fc.string({ maxLength: 6, unit: fc.constantFrom(...'aeiystAEIST01') }),
  )
  const seen = { meant: 0, ruledOut: 0 }
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 3 }), fc.array(piece, { maxLength: 4 }), (asked, pieces) => {
      const [question, name] = [asked.join(' '), pieces.join('')]
      if (hasMeaning(question, name)) seen.meant += 1
      else if (!may(question, name)) seen.ruledOut += 1
      expect(hasMeaning(question, name) && !may(question, name)).toBe(false)
    }),
    { numRuns: process.env['LONG'] === '1' ? 200_000 : 3_000 },
  )
  expect(Math.min(seen.meant, seen.ruledOut)).toBeGreaterThan(100)
})

test('names that share two letters with the question are ruled out', () => {
  const question = 'Where does the database connection expire?'
  const others = ['darkMode', 'exampleModule-14', 'cookie', 'wherever/thing', 'HTTPCookie', 'x', '']
  expect(others.filter((name) => may(question, name))).toEqual([])
  expect(['DatabaseX', 'expiring', 'myconnection', 'reconnect', 'data'].map((name) => may(question, name))).toEqual([
    true,
    true,
    true,
    false,
    true,
  ])
})
