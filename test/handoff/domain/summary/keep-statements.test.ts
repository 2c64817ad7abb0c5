// A statement stays word for word while its lines are there. What a file is called now comes into its text only as a harmless name.
import { describe, expect, test } from 'vitest'
import type { Relocation } from '../../../../src/handoff/domain/sandbox-protocol-decoder.js'
import { keepStatements } from '../../../../src/handoff/domain/summary/keep-statements.js'
import { createPathIndex } from '../../../../src/handoff/domain/summary/path-index.js'
import { headings, type Statement, type SummaryRecord } from '../../../../src/handoff/domain/summary/summary-record.js'

const place = { path: 'src/a.ts', blob: 'a'.repeat(40), from: 3, to: 5 }
const naming: Statement = {
  text: 'The clock is in src/a.ts.',
  citations: [{ ...place, digest: 'd'.repeat(64) }],
  names: ['src/a.ts'],
}

const recordOf = (...statements: Statement[]): SummaryRecord => ({
  version: 1,
  commit: 'c'.repeat(40),
  model: 'x',
  prompts: 1,
  inputTokens: 1,
  sections: headings.map((heading, index) => ({ heading, statements: index === 0 ? statements : [] })),
  directories: [],
  words: [],
})

const movedTo = (path: string): Relocation => ({ ...place, verdict: 'moved', now: { ...place, path } })

function kept(statement: Statement, relocations: Relocation[], paths: string[], renamed: [string, string][] = []) {
  const input = { record: recordOf(statement), relocations, renamed: new Map(renamed) }
  const { sections, unchanged } = keepStatements({ ...input, pathIndex: createPathIndex({ paths }) })
  return { texts: sections[0]!.kept.map(({ text }) => text), lost: sections[0]!.lost.length, unchanged }
}

test('with its lines in their place it stays, and without them it is lost', () => {
  const there: Relocation = { ...place, verdict: 'same', now: place }
  expect(kept(naming, [there], ['src/a.ts'])).toEqual({ texts: [naming.text], lost: 0, unchanged: true })
  expect(kept(naming, [], ['src/a.ts'])).toEqual({ texts: [], lost: 1, unchanged: false })
  expect(kept(naming, [there], ['src/b.ts'])).toEqual({ texts: [], lost: 1, unchanged: false })
})

test('a file that moved has its present name in the text, whether its lines moved or it was renamed', () => {
  const expected = { texts: ['The clock is in lib/b.ts.'], lost: 0, unchanged: false }
  expect(kept(naming, [movedTo('lib/b.ts')], ['lib/b.ts'])).toEqual(expected)
  expect(kept(naming, [movedTo('lib/b.ts')], ['lib/b.ts'], [['src/a.ts', 'lib/b.ts']])).toEqual(expected)
})

describe('a hostile name', () => {
  test.each(['x`<img src=y>.ts', 'a`b.ts', '<b>.ts', 'a\nb.ts', 'a\u2028b.ts', 'a\u2029b.ts', 'a\u0007b.ts'])(
    'never comes into a text: %j',
    (name) => {
      const path = `src/${name}`
      expect(kept(naming, [movedTo(path)], [path])).toEqual({ texts: [], lost: 1, unchanged: false })
    },
  )

  test('of a directory does not come in either', () => {
    const statement = { ...naming, text: 'All of `src/` counts.', names: ['src/'] }
    const path = 'x`<b>/a.ts'
    expect(kept(statement, [movedTo(path)], [path]).texts).toEqual([])
    expect(kept(statement, [movedTo('lib/a.ts')], ['lib/a.ts']).texts).toEqual(['All of `lib/` counts.'])
  })
})
