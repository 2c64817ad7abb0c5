import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isHandoffError } from '../../../src/handoff/domain/errors.js'
import {
  encodeSegment,
  layout,
  makeRunId,
  parseRepository,
  parseRunId,
  quote,
  shaOf,
} from '../../../src/handoff/domain/run.js'
import { anyCharacter } from '../../support/any-character.js'

const sha = '0123456789abcdef0123456789abcdef01234567'
const repository = parseRepository('octo/tools', 'github.com')

const refusal = (work: () => unknown) => {
  try {
    work()
  } catch (error) {
    return isHandoffError(error) ? error.code : error
  }
  return 'accepted'
}

test('a run id is a commit and an attempt, and reads back', () => {
  const run = makeRunId(sha, '7712-2')
  expect(run).toBe(`${sha}-7712-2`)
  expect(parseRunId(run)).toBe(run)
  expect(shaOf(run)).toBe(sha)
})

test.each([
  '',
  sha,
  `${sha}-`,
  `${sha}-../x`,
  `${sha}-a/b`,
  `${sha.toUpperCase()}-1`,
  `../${sha}-1`,
  `${sha}-1\n`,
  `${sha}-${'a'.repeat(65)}`,
  '..',
])('refuses %j as a run id', (text) => {
  expect(refusal(() => parseRunId(text))).toBe('invalid-input')
})

test('no text at all reaches a path through a run id', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      const result = refusal(() => parseRunId(text))
      return result === 'invalid-input' || /^[0-9a-f]{40}-[a-z0-9-]+$/.test(text)
    }),
  )
})

test.each([
  'octo',
  '/tools',
  'octo/',
  'octo/..',
  '../tools',
  'octo/.',
  'a b/c',
  'octo/tools\n',
  'octo//tools',
  'octo/to?ols',
  `o/${'x'.repeat(101)}`,
])('refuses %j as a repository', (text) => {
  expect(refusal(() => parseRepository(text, 'github.com'))).toBe('invalid-input')
})

test('a path inside a run directory, and groups on GitHub, are no repository', () => {
  const run = `${'a'.repeat(40)}-first`
  expect(refusal(() => parseRepository('octo/tools/extra', 'github.com'))).toBe('invalid-input')
  for (const text of [`octo/tools/runs/${run}/stage`, `octo/tools/runs/${run}`, `${run}/tools`])
    expect(refusal(() => parseRepository(text, 'git.example.org'))).toBe('invalid-input')
})

test('groups nest, and the host is part of the path', () => {
  const nested = parseRepository('group/sub/tools', 'git.example.org:8443')
  expect(layout('/handoff', nested).repository).toBe('/handoff/git.example.org_8443/group/sub/tools')
})

test('the table of paths', () => {
  const place = layout('/handoff', repository)
  const run = makeRunId(sha, '1-1')
  expect(place).toMatchObject({
    runs: '/handoff/github.com/octo/tools/runs',
    commits: '/handoff/github.com/octo/tools/commits',
  })
  expect(place.pointer(sha)).toBe(`/handoff/github.com/octo/tools/commits/${sha}.json`)
  expect(place.run(run)).toBe(`/handoff/github.com/octo/tools/runs/${run}`)
  expect(place.sealNote(run)).toBe(`/handoff/github.com/octo/tools/commits/${run}.sealing.json`)
  expect(place.ref('refs/heads/feature/ä b')).toBe(
    '/handoff/github.com/octo/tools/refs/heads/feature%2F%C3%A4%20b.json',
  )
  expect(place.ref('refs/pull/12/head')).toBe(place.ref('refs/pull/12'))
})

test.each(['main', 'refs/tags/v1', 'refs/pull/0', 'refs/pull/x', 'refs/heads/', 'refs/pull/1/other'])(
  'refuses %j as a ref',
  (ref) => {
    expect(refusal(() => layout('', repository).ref(ref))).toBe('invalid-input')
  },
)

test('every branch name becomes one path segment, and no two meet', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 30 }), fc.string({ maxLength: 30 }), (one, other) => {
      const [a, b] = [encodeSegment(one), encodeSegment(other)]
      expect(a).toMatch(/^[A-Za-z0-9_%.-]*$/)
      expect(a.startsWith('.')).toBe(false)
      return (
        (a === b) === (one === other || new TextEncoder().encode(one).join() === new TextEncoder().encode(other).join())
      )
    }),
  )
})

describe('a branch name of any length has a file of its own', () => {
  const place = layout('/handoff', repository)
  const fileOf = (branch: string) => place.ref(`refs/heads/${branch}`).split('/').at(-1)!
  const long = {
    'in Japanese': '機能/ユーザー登録画面のバリデーション修正対応',
    'of emoji': '🚀'.repeat(40),
    'of 250 bytes': 'b'.repeat(250),
    'as long as git allows': `${'deep/'.repeat(40)}${'x'.repeat(240)}`,
  }

  test.each(Object.entries(long))('%s', (_, branch) => {
    expect(Buffer.byteLength(fileOf(branch))).toBeLessThanOrEqual(205)
    expect(fileOf(branch)).toMatch(/^(?:[A-Za-z0-9_.-]|%[0-9A-F]{2})+~[0-9a-f]{64}\.json$/)
    expect(fileOf(branch), 'it is the same each time').toBe(fileOf(branch))
  })

  test('two long names that differ only at their end do not meet', () => {
    const [one, other] = [`${'feature-'.repeat(40)}a`, `${'feature-'.repeat(40)}b`]
    expect(fileOf(one)).not.toBe(fileOf(other))
  })

  test('a name of 200 encoded bytes is spelled out, as it always was', () => {
    expect(fileOf('b'.repeat(200))).toBe(`${'b'.repeat(200)}.json`)
  })

  test('no branch can take the file of a longer one, because no short name holds a tilde', () => {
    const taken = fileOf('b'.repeat(201)).replace('.json', '')
    expect(fileOf(taken)).not.toBe(`${taken}.json`)
  })
})

test('a quoted text stays on one line, short, and without control characters', () => {
  const shown = quote(`a\u001b[31m\nb\u202e${'x'.repeat(200)}`)
  expect(shown).not.toMatch(/[\p{Cc}\u202e]/u)
  expect(shown.length).toBeLessThanOrEqual(82)
})
