// What stays is held back and comes back; what may change is always shown.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createPathIndex } from '../../../../src/handoff/domain/summary/path-index.js'
import {
  insertPlaceholders,
  newSentences,
  restorePlaceholders,
} from '../../../../src/handoff/domain/summary/placeholders.js'

const pathIndex = createPathIndex({ paths: ['src/a.ts', 'src/b.ts', 'lib/core/c.ts', 'README.md'] })
const long = 'and has so much to tell of it that a mark is shorter than the sentence'

describe('an earlier text', () => {
  it('keeps back sentences that name only what did not change', () => {
    const text = `The start is src/a.ts:3 ${long}. The end is src/b.ts:9. It is small. Then lib/core/c.ts:1 follows ${long}.`
    const { text: shown, held } = insertPlaceholders(text, new Set(['src/b.ts']), pathIndex)
    expect(shown).toBe('[kept 1] The end is src/b.ts:9. It is small. [kept 2]')
    expect([...held.values()]).toEqual([`The start is src/a.ts:3 ${long}.`, `Then lib/core/c.ts:1 follows ${long}.`])
    expect(restorePlaceholders(shown, held)).toBe(text)
  })

  it('shows what names the directory of a change, a changed file beside others, or nothing at all', () => {
    const text = `All of \`src/\` does one thing ${long}. Both src/a.ts and src/b.ts do ${long}. It is unknown why ${long}.`
    expect(insertPlaceholders(text, new Set(['src/b.ts']), pathIndex)).toEqual({ text, held: new Map() })
  })

  it('is not abridged where that would save nothing', () => {
    expect(insertPlaceholders('See src/a.ts:1.', new Set(['src/b.ts']), pathIndex).held.size).toBe(0)
  })

  it('holds back whole lists and paragraphs under one mark, and leaves code in fences where it is', () => {
    const text = `- src/a.ts:1 is first ${long}.\n- README.md:2 is next.\n\n\`\`\`sh\nmake src/a.ts and everything that there is besides it, as it always was made\n\`\`\`\n\nlib/core/c.ts:4 is last ${long}.`
    const { text: shown, held } = insertPlaceholders(text, new Set(['src/b.ts']), pathIndex, 5)
    expect(shown.startsWith('[kept 5]\n\n```sh\nmake')).toBe(true)
    expect([...held.keys()]).toEqual([5, 6])
    expect(restorePlaceholders(shown, held)).toBe(text)
  })

  it('comes back whole when the reply repeats it, whatever it says', () => {
    const piece = fc.constantFrom(
      `It is src/a.ts:3 ${long}. `,
      'See src/b.ts:4. ',
      'Nothing. ',
      '\n\n',
      '\n- ',
      '```\nx\n```\n',
      'lib/core/c.ts ',
      '`README.md:1`, ',
      '1. ',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), fc.nat(9), (pieces, first) => {
        const text = pieces.join('')
        const { text: shown, held } = insertPlaceholders(text, new Set(['src/b.ts']), pathIndex, first)
        expect(restorePlaceholders(shown, held)).toBe(text)
      }),
    )
  })
})

describe('a reply', () => {
  const held = new Map([
    [1, 'First, src/a.ts:1.'],
    [2, 'Second, src/a.ts:2.'],
  ])

  it('gets back at its end what it forgot', () => {
    expect(restorePlaceholders('New words. [kept 2]', held)).toBe(
      'New words. Second, src/a.ts:2.\n\nFirst, src/a.ts:1.',
    )
  })

  it('cannot use a mark twice, nor one of its own', () => {
    expect(restorePlaceholders('[kept 1] [kept 1] [kept 99] [kept 2]', held)).toBe(
      'First, src/a.ts:1.   Second, src/a.ts:2.',
    )
  })
})

it('what is new in a text are the sentences that it did not have', () => {
  expect(
    newSentences('One stays. Two goes.\n\n- Three moves.', '- Three moves.\n- Four is new.\n\nOne stays. Two came.'),
  ).toBe('- Four is new. Two came.')
  expect(newSentences('', 'All of it. Is new.')).toBe('All of it. Is new.')
})
