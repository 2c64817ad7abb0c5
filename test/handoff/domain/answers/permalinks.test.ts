// Addresses of files at a commit: built from checked parts, for each kind of git host.
import { describe, expect, test } from 'vitest'
import {
  type AnswerPlace,
  directoryLink,
  linkHost,
  linkRepository,
  permalink,
} from '../../../../src/handoff/domain/answers/permalinks.js'

const commit = 'c'.repeat(40)
const at = (host: string): AnswerPlace => ({ host, repository: 'octo/tools' })
const lines = (path: string, from = 3, to = 5) => ({ path, from, to })

test.each<[string, string | null]>([
  ['github.com', `https://github.com/octo/tools/blob/${commit}/a.ts#L3-L5`],
  ['octo.ghe.com', `https://octo.ghe.com/octo/tools/blob/${commit}/a.ts#L3-L5`],
  ['github.example.org:8443', `https://github.example.org:8443/octo/tools/blob/${commit}/a.ts#L3-L5`],
  ['GitHub.com', `https://GitHub.com/octo/tools/blob/${commit}/a.ts#L3-L5`],
  ['github.com:443', `https://github.com:443/octo/tools/blob/${commit}/a.ts#L3-L5`],
  ['gitlab.com', `https://gitlab.com/octo/tools/-/blob/${commit}/a.ts#L3-5`],
  ['gitlab.example.org', `https://gitlab.example.org/octo/tools/-/blob/${commit}/a.ts#L3-5`],
  ['bitbucket.org', `https://bitbucket.org/octo/tools/src/${commit}/a.ts#lines-3:5`],
  ['notgithub.com', null],
  ['ghe.com', null],
  ['example.github.com.evil', null],
  ['git.example.org', null],
  ['github:80.example', null],
])('on %s: %s', (host, address) => {
  expect(permalink(at(host), commit, lines('a.ts'))).toBe(address)
})

describe('one line', () => {
  test.each<[string, string]>([
    ['github.com', '#L3'],
    ['gitlab.com', '#L3'],
    ['bitbucket.org', '#lines-3'],
  ])('on %s ends in %s', (host, end) => {
    expect(permalink(at(host), commit, lines('a.ts', 3, 3))!.endsWith(`a.ts${end}`)).toBe(true)
  })
})

test.each<[string, boolean]>([
  ['README.md', true],
  ['docs/A.RST', true],
  ['image.svg', true],
  ['a.md.ts', false],
  ['md', false],
])('%s is shown as a document: %s', (path, rendered) => {
  for (const host of ['github.com', 'gitlab.com'])
    expect(permalink(at(host), commit, lines(path))!.includes('?plain=1')).toBe(rendered)
})

test('parts of a path cannot leave their place', () => {
  expect(permalink(at('github.com'), commit, lines('a b/#c/(d)?@e.ts'))).toBe(
    `https://github.com/octo/tools/blob/${commit}/a%20b/%23c/%28d%29%3F%40e.ts#L3-L5`,
  )
})

test.each(['\ud800', 'a\ufffdb', 'a\0b'])('no address can express the path %j', (path) => {
  expect(permalink(at('github.com'), commit, lines(path))).toBeNull()
  expect(directoryLink(at('github.com'), commit, path)).toBeNull()
})

test.each<[string, string | null]>([
  ['github.com', `https://github.com/octo/tools/tree/${commit}`],
  ['gitlab.com', `https://gitlab.com/octo/tools/-/tree/${commit}`],
  ['bitbucket.org', `https://bitbucket.org/octo/tools/src/${commit}`],
])('directories on %s are at %s', (host, top) => {
  expect(directoryLink(at(host), commit, '')).toBe(top)
  expect(directoryLink(at(host), commit, 'src/a b')).toBe(`${top}/src/a%20b`)
})

test('without a known kind of host there is no link', () => {
  const none: AnswerPlace = { ...at('github.com'), permalinks: 'none' }
  expect([permalink(none, commit, lines('a.ts')), directoryLink(none, commit, 'src'), linkHost(none)]).toEqual([
    null,
    null,
    undefined,
  ])
})

test('links go to where people look at things', () => {
  const place: AnswerPlace = { ...at('10.0.0.1'), serverUrl: 'http://code.example.org/http://x/', permalinks: 'github' }
  expect(permalink(place, commit, lines('a.ts'))).toContain('http://code.example.org/http://x/octo/tools/blob/')
  expect(linkHost(place)).toBe('code.example.org/http://x')
  expect(linkHost(at('github.com'))).toBe('github.com')
  expect(linkRepository(at('github.com'))).toEqual({ repository: { host: 'github.com', path: 'octo/tools' } })
  expect(linkRepository(at('git.example.org'))).toEqual({})
})
