import fc from 'fast-check'
import { expect, test } from 'vitest'
import { meaningOfWord, parseQuestion } from '../../../../../src/handoff/sandbox/program/search/query.js'
import { splitIdentifier, stem, wordParts } from '../../../../../src/handoff/sandbox/program/search/tokenize.js'

test.each([
  ['expirationThreshold', ['expiration', 'threshold']],
  ['EXPIRE_THRESHOLD', ['expire', 'threshold']],
  ['parseHTTPHeader_v2', ['parse', 'http', 'header', 'v', '2']],
  ['__init_subclass__', ['init', 'subclass']],
  ['utf8Text', ['utf', '8', 'text']],
  ['größeÄndern', ['größe', 'ändern']],
  ['_', []],
])('%s falls apart at its seams', (identifier, parts) => {
  expect(splitIdentifier(identifier)).toEqual(parts)
})

test.each([
  ['expire', 'expires', 'expired', 'expiration', 'expiring'],
  ['validate', 'validation', 'validator', 'validated', 'validates'],
  ['stop', 'stopped', 'stopping', 'stops'],
  ['serialize', 'serializer', 'serialization', 'serialise'],
  ['class', 'classes'],
  ['query', 'queries'],
])('the forms of %s are one word', (...forms) => {
  expect(new Set(forms.map(stem)).size).toBe(1)
})

test('words that only look alike have different stems', () => {
  const words = ['status', 'state', 'this', 'bus', 'process', 'access', 'ring', 'red', 'number', 'user', 'used']
  expect(new Set(words.map(stem)).size).toBe(words.length)
})

test('in scripts without spaces, pairs of characters are words', () => {
  expect(wordParts('过期时间')).toEqual(['过期', '期时', '时间'])
  expect(wordParts('設')).toEqual(['設'])
  expect(wordParts('threshold')).toEqual(['threshold'])
})

test('ASCII falls apart as it does beside other letters', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', 'b', 'A', 'B', '0', '7', '_', '-', ' ') }), (text) => {
      expect([...splitIdentifier(text), 'é']).toEqual(splitIdentifier(`${text}_é`))
    }),
  )
})

test('a stem begins as its word does', () => {
  const endings = ['s', 'es', 'ies', 'ed', 'ing', 'er', 'ation', 'ize', 'ness', 'able', 'ically', 'ity', 'al', 'y', 'e']
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(...'abdeginorstyz'), maxLength: 6 }),
      fc.array(fc.constantFrom(...endings), { maxLength: 3 }),
      (start, ends) => {
        const word = start + ends.join('')
        expect(stem(word).slice(0, 2)).toBe(word.slice(0, 2))
      },
    ),
    { numRuns: 2_000 },
  )
})

function said(question: string, word: string, terms: string[] = []): string[] {
  const query = parseQuestion(question, { terms })
  const meaning = meaningOfWord(query, word) ?? []
  return meaning.flatMap((number, index) => (index % 2 === 0 ? [query.concepts[number]!.word] : []))
}

test('code matches other forms, abbreviations and joined words of a question', () => {
  const question = 'How does the configuration of the file name decide when a connection expires?'
  expect(said(question, 'config')).toEqual(['configuration'])
  expect(said(question, 'cfg')).toEqual(['configuration'])
  expect(said(question, 'configurations')).toEqual(['configuration'])
  expect(said(question, 'filename')).toEqual(['file', 'name'])
  expect(said(question, 'expiration')).toEqual(['expires'])
  expect(said(question, 'connect')).toEqual(['connection'])
  expect(said(question, 'con')).toEqual([])
  expect(said(question, 'the')).toEqual([])
})

test('an identifier in a question matches as a whole and in its parts', () => {
  const query = parseQuestion('Why does `Session.resolve_redirects` loop?', { terms: [] })
  expect([...query.identifiers.keys()]).toEqual(['Session', 'resolve_redirects'])
  expect(query.concepts.slice(0, query.said).map(({ word }) => word)).toEqual([
    'Session',
    'session',
    'resolve_redirects',
    'resolve',
    'redirects',
    'loop',
  ])
})

test('other words for one thing count less, and only for words outside identifiers', () => {
  const query = parseQuestion('Why does `fetch_page` loop after a timeout?', { terms: [] })
  const others = query.concepts.slice(query.said)
  expect(others.map(({ word }) => word)).toContain('deadline')
  expect(others.map(({ word }) => word)).not.toContain('download')
  expect(Math.max(...others.map(({ weight }) => weight))).toBeLessThan(0.5)
  const report = parseQuestion('The page loops after a timeout.', { terms: [] }, 'report')
  expect(report.said).toBe(report.concepts.length)
})

test('extra terms count less, unless the question is in a language other than English', () => {
  const weak = parseQuestion('How are retries limited?', { terms: ['backoff'] })
  expect(weak.concepts.find(({ word }) => word === 'backoff')!.weight).toBeLessThan(
    weak.concepts.find(({ word }) => word === 'retries')!.weight,
  )
  const strong = parseQuestion('как ограничены повторы?', { terms: ['retries'] })
  expect(strong.concepts.find(({ word }) => word === 'retries')!.weight).toBe(1)
})

test('the number of concepts is limited however long the question is', () => {
  const words = Array.from({ length: 3_000 }, (_, index) => `word${String.fromCharCode(97 + (index % 26))}${index}x`)
  expect(parseQuestion(words.join(' '), { terms: words }).concepts.length).toBeLessThanOrEqual(100)
})
