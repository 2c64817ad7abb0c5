// What becomes of a model's text: sentences with citations that hold, and paths that exist.
import { describe, expect, it } from 'vitest'
import type { ShownLines } from '../../../../src/handoff/domain/citations/shown-files.js'
import { noCounts, parseStatements, sentencesOf } from '../../../../src/handoff/domain/summary/parse-statements.js'
import { createPathIndex } from '../../../../src/handoff/domain/summary/path-index.js'
import { isUnusualPath } from '../../../../src/handoff/domain/summary/path-mentions.js'
import { splitSections } from '../../../../src/handoff/domain/summary/split-sections.js'
import { processorTime } from '../../../support/processor-time.js'

const lines = [
  'export function start() {',
  '  listen(80)',
  '}',
  '',
  'export const name = "a"',
  'export const out = "dist/cjs/index.js"',
]
const shown: ShownLines[] = [{ path: 'src/a.ts', blob: 'b'.repeat(40), from: 1, lines, source: 'code' }]
const paths = [
  'src/a.ts',
  'src/deep/only.ts',
  'src/index.ts',
  'web/index.ts',
  'README.md',
  'Makefile',
  '.github/ci.yml',
  'app/[id]/page.tsx',
  'docs/my file.md',
]

function parse(markdown: string, { before = [] as string[], mayIntroduce = true, all = paths } = {}) {
  const counts = noCounts()
  const pathIndex = createPathIndex({ paths: all, before, odd: [...all, ...before].filter(isUnusualPath) })
  const statements = parseStatements(markdown, { shown, pathIndex, counts, mayIntroduce })
  return { counts, statements, texts: statements.map(({ text }) => text) }
}
const here = '[[src/a.ts:1-3]]'

describe('a sentence', () => {
  it.each<[string, string, string[]]>([
    ['after it', `It starts. ${here} It ends. ${here}`, ['It starts.', 'It ends.']],
    ['before its full stop', `It starts ${here}. It ends ${here}.`, ['It starts.', 'It ends.']],
    ['in the middle', `It starts ${here} and it ends.`, ['It starts and it ends.']],
    ['in brackets of its own', `It starts (${here}).`, ['It starts.']],
    ['on a line of its own', `It starts.\n${here}\n\nIt ends. ${here}`, ['It starts.', 'It ends.']],
    [
      'in a list',
      `- It starts. ${here}\n- It ends. ${here}\n  - It rests ${here}`,
      ['It starts.', 'It ends.', 'It rests'],
    ],
    ['in a table', `| what | where |\n| --- | --- |\n| start | ${here} |`, ['what: where', 'start:']],
    [
      'with a full stop inside',
      `It starts. [[src/a.ts:2 "listen(80)"]] [[src/a.ts:5 "name = \\"a\\""]]`,
      ['It starts.'],
    ],
    [
      'behind an abbreviation',
      `See e.g. The thing ${here}. Then it ends ${here}.`,
      ['See e.g. The thing.', 'Then it ends.'],
    ],
  ])('has the citations that stand %s', (_where, markdown, texts) => {
    const { statements } = parse(markdown)
    expect(statements.map(({ text }) => text)).toEqual(texts)
    expect(statements.at(-1)!.citations[0]).toMatchObject({ path: 'src/a.ts', blob: 'b'.repeat(40) })
  })

  it('opens a paragraph or an item, or continues', () => {
    const { statements } = parse(`One. ${here} Two. ${here}\n\nThree. ${here}\n1. Four. ${here}\n2. Five. ${here}`)
    expect(statements.map(({ opens }) => opens)).toEqual([undefined, undefined, 'paragraph', 'item', 'item'])
  })

  it('takes the code of a fence that follows it', () => {
    const { texts } = parse(`Build it: ${here}\n\n\`\`\`sh\nnpm ci\n\nnpm test ${here}\n\`\`\`\nDone. ${here}`)
    expect(texts).toEqual(['Build it: `npm ci`, `npm test`', 'Done.'])
  })

  it('without a citation is left out, unless it comes first and may', () => {
    expect(parse(`First. Second. Third. ${here}`).texts).toEqual(['First.', 'Third.'])
    expect(parse(`First. Second. Third. ${here}`, { mayIntroduce: false }).texts).toEqual(['Third.'])
    expect(parse('First. Second. [[src/a.ts:99]] Third. [[src/b.ts:1]]').counts).toEqual({
      checked: 2,
      repaired: 0,
      removed: 2,
      uncited: 2,
    })
  })

  it('holds no markup, and headings go', () => {
    const { texts } = parse(`### Title\n\n<b>It</b> [links](https://evil.example) ![x](y) \`<ok>\`. ${here}`)
    expect(texts).toEqual(['&lt;b>It&lt;/b> [links] (https://evil.example) ![x] (y) `<ok>`.'])
  })

  it('is cut where it is too long, and stays within what a record takes', () => {
    const { statements } = parse(`${'<b>'.repeat(5_000)} ${here}`)
    expect(statements[0]!.text.length).toBeLessThanOrEqual(4_000)
    expect(statements[0]!.citations).toHaveLength(1)
  })

  it('cannot forge the marks that stand for citations', () => {
    expect(parse(`It is \ue0000\ue001 so. It is not \ue0000\ue001. ${here}`, { mayIntroduce: false }).texts).toEqual([
      'It is not 0.',
    ])
  })
})

describe('a path in a sentence', () => {
  const settle = (text: string, options = {}) => parse(`${text} ${here}`, { mayIntroduce: false, ...options })

  it.each([
    ['It is `src/a.ts` and (src/a.ts).', ['src/a.ts']],
    ['The folder `src/deep/` and src/deep hold it.', ['src/deep/', 'src/deep']],
    ['The page app/[id]/page.tsx shows it.', ['app/[id]/page.tsx']],
    ['See docs/my file.md for it.', ['docs/my file.md']],
    ['All of `src/**/*.ts` is it.', ['src']],
  ])('that is there stays and is remembered: %s', (text, names) => {
    expect(settle(text).statements).toMatchObject([{ text, names }])
  })

  it.each([
    ['src/a.ts:101', 'src/a.ts'],
    ['README.md:4-9', 'README.md'],
    ['only.ts:3', 'src/deep/only.ts'],
    ['`deep/only.ts`', '`src/deep/only.ts`'],
    ['/src/a.ts:3', 'src/a.ts'],
    ['docs/my file.md:99', 'docs/my file.md'],
  ])('has no lines, because they would not move with the code: %s becomes %s', (wrong, right) => {
    expect(settle(`It is ${wrong} here.`).texts).toEqual([`It is ${right} here.`])
  })

  it.each([
    'src/missing.ts',
    'missing.py',
    '`Missing.py`',
    '`src/nothing`',
    '`dist/`',
    'index.ts:3',
    'web/deep/x.js:1',
  ])('that is not there takes the sentence with it: %s', (path) => {
    expect(settle(`It is ${path} there.`)).toMatchObject({ texts: [], counts: { removed: 1 } })
  })

  it.each([
    'It speaks application/json over HTTP/2, and/or client/server.',
    'It runs on Node.js 24, Vue.js and localhost:3000 at 10:30, see https://example.com/src/missing.ts:3.',
    'Call `c.json()`, `res.html` or `process.env`, e.g. in an index.ts, or `npm run build -- --out dist`.',
    'It takes `@scope/package` and `./relative.js`, and 127.0.0.1:8080.',
    'The route `/users/:id` answers GET /api/ask.',
  ])('is not seen where there is none: %s', (text) => {
    expect(settle(text).texts).toEqual([text])
  })

  it.each([
    ['src/only.ts', ['It is src/deep/only.ts there.']],
    ['other/only.ts', []],
  ])('is the only file of that name where they share a directory: %s', (path, texts) => {
    expect(settle(`It is ${path} there.`).texts).toEqual(texts)
  })

  it('that stands in a cited line is quoted, whether it is there or not', () => {
    const text = 'It is built as `dist/cjs/index.js`.'
    expect(parse(`${text} [[src/a.ts:6]]`, { mayIntroduce: false }).texts).toEqual([text])
    expect(settle(text).texts).toEqual([])
  })

  it.each(['lib/only.ts', '`lib/`', 'lib', 'lib/**/*.ts'])(
    'that an earlier commit had is not repaired, whatever its form: %s',
    (path) => {
      expect(settle(`Old ${path} it is.`, { before: ['lib/only.ts'] }).texts).toEqual([])
    },
  )

  it('does not come back with a hostile name', () => {
    expect(settle('It is thing.ts:3.', { all: ['src/a.ts', 'x`<img src=y>/thing.ts'] }).texts).toEqual([])
  })
})

it('takes no time to speak of, whatever a model says', () => {
  const hostile = [
    '('.repeat(60_000),
    `${'('.repeat(450)}a${')'.repeat(449)} `.repeat(60),
    '` '.repeat(30_000),
    '. A'.repeat(20_000),
    'a/*'.repeat(20_000),
    '> '.repeat(30_000),
    '[[src/a.ts:1 "'.repeat(4_000),
    `x. ${' '.repeat(60_000)}`,
    '| '.repeat(30_000),
    '```\n'.repeat(15_000),
    `${here} `.repeat(3_000),
    `Words: ${'a: '.repeat(20_000)}`,
    `- ${'\ue000'.repeat(60_000)}`,
  ]
  for (const text of hostile) {
    expect(
      processorTime(() => parse(text)),
      text.slice(0, 20),
    ).toBeLessThan(2_000)
    expect(
      processorTime(() => splitSections(`## Words\n${text}`)),
      text.slice(0, 20),
    ).toBeLessThan(2_000)
  }
})

describe('sentences', () => {
  it.each([
    [['One. ', 'Two.']],
    [['See e.g. The thing. ', 'Then src/a.ts goes.']],
    [['It is `a. B` there. ', '`c` follows! ', '**Bold** too? ', 'src/a.ts:1 ends it.']],
    [['Version 1.2 of it.\n', 'Next line.']],
    [['これは一つ。', '二つ。']],
  ])('are separated: %j', (sentences) => {
    expect(sentencesOf(sentences.join(''))).toEqual(sentences)
  })
})

describe('a reply', () => {
  const four = [
    'What it is and for whom',
    'How it is built',
    'Where to start reading',
    'How to build, test and run it, and its risks',
  ]

  it.each<[string, string[]]>([
    ['as asked for', four.map((heading) => `## ${heading}`)],
    ['numbered and in bold', four.map((heading, index) => `## ${index + 1}. **${heading}**`)],
    ['at another level', four.map((heading) => `### ${heading}:`)],
    ['renamed', ['# Overview', '## Architecture', '## Where to begin', '## Development']],
    ['bold lines', four.map((heading) => `**${heading}**`)],
    ['in another language', ['## Was es ist', '## Wie es gebaut ist', '## Wo man beginnt', '## Wie man es baut']],
  ])('is split at headings %s', (_how, titles) => {
    const reply = `${titles.map((title, index) => `${title}\n\nText ${index}.`).join('\n\n')}\n\n## Words\n- src/a: one, two\n- \`.\`: three`
    expect(splitSections(reply)).toEqual({
      sections: ['Text 0.', 'Text 1.', 'Text 2.', 'Text 3.'],
      words: [
        { directory: 'src/a', words: ['one', 'two'] },
        { directory: '', words: ['three'] },
      ],
    })
  })

  it('in one fence, and without headings, is read too', () => {
    expect(splitSections('```markdown\n## How it is built\n\nWell.\n```').sections).toEqual(['', 'Well.', '', ''])
    expect(splitSections('Well.').sections).toEqual(['Well.', '', '', ''])
    expect(splitSections('').sections).toEqual(['', '', '', ''])
  })
})
