import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isHandoffError } from '../../../../src/handoff/domain/errors.js'
import {
  decodeSummaryCache,
  encodeSummaryCache,
  pruneSummaryCache,
  readSummaryCache,
  type SummaryCache,
  summaryCacheLimit,
} from '../../../../src/handoff/domain/summary/summary-cache.js'

const blob = (digit: string) => digit.repeat(40)
const key = 'a'.repeat(64)

const cache = (): SummaryCache => ({
  version: 1,
  commit: blob('c'),
  model: 'gpt-4o',
  prompts: 1,
  inputTokens: 400_000,
  trees: { src: blob('1'), '': blob('2') },
  files: [
    {
      path: 'src/a.ts',
      blob: blob('a'),
      lines: 30,
      part: 0,
      whole: true,
      marks: [{ hash: '0123456789ab', lines: 30 }],
    },
    { path: 'src/b "x"\n.ts', blob: blob('b'), lines: 3, part: 1, marks: [] },
    { path: 'z.ts', blob: blob('d'), lines: 1, leftOut: true, marks: [] },
  ],
  parts: [
    { id: 0, kind: 'leaf', directory: 'src', key, tokens: 100, parent: 5, text: 'It is src/a.ts:1.' },
    { id: 1, kind: 'leaf', directory: 'src', key, tokens: 10, parent: 5, text: 'It is src/b.' },
    { id: 5, kind: 'joined', directory: 'src', key, tokens: 0, text: 'All of src.' },
  ],
  summary: { key, sections: ['A', 'B', 'C', 'D'] },
})

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes)
const bytesOf = (value: unknown) => new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value))
const asStored = () => JSON.parse(text(encodeSummaryCache(cache()))) as Record<string, never>

describe('prose', () => {
  it('survives being written down, in the same bytes every time', () => {
    expect(decodeSummaryCache(encodeSummaryCache(cache()))).toEqual(cache())
    expect(text(encodeSummaryCache(decodeSummaryCache(encodeSummaryCache(cache()))))).toBe(
      text(encodeSummaryCache(cache())),
    )
  })

  it('is written one file and one part to a line', () => {
    expect(text(encodeSummaryCache(cache())).split('\n').length).toBeGreaterThan(6)
  })

  it('loses parts that tell of nothing, and their joints', () => {
    const whole = cache()
    const pruned = pruneSummaryCache({ ...whole, files: whole.files.slice(2) })
    expect(pruned.parts).toEqual([])
    expect(pruned.trees).toEqual({ '': blob('2') })
    const silent = pruneSummaryCache({
      ...whole,
      parts: whole.parts.map((part) => (part.id === 1 ? { ...part, text: '' } : part)),
    })
    expect(silent.parts.map((part) => part.id)).toEqual([0, 5])
    expect(silent.files[1]).toMatchObject({ leftOut: true })
    const headless = pruneSummaryCache({ ...whole, parts: whole.parts.slice(0, 2) })
    expect(headless.parts.map((part) => part.parent)).toEqual([undefined, undefined])
  })

  it('stays within its bound: the pieces go first', () => {
    const marks = Array.from({ length: 20_000 }, () => ({ hash: '0123456789ab', lines: 8 }))
    const files = Array.from({ length: 40 }, (_, index) => ({ ...cache().files[0]!, path: `src/${index}.ts`, marks }))
    const bytes = encodeSummaryCache({ ...cache(), files })
    expect(bytes.length).toBeLessThan(summaryCacheLimit)
    expect(decodeSummaryCache(bytes).files.map((file) => file.marks.length)).toEqual(files.map(() => 0))
  })
})

describe('prose that is not ours', () => {
  const broken = (change: (stored: ReturnType<typeof asStored>) => unknown) => bytesOf(change(asStored()))
  const cases: [string, Uint8Array][] = [
    ['not JSON', bytesOf('{')],
    ['cut in the middle', encodeSummaryCache(cache()).slice(0, 300)],
    ['a list', bytesOf([])],
    ['without parts', broken(({ parts: _, ...rest }) => rest)],
    [
      'a blob that is none',
      broken((stored) => ({ ...stored, files: [{ path: 'a', blob: '../..', lines: 1, marks: '' }] })),
    ],
    [
      'marks that are none',
      broken((stored) => ({ ...stored, files: [{ path: 'a', blob: blob('a'), lines: 1, marks: 'x,y' }] })),
    ],
    ['a file of no part', broken((stored) => ({ ...stored, parts: [] }))],
    [
      'a file twice',
      broken((stored) => ({
        ...stored,
        parts: [],
        files: ['a', 'a'].map((path) => ({ path, blob: blob('a'), lines: 1, marks: '' })),
      })),
    ],
    [
      'a part that is its own parent',
      broken((stored) => ({
        ...stored,
        files: [],
        parts: [{ id: 5, kind: 'joined', directory: '', key, tokens: 0, parent: 5, text: 'x' }],
      })),
    ],
    ['three sections', broken((stored) => ({ ...stored, summary: { key, sections: ['A', 'B', 'C'] } }))],
    [
      'a text without end',
      broken((stored) => ({
        ...stored,
        files: [],
        parts: [{ id: 1, kind: 'leaf', directory: '', key, tokens: 0, text: 'x'.repeat(100_000) }],
      })),
    ],
    [
      'lines below zero',
      broken((stored) => ({ ...stored, files: [{ path: 'a', blob: blob('a'), lines: -1, marks: '' }] })),
    ],
  ]

  it.each(cases)('is refused: %s', (_, bytes) => {
    const failure = (() => {
      try {
        return decodeSummaryCache(bytes)
      } catch (error) {
        return error
      }
    })()
    expect(isHandoffError(failure, 'corrupt')).toBe(true)
  })

  it.each(cases)('is reported and ignored when the reader can continue without it: %s', (_, bytes) => {
    const notices: string[] = []
    expect(readSummaryCache(bytes, (notice) => notices.push(notice))).toBeUndefined()
    expect(notices).toEqual(['The summary cache of the earlier run cannot be read; the repository is described anew.'])
  })

  it('of a newer version is distinguished', () => {
    const notices: string[] = []
    expect(readSummaryCache(bytesOf({ version: 2 }), (notice) => notices.push(notice))).toBeUndefined()
    expect(notices[0]).toContain('newer handoff')
    expect(readSummaryCache(null, (notice) => notices.push(notice))).toBeUndefined()
    expect(notices).toHaveLength(1)
  })

  it('is cleaned of what a renderer would act on', () => {
    const hostile = cache()
    hostile.parts[0]!.text = 'It is <img src=x onerror=y>\u0007 [a](javascript:b).'
    hostile.summary!.sections[2] = '<script>x</script>'
    const found = decodeSummaryCache(encodeSummaryCache(hostile))
    expect(found.parts[0]!.text).toBe('It is &lt;img src=x onerror=y> [a] (javascript:b).')
    expect(found.summary!.sections[2]).toBe('&lt;script>x&lt;/script>')
  })

  it('never does anything but decode or be refused', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.json(),
          fc.json().map((inner) => `{"version":1,"commit":"${blob('a')}","files":${inner},"parts":${inner}}`),
        ),
        (json) => {
          expect(refusal(json) ?? 'decoded').toSatisfy((end) => end === 'decoded' || isHandoffError(end))
        },
      ),
      { numRuns: 500 },
    )
  })
})

function refusal(json: string): unknown {
  try {
    decodeSummaryCache(bytesOf(json))
    return undefined
  } catch (error) {
    return error
  }
}
