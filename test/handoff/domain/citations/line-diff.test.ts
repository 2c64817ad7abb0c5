import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type ComparedFile,
  parsePatch,
  staleness,
  staleSentence,
} from '../../../../src/handoff/domain/citations/line-diff.js'

const at = (path: string, from: number, to = from) => ({ path, from, to })
const modified = (path: string, patch?: string): ComparedFile => ({
  path,
  status: 'modified',
  ...(patch === undefined ? {} : { patch }),
})

const patch = `@@ -10,7 +10,7 @@ export function a() {
 ten
 eleven
-twelve
+TWELVE
 thirteen
 fourteen
 fifteen
 sixteen
@@ -30,6 +30,8 @@
 thirty
 thirty one
 thirty two
+new
+new too
 thirty three
 thirty four
 thirty five
\\ No newline at end of file`

describe('the lines that a difference changes', () => {
  const cases: [string, string, { from: number; to: number }[] | null][] = [
    ['changed and put in', patch, [at('', 12), { from: 33, to: 32 }].map(({ from, to }) => ({ from, to }))],
    ['taken away', '@@ -5,4 +5,2 @@\n a\n-b\n-c\n d', [{ from: 6, to: 7 }]],
    ['put in at the very top', '@@ -1,2 +1,3 @@\n+new\n a\n b', [{ from: 1, to: 0 }]],
    ['put in without context', '@@ -5,0 +6,2 @@\n+x\n+y', [{ from: 6, to: 5 }]],
    ['one line alone', '@@ -3 +3 @@\n-a\n+b', [{ from: 3, to: 3 }]],
    ['a line that looks like a head', '@@ -1,2 +1,2 @@\n-@@ -9,9 +9,9 @@\n+x\n y', [{ from: 1, to: 1 }]],
    ['lines that begin with signs', '@@ -1,3 +1,2 @@\n---x\n ++y\n z', [{ from: 1, to: 1 }]],
    ['empty context', '@@ -1,3 +1,4 @@\n a\n\n+b\n c', [{ from: 3, to: 2 }]],
    ['nothing', '', []],
    ['cut in the middle', '@@ -1,9 +1,9 @@\n a\n-b\n+c', null],
    ['no difference at all', 'Binary files differ', null],
    ['longer than its head says', '@@ -1,1 +1,1 @@\n-a\n-b\n+c', null],
  ]
  it.each(cases)('%s', (_, text, ranges) => expect(parsePatch(text)).toEqual(ranges))
})

describe('what became of the evidence', () => {
  it('is still valid when no cited line changed', () => {
    const cited = [at('a.ts', 1, 11), at('a.ts', 13, 32), at('a.ts', 33, 40), at('b.ts', 1, 100)]
    expect(staleness(cited, [modified('a.ts', patch)])).toEqual({
      valid: true,
      citations: cited.map((range) => ({ ...range, verdict: 'same' })),
      sentence: 'still valid: none of the 4 cited ranges changed',
    })
  })

  it('says which ranges changed', () => {
    const found = staleness([at('a.ts', 10, 20), at('a.ts', 30, 34), at('b.ts', 1)], [modified('a.ts', patch)])
    expect(found).toEqual({
      valid: false,
      citations: [
        { ...at('a.ts', 10, 20), verdict: 'changed' },
        { ...at('a.ts', 30, 34), verdict: 'changed' },
        { ...at('b.ts', 1), verdict: 'same' },
      ],
      sentence: '2 of the 3 cited ranges changed: a.ts:10-20, a.ts:30-34',
    })
  })

  it('counts a range that was cited twice once', () => {
    expect(staleness([at('a.ts', 1), at('a.ts', 1)], []).sentence).toBe(
      'still valid: the one cited range did not change',
    )
  })

  it('knows deleted and renamed files', () => {
    const files: ComparedFile[] = [
      { path: 'gone.ts', status: 'removed' },
      { path: 'new.ts', previousPath: 'old.ts', status: 'renamed', patch: '@@ -2 +2 @@\n-a\n+b' },
      { path: 'copy.ts', previousPath: 'a.ts', status: 'copied', patch: '@@ -1 +1 @@\n-a\n+b' },
      { path: 'a.ts', status: 'added', patch: '@@ -0,0 +1 @@\n+b' },
    ]
    const found = staleness([at('gone.ts', 1), at('old.ts', 1), at('old.ts', 2), at('a.ts', 1)], files)
    expect(found.citations.map(({ path, from, verdict, now }) => [path, from, verdict, now])).toEqual([
      ['gone.ts', 1, 'gone', undefined],
      ['old.ts', 1, 'moved', 'new.ts'],
      ['old.ts', 2, 'changed', 'new.ts'],
      ['a.ts', 1, 'same', undefined],
    ])
    expect(found.sentence).toBe(
      '2 of the 4 cited ranges changed: gone.ts:1 (deleted), old.ts:2; 1 of the 4 cited ranges moved: old.ts:1 to new.ts',
    )
  })

  it('says what cannot be known', () => {
    const found = staleness([at('big.ts', 5), at('a.ts', 12)], [modified('big.ts'), modified('a.ts', patch)])
    expect(found.valid).toBe(false)
    expect(found.sentence).toBe(
      '1 of the 2 cited ranges changed: a.ts:12; whether 1 of the 2 cited ranges changed is not known, because the difference is too large to be shown: big.ts:5',
    )
    expect(staleness([at('a.ts', 1)], [], { complete: false }).citations[0]).toMatchObject({ verdict: 'unknown' })
  })

  it('knows by its blob that a file is as it was', () => {
    const moved: ComparedFile = { path: 'new.ts', previousPath: 'old.ts', status: 'renamed', blob: 'b'.repeat(40) }
    expect(staleness([at('old.ts', 1)], [moved], { blobs: new Map([['old.ts', 'b'.repeat(40)]]) }).valid).toBe(true)
    expect(staleness([at('old.ts', 1)], [moved], { blobs: new Map([['old.ts', 'c'.repeat(40)]]) }).valid).toBe(false)
    expect(staleness([at('old.ts', 1)], [moved]).valid).toBe(false)
  })

  it('has nothing to say where nothing was cited', () => {
    expect(staleness([], []).sentence).toBe('nothing was cited, so it is not known whether this is still valid')
  })

  it('is said with the head it was looked for at', () => {
    const found = staleness([at('a.ts', 1)], [])
    expect(staleSentence('a'.repeat(40), 'def5678'.padEnd(40, '0'), found)).toBe(
      'The head is now def5678; still valid: the one cited range did not change.',
    )
    expect(staleSentence('a'.repeat(40), 'a'.repeat(40), found)).toBe('')
  })

  it('agrees with the texts themselves', () => {
    const line = fc.constantFrom('a', 'b', 'c')
    const text = fc.array(line, { minLength: 1, maxLength: 12 })
    const edit = fc.record({
      at: fc.nat(12),
      remove: fc.nat(2),
      add: fc.array(fc.constantFrom('x', 'y'), { maxLength: 2 }),
    })
    fc.assert(
      fc.property(text, edit, fc.nat(11), fc.nat(4), (old, change, start, length) => {
        const place = Math.min(change.at, old.length)
        const removed = old.slice(place, place + change.remove)
        if (removed.length + change.add.length === 0) return
        const head = `@@ -${removed.length === 0 ? place : place + 1},${removed.length} +${place + 1},${change.add.length} @@`
        const body = [...removed.map((one) => `-${one}`), ...change.add.map((one) => `+${one}`)]
        const from = Math.min(start, old.length - 1) + 1
        const to = Math.min(from + length, old.length)
        const { valid } = staleness([at('f', from, to)], [modified('f', [head, ...body].join('\n'))])
        // The cited lines still stand together exactly when the edit lies before or behind them.
        const apart =
          place + removed.length < from || place + 1 > to || (removed.length === 0 && (place < from || place >= to))
        expect(valid).toBe(apart)
      }),
      { numRuns: 500 },
    )
  })
})
