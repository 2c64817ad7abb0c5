// Our reading of patterns against git's own.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { parseAttributes } from '../../../../../src/handoff/sandbox/program/survey/git-attributes.js'
import {
  createPathMatcher,
  matchSegment,
  parsePatterns,
} from '../../../../../src/handoff/sandbox/program/survey/gitignore-patterns.js'
import { processorTime } from '../../../../support/processor-time.js'

const runs = process.env['LONG'] === '1' ? 1_000 : 50
const directory = mkdtempSync(join(tmpdir(), 'globs-'))
/** Looking for what is ignored ends with 1 when nothing is. */
const git = (words: string[], input: string) =>
  spawnSync('git', ['-C', directory, ...words], {
    input,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: directory },
  }).stdout
git(['init', '--quiet'], '')
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const name = fc
  .stringMatching(/^[ab.]{1,3}[12]?$/)
  .filter((text) => text !== '.' && text !== '..' && !text.startsWith('.git'))
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'))
const piece = fc.oneof(
  { weight: 4, arbitrary: name },
  fc.constantFrom('*', '**', '?', 'a*', '*b', '*.a', '[ab]', '[!a]', '[a-b]*', 'a?', '\\a'),
)
// Not `b**`: git strips the `b` first and then reads two stars that stand for any depth; the manual says they do not.
const pattern = fc
  .tuple(
    fc.constantFrom('', '', '', '!', '/'),
    fc.array(piece, { minLength: 1, maxLength: 3 }),
    fc.constantFrom('', '', '/'),
  )
  .map(([start, parts, end]) => start + parts.join('/') + end)

test('ignores what git ignores', () => {
  fc.assert(
    fc.property(
      fc.array(pattern, { minLength: 1, maxLength: 5 }),
      fc.uniqueArray(path, { minLength: 1, maxLength: 12 }),
      (patterns, paths) => {
        writeFileSync(join(directory, '.gitignore'), `${patterns.join('\n')}\n`)
        const reported = git(
          ['-c', 'core.excludesFile=', 'check-ignore', '--no-index', '--verbose', '--non-matching', '--stdin', '-z'],
          paths.map((text) => `${text}\0`).join(''),
        )
        const rows = reported.split('\0')
        const ignored = paths.filter((_, index) => rows[index * 4 + 2] !== '' && !rows[index * 4 + 2]!.startsWith('!'))
        const takes = createPathMatcher(parsePatterns(patterns))
        expect(paths.filter(takes)).toEqual(ignored)
      },
    ),
    { numRuns: runs },
  )
})

test('reads attributes as git does', () => {
  const value = fc.constantFrom(
    'linguist-generated',
    '-linguist-generated',
    '!linguist-generated',
    'linguist-generated=false',
    'linguist-generated=true',
    'text',
  )
  const line = fc
    .tuple(
      pattern.filter((text) => !text.startsWith('!')),
      value,
    )
    .map((words) => words.join(' '))
  fc.assert(
    fc.property(
      fc.array(line, { minLength: 1, maxLength: 5 }),
      fc.uniqueArray(path, { minLength: 1, maxLength: 12 }),
      (lines, paths) => {
        writeFileSync(join(directory, '.gitattributes'), `${lines.join('\n')}\n`)
        const reported = git(
          ['check-attr', '-z', '--stdin', 'linguist-generated'],
          paths.map((text) => `${text}\0`).join(''),
        ).split('\0')
        const expected = paths.map(
          (_, index) =>
            ({ set: true, true: true, unset: false, false: false, unspecified: undefined })[reported[index * 3 + 2]!],
        )
        const attributes = parseAttributes([{ directory: '', text: `${lines.join('\n')}\n` }])
        expect(
          paths.map((text) => attributes(text, text.slice(0, Math.max(0, text.lastIndexOf('/')))).generated),
        ).toEqual(expected)
      },
    ),
    { numRuns: runs },
  )
})

test('a pattern that would backtrack for ever ends in time', () => {
  const time = processorTime(() => {
    expect(matchSegment('*a'.repeat(40), `${'a'.repeat(5_000)}b`)).toBe(false)
    expect(createPathMatcher(parsePatterns([`${'**/'.repeat(30)}x`]))(`${'a/'.repeat(2_000)}b`)).toBe(false)
  })
  expect(time).toBeLessThan(2_000)
})
