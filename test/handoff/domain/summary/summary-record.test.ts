import { describe, expect, it } from 'vitest'
import { digestLines } from '../../../../src/handoff/domain/citations/digest-lines.js'
import { renderSummary, sectionsMarkdown } from '../../../../src/handoff/domain/summary/render-summary.js'
import {
  citedShare,
  decodeSummaryRecord,
  encodeSummaryRecord,
  headings,
  type Statement,
  type SummaryRecord,
} from '../../../../src/handoff/domain/summary/summary-record.js'

const commit = 'c'.repeat(40)
const blob = 'b'.repeat(40)
const digest = digestLines(['export const answer = 42'])

const cite = (path: string, from: number, to = from) => ({ path, from, to, blob, digest })

function record(statements: Statement[], more: Partial<SummaryRecord> = {}): SummaryRecord {
  return {
    version: 1,
    commit,
    model: 'small',
    prompts: 2,
    inputTokens: 400_000,
    sections: headings.map((heading, index) => ({ heading, statements: index === 1 ? statements : [] })),
    directories: [],
    words: [],
    ...more,
  }
}

const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))

describe('summary.json', () => {
  const whole = record(
    [
      { text: 'It answers.', citations: [cite('src/a.ts', 1)] },
      { text: 'It says `no`.', citations: [cite('src/b.ts', 3, 9), cite('src/c.ts', 2)], opens: 'item' },
    ],
    { directories: ['docs'], words: [{ directory: 'src', words: ['reply', 'question'] }] },
  )

  it('is read as it was written, with one statement per line', () => {
    const written = encodeSummaryRecord(whole)
    expect(decodeSummaryRecord(written)).toEqual(whole)
    expect(
      new TextDecoder()
        .decode(written)
        .split('\n')
        .filter((line) => line.startsWith('{"text"')),
    ).toHaveLength(2)
  })

  it('has the same bytes whatever the order of its fields', () => {
    const turned = (value: unknown): unknown =>
      Array.isArray(value)
        ? value.map(turned)
        : typeof value === 'object' && value !== null
          ? Object.fromEntries(
              Object.entries(value)
                .reverse()
                .map(([key, item]) => [key, turned(item)]),
            )
          : value
    expect(encodeSummaryRecord(turned(whole) as SummaryRecord)).toEqual(encodeSummaryRecord(whole))
  })

  const copy = () => JSON.parse(new TextDecoder().decode(encodeSummaryRecord(whole))) as SummaryRecord
  const first = (value: SummaryRecord) => value.sections[1]!.statements[0]!
  const cited = (value: SummaryRecord) => first(value).citations[0]!

  it.each<[string, (value: SummaryRecord) => unknown]>([
    ['three sections', (value) => value.sections.pop()],
    ['a digest that is not one', (value) => Object.assign(cited(value), { digest: 'forged' })],
    ['a blob that is not one', (value) => Object.assign(cited(value), { blob: '../b' })],
    ['line 0', (value) => Object.assign(cited(value), { from: 0 })],
    ['a range that ends before it begins', (value) => Object.assign(cited(value), { from: 5, to: 2 })],
    ['a range of a million lines', (value) => Object.assign(cited(value), { to: 1_000_003 })],
    ['400 statements', (value) => value.sections[1]!.statements.push(...Array(400).fill(first(value)))],
    ['a statement of a novel', (value) => Object.assign(first(value), { text: 'x'.repeat(100_000) })],
    ['a hundred citations', (value) => first(value).citations.push(...Array(100).fill(cited(value)))],
  ])('with %s is refused', (_what, change) => {
    const value = copy()
    change(value)
    expect(() => decodeSummaryRecord(bytes(value))).toThrow(expect.objectContaining({ code: 'corrupt' }))
  })

  it('is cleaned when it is read: headings are ours, and a statement is one line without markup', () => {
    const value = copy()
    value.sections[0]!.heading = 'Send your keys'
    first(value).text = 'One\n\n## Two <img src=x> [here](https://evil.example)'
    const read = decodeSummaryRecord(bytes(value))
    expect(read.sections[0]!.heading).toBe(headings[0])
    expect(read.sections[1]!.statements[0]!.text).toBe('One ## Two &lt;img src=x> [here] (https://evil.example)')
  })
})

describe('the statements as Markdown', () => {
  const target = { place: { host: 'github.com', repository: 'octo/tools' }, commit }
  const address = `https://github.com/octo/tools/blob/${commit}`

  it('have the links of their lines after them', () => {
    const { sections } = record([
      { text: 'It answers.', citations: [cite('src/a.ts', 1)] },
      { text: 'It asks.', citations: [cite('src/b.ts', 3, 9)] },
      { text: 'First.', citations: [cite('a b.md', 2)], opens: 'item' },
      { text: 'Second.', citations: [], opens: 'item' },
      { text: 'After.', citations: [], opens: 'paragraph' },
    ])
    expect(sectionsMarkdown({ sections, directories: ['docs', 'te`st'] }, target).split('## ')[2]).toBe(
      `${headings[1]}\n\nIt answers. [\`src/a.ts:1\`](${address}/src/a.ts#L1) It asks. [\`src/b.ts:3-9\`](${address}/src/b.ts#L3-L9)\n\n` +
        `- First. [\`a b.md:2\`](${address}/a%20b.md?plain=1#L2)\n- Second.\n\nAfter.\n\n` +
        'Also at the top level: `docs/`, ``te`st/``.\n\n',
    )
  })

  it('name the lines where the git host has no known addresses', () => {
    const { sections } = record([{ text: 'It answers.', citations: [cite('src/a.ts', 1)] }])
    const place = { host: 'git.example', repository: 'octo/tools' }
    expect(sectionsMarkdown({ sections, directories: [] }, { place, commit })).toContain('It answers. `src/a.ts:1`\n')
  })

  it('say how much is cited', () => {
    const statements: Statement[] = [
      { text: 'One.', citations: [] },
      { text: 'Two.', citations: [cite('a', 1)] },
    ]
    expect(citedShare(record(statements))).toBe(0.5)
    expect(citedShare(record([]))).toBe(0)
  })

  it('become a file that says what it is, what was left out, and who wrote it', () => {
    const counts = { files: 9, bytes: 80, read: 5, cut: 1, skipped: 3, reasons: { binary: 3 }, kinds: {} }
    const document = { record: record([]), target, repository: 'octo/tools', counts, secrets: 2, partial: 'too large' }
    expect(renderSummary(document)).toBe(renderSummary(structuredClone(document)))
    expect(renderSummary(document)).toMatch(/^# octo\/tools at c{40}\n\n> Not complete: too large\n\n## /)
    expect(renderSummary(document)).toMatch(
      /Not read whole, and why: 3 binary\.\n\nPlaces that look like credentials, hidden from the model: 2\.\n\nWritten by the model small /,
    )
  })
})

describe('the digest of lines', () => {
  it('does not depend on how the file was decoded', () => {
    const plain = digestLines(['if (a) {', '}'])
    expect(digestLines(['\ufeffif (a) {\r', '}  '])).toBe(plain)
    expect(digestLines(['if (a)\u0001 {', '}\t'])).toBe(plain)
  })

  it('depends on every word and on the indentation', () => {
    expect(digestLines(['if (b) {', '}'])).not.toBe(digestLines(['if (a) {', '}']))
    expect(digestLines(['  a'])).not.toBe(digestLines(['a']))
    expect(digestLines(['a', 'b'])).not.toBe(digestLines(['ab']))
  })
})
