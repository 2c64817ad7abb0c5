import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  align,
  chunkHashesPattern,
  decodeChunkHashes,
  encodeChunkHashes,
  hashChunks,
} from '../../../../src/handoff/domain/summary/chunk-hashes.js'
import { processorTime } from '../../../support/processor-time.js'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const linesOf = (texts: string[]) => texts.map((text) => ({ text }))
const marks = (texts: string[]) => hashChunks(linesOf(texts), sha256)

const file = fc.array(fc.constantFrom('', '}', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'return x', 'import y'), {
  maxLength: 120,
})
const edited = file.chain((before) =>
  fc.record({
    before: fc.constant(before),
    from: fc.nat(before.length),
    removed: fc.nat(10),
    added: fc.array(fc.string({ maxLength: 4 }), { maxLength: 10 }),
  }),
)

describe('the pieces of a file', () => {
  it('hold every line once and survive being written down', () => {
    fc.assert(
      fc.property(file, (texts) => {
        const found = marks(texts)
        expect(found.reduce((sum, mark) => sum + mark.lines, 0)).toBe(texts.length)
        expect(encodeChunkHashes(found)).toMatch(chunkHashesPattern)
        expect(decodeChunkHashes(encodeChunkHashes(found))).toEqual(found)
      }),
    )
  })

  it('show everything that is new, and where the rest stands', () => {
    fc.assert(
      fc.property(edited, ({ before, from, removed, added }) => {
        const after = [...before.slice(0, from), ...added, ...before.slice(from + removed)]
        const { changed, kept, moved } = align(marks(before), marks(after))
        const shown = new Set(
          changed.flatMap((range) => Array.from({ length: range.to - range.from }, (_, index) => range.from + index)),
        )
        // What is not shown as changed stands in the old text, in the same order.
        const still = after.filter((_, index) => !shown.has(index))
        let at = 0
        for (const line of still) {
          at = (before as string[]).indexOf(line, at) + 1
          expect(at).toBeGreaterThan(0)
        }
        expect(kept).toBeLessThanOrEqual(after.length)
        for (let line = 0; line < before.length; line++) expect(moved(line)).toBeLessThan(Math.max(1, after.length))
        const same = JSON.stringify(before) === JSON.stringify(after)
        expect(changed.length > 0).toBe(!same && after.length > 0)
      }),
      { numRuns: 1_000 },
    )
  })

  it('are few where one line of many changed, and lines after it are followed', () => {
    const before = Array.from({ length: 5_000 }, (_, line) => `line ${line} of the file`)
    const after = [...before.slice(0, 2_000), 'new', 'newer', ...before.slice(2_001)]
    const { changed, moved } = align(marks(before), marks(after))
    expect(changed).toHaveLength(1)
    expect(changed[0]!.to - changed[0]!.from).toBeLessThan(40)
    expect(moved(10)).toBe(10)
    expect(moved(4_000)).toBe(4_001)
    expect(Math.abs(moved(2_000) - 2_000)).toBeLessThan(20)
  })

  it('cost no time to speak of, however often lines repeat', () => {
    const before = Array.from({ length: 60_000 }, (_, line) => (line % 3 ? '}' : `x${line % 50}`))
    const after = [...before.slice(100), 'end']
    expect(processorTime(() => align(marks(before), marks(after)))).toBeLessThan(3_000)
  })
})
