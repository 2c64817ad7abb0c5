// Random repositories: the counts reconcile with git, the budget holds, no credential leaks, and the same input gives the same bytes.
// 15 runs, or 1,000 with LONG=1.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { SurveyLimits } from '../../../../../src/handoff/domain/sandbox-protocol.js'
import { anyCharacter } from '../../../../support/any-character.js'
import { type Content, makeRepository } from '../../../../support/repository.js'
import { expectSound, surveyIn } from './survey-repository.js'

const runs = process.env['LONG'] === '1' ? 1_000 : 15

const key = `ghp_${'aZ3k9QmW2xR7tY5uP1vB'.repeat(2).slice(0, 36)}`

const segment = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom(
      'src',
      'lib',
      'core',
      'test',
      'docs',
      'vendor',
      'dist',
      'examples',
      'a b',
      'deep',
      'ünï',
      '.github',
    ),
  },
  fc.string({ minLength: 1, maxLength: 6, unit: anyCharacter }).map((text) => text.replace(/[/\0]/g, '_')),
)
const ending = fc.constantFrom(
  'ts',
  'py',
  'go',
  'rs',
  'md',
  'json',
  'yml',
  'png',
  'csv',
  'min.js',
  'test.ts',
  'strange',
  'lock',
  'txt',
  'c',
)
const base = fc.oneof(
  fc.constantFrom(
    'index',
    'main',
    'README',
    'engine',
    'helper',
    'Makefile',
    'package',
    '.gitattributes',
    '.handoffignore',
  ),
  segment,
)
const path = fc
  .tuple(fc.array(segment, { maxLength: 3 }), base, fc.option(ending, { nil: '' }))
  .map(([folders, name, end]) => [...folders, end === '' ? name : `${name}.${end}`].join('/'))
  .filter((text) =>
    text.split('/').every((part) => part !== '' && part !== '.' && part !== '..' && part.toLowerCase() !== '.git'),
  )

const word = fc.constantFrom(
  'engine',
  'startEngine',
  'CoreThing',
  'helper_value',
  'return',
  'the',
  key,
  'postgres://me:hunter22@db/x',
)
const line = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(
        'export function ',
        'def ',
        'func ',
        'class ',
        '# ',
        '  // ',
        'const x = ',
        '*.ts ',
        'linguist-generated ',
      ),
      fc.array(word, { maxLength: 5 }),
    )
    .map(([start, words]) => start + words.join(' ')),
  fc.string({ maxLength: 40, unit: anyCharacter }),
)
const text = fc
  .tuple(fc.array(line, { maxLength: 30 }), fc.constantFrom('\n', '\r\n', '\r'))
  .map(([lines, end]) => lines.join(end))
const content: fc.Arbitrary<Content> = fc.oneof(
  { weight: 8, arbitrary: text },
  text.map((whole) => Buffer.from(`\ufeff${whole}`, 'utf16le')),
  text.map((whole) => Buffer.from(whole, 'latin1')),
  fc.uint8Array({ maxLength: 200 }),
  fc.constant(''),
  fc.nat(9_000).map((length) => 'x'.repeat(length)),
  fc.constant({ symlink: 'somewhere' }),
  fc.constant({ submodule: 'c'.repeat(40) }),
  text.map((whole) => ({ executable: `#!/bin/sh\n${whole}` })),
)

/** A path cannot be a file and a folder; the later one of the two is left out. */
function withoutClashes(pairs: [string, Content][]): [string, Content][] {
  const files = new Set<string>()
  const folders = new Set<string>()
  return pairs.filter(([name]) => {
    const above = name
      .split('/')
      .slice(0, -1)
      .map((_, index, parts) => parts.slice(0, index + 1).join('/'))
    if (files.has(name) || folders.has(name) || above.some((folder) => files.has(folder))) return false
    files.add(name)
    for (const folder of above) folders.add(folder)
    return true
  })
}

const files = fc.array(fc.tuple(path, content), { maxLength: 14 }).map(withoutClashes)
const limits: fc.Arbitrary<Partial<SurveyLimits>> = fc.record({
  textBytes: fc.oneof(fc.nat(300), fc.nat(20_000)),
  include: fc.constantFrom<string[][]>([], [], ['src', '*.md'], ['**/*.ts']),
  exclude: fc.constantFrom<string[][]>([], [], ['docs/'], ['*.py', '!engine.py']),
})

test('counts reconcile, the budget holds, no credential leaks, and a second survey gives the same bytes', async () => {
  await fc.assert(
    fc.asyncProperty(files, limits, async (content, asked) => {
      await using repository = await makeRepository([content])
      const first = await surveyIn(repository, asked)
      await expectSound(first, repository, asked)
      const second = await surveyIn(repository, asked)
      expect(JSON.stringify(second)).toBe(JSON.stringify(first))
      expect(JSON.stringify(first)).not.toContain(key)
      expect(JSON.stringify(first)).not.toContain('hunter22')
    }),
    { numRuns: runs },
  )
}, 1_800_000)
