// Made-up credentials of some ninety kinds in seven surroundings: which share is found, in files and in texts of our own.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  anchors,
  beginsLikeCredential,
  credentialsIn,
  kinds,
  mayBeginCredential,
  shortestCredential,
} from '../../../../src/handoff/domain/secrets/credential-patterns.js'
import { redactSecrets } from '../../../../src/handoff/domain/secrets/redact-file.js'
import { makeRedactor, makeStreamRedactor, redacted } from '../../../../src/handoff/domain/secrets/redactor.js'
import { randomFrom } from '../../../support/random.js'
import { forms, makeKey, passwords, places, values } from './credential-corpus.js'

const samplesEach = 20

test('no anchor begins another one', () => {
  const shadowed = anchors.filter((one) => anchors.some((other) => other !== one && one.startsWith(other)))
  expect(shadowed).toEqual([])
})

test.each(Object.entries(forms))('%s is found wherever it stands, in files and in words', (_, form) => {
  const random = randomFrom(form.length)
  const redact = makeRedactor([])
  const shown = Object.entries(places).flatMap(([place, put]) =>
    Array.from({ length: samplesEach }, () => makeKey(form, random)).flatMap((key) => [
      redactSecrets(put(key)).text.includes(key) ? `file, ${place}: ${put(key)}` : [],
      redact(put(key)).includes(key) ? `words, ${place}: ${put(key)}` : [],
    ]),
  )
  expect(shown.flat()).toEqual([])
})

test('a key without a form is found in 95 of 100 places that name it', () => {
  const random = randomFrom(1)
  const { bare: _, ...named } = places
  const shown = Object.values(values).flatMap((form) =>
    Object.values(named).flatMap((put) =>
      Array.from({ length: samplesEach }, () => makeKey(form, random)).map((key) =>
        redactSecrets(put(key)).text.includes(key),
      ),
    ),
  )
  expect(shown.filter(Boolean).length / shown.length).toBeLessThan(0.05)
})

test.each(passwords)('the password %s is found beside its name', (password) => {
  const texts = [
    `DB_PASSWORD=${password}\n`,
    `password: ${password}\n`,
    `{"password": "${password}"}`,
    `const dbPassword = '${password}'`,
    `<password>${password}</password>`,
    `mysql --password ${password}\n`,
  ]
  expect(texts.filter((text) => redactSecrets(text).text.includes(password))).toEqual([])
})

test.each(Object.entries(forms))('%s is found however the text that holds it is cut', (_, form) => {
  const text = `first\nkey "${makeKey(form, randomFrom(form.length))}" key\nlast`
  const whole = makeRedactor([])(text)
  expect(whole).toBe(`first\nkey "${redacted}" key\nlast`)
  for (const length of [1, 9]) {
    const stream = makeStreamRedactor([])
    const pieces = Array.from({ length: Math.ceil(text.length / length) }, (_, index) =>
      stream.push(text.slice(index * length, (index + 1) * length)),
    )
    expect(pieces.join('') + stream.end()).toBe(whole)
  }
})

test('a credential is one word, and none is shorter than the shortest', () => {
  const lookaround = /\(\?<?[!=](?:\[[^\]]*\]|[^[\])])*\)/g
  const shortest = (pattern: string) =>
    pattern
      .replace(lookaround, '')
      .replace(/\{(\d+),\d+\}/g, '{$1}')
      .replaceAll(/(?<=[)\]\w])\?/g, '{0}')
  for (const { pattern, isWord, rule } of kinds) {
    fc.assert(
      fc.property(fc.stringMatching(new RegExp(`^${shortest(pattern.source)}$`)), (credential) => {
        expect(credential.length, rule).toBeGreaterThanOrEqual(shortestCredential)
        expect(isWord ? credential : '-').toMatch(/^[A-Za-z0-9+/=_.,~@%:$-]+$/)
      }),
      { numRuns: 20 },
    )
  }
})

test('a token in an address is found, whatever signs it has', () => {
  for (const token of ['a!b(c)d*e!f(g)', 'ü-ö-ä-ü-ö-ä-ü-ö', '0123456789abcdef']) {
    const text = `git clone https://x-access-token:${token}@github.com/octo/tools`
    expect(makeRedactor([])(text)).not.toContain(token)
  }
})

test('two characters exclude no word that begins like a credential', () => {
  const word = fc.tuple(fc.constantFrom(...anchors), fc.string()).map((parts) => parts.join(''))
  fc.assert(
    fc.property(word, (text) => {
      const isLeftOut = beginsLikeCredential(text) && !mayBeginCredential(text.charCodeAt(0), text.charCodeAt(1))
      expect(isLeftOut).toBe(false)
    }),
  )
})

test('a text without an anchor is not searched', () => {
  expect(credentialsIn('const value = compute first and second')).toEqual([])
})

test('a kind that is left out has no credential in the text', () => {
  const random = randomFrom(7)
  const keys = Object.values(forms).flatMap((form) => Array.from({ length: 3 }, () => makeKey(form, random)))
  const part = fc.oneof(
    fc.constantFrom(...keys),
    fc.constantFrom(
      ...anchors,
      ...kinds.flatMap(({ contains }) => contains),
      ' ',
      '\n',
      '"',
      '-',
      '_',
      '.',
      '/',
      'é',
      '😀',
    ),
    fc.string({ maxLength: 4 }),
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
      const text = parts.join('')
      const held = kinds.filter(({ pattern }) => text.search(pattern) >= 0)
      const searched = credentialsIn(text).map(({ pattern }) => pattern)
      expect(held.filter(({ pattern }) => !searched.includes(pattern)).map(({ rule }) => rule)).toEqual([])
    }),
    { numRuns: 2_000 },
  )
})
