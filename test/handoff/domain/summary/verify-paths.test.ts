import { describe, expect, it } from 'vitest'
import {
  createPathIndex,
  goneDirectories,
  type PathIndexInput,
} from '../../../../src/handoff/domain/summary/path-index.js'
import { isUnusualPath } from '../../../../src/handoff/domain/summary/path-mentions.js'
import { sentencesOf, verifyPaths } from '../../../../src/handoff/domain/summary/verify-paths.js'
import { processorTime } from '../../../support/processor-time.js'

const lines = new Map([
  ['src/a.ts', 100],
  ['src/deep/only.ts', 20],
  ['src/index.ts', 5],
  ['web/index.ts', 5],
  ['README.md', 40],
  ['Makefile', 12],
  ['app/[id]/page.tsx', 30],
  ['docs/my file.md', 9],
])

const pathIndex = (facts: Partial<PathIndexInput> = {}) => {
  const paths = [...lines.keys(), '.github/ci.yml']
  return createPathIndex({
    paths,
    lines,
    firstLine: (path) => (path === 'src/a.ts' ? 7 : undefined),
    odd: paths.filter(isUnusualPath),
    ...facts,
  })
}
const verify = (text: string, facts?: Partial<PathIndexInput>) => verifyPaths(text, pathIndex(facts))

describe('a path that is there', () => {
  it.each([
    'It is src/a.ts:10.',
    'It is (src/a.ts:10-20), see `src/a.ts`.',
    'It is **src/a.ts:1**, README.md:40 and Makefile:3.',
    'The folder `src/deep/` and src/deep and `.github/` hold it.',
    'The page app/[id]/page.tsx:3 and [src/a.ts:5] show it.',
    'See docs/my file.md:9 for it.',
    'Read src/a.ts:10, src/a.ts:20; then web/index.ts:5!',
  ])('stays: %s', (text) => {
    const found = verify(text)
    expect(found.markdown).toBe(text)
    expect(found).toMatchObject({ repaired: 0, removed: 0 })
    expect(found.checked).toBeGreaterThan(0)
  })
})

describe('a path that is nearly there', () => {
  it.each([
    ['src/a.ts:101', 'src/a.ts:7'],
    ['src/a.ts:90-400', 'src/a.ts:90-100'],
    ['src/a.ts:30-10', 'src/a.ts:30'],
    ['README.md:41', 'README.md:1'],
    ['only.ts:3', 'src/deep/only.ts:3'],
    ['lib/only.ts:30', 'src/deep/only.ts:1'],
    ['`deep/only.ts`', '`src/deep/only.ts`'],
    ['/src/a.ts:3', 'src/a.ts:3'],
    ['src/deep:4', 'src/deep'],
    ['docs/my file.md:99', 'docs/my file.md:1'],
  ])('is repaired: %s becomes %s', (wrong, right) => {
    expect(verify(`It is ${wrong} here.`)).toEqual({
      markdown: `It is ${right} here.`,
      checked: 1,
      repaired: 1,
      removed: 0,
    })
  })
})

describe('a path that is not there', () => {
  it.each([
    'src/missing.ts',
    'src/missing.ts:3',
    'missing.py',
    '`Missing.py`',
    '`src/nothing`',
    '`dist/`',
    'index.ts:3',
    'web/deep/thing.js:1',
  ])('takes its sentence with it: %s', (path) => {
    expect(verify(`First. It is ${path} there. Last.`)).toMatchObject({ markdown: 'First. Last.', removed: 1 })
  })

  it.each([
    'It speaks application/json over HTTP/2, and/or client/server.',
    'It runs on Node.js 24, Vue.js and localhost:3000 at 10:30, see https://example.com/src/missing.ts:3.',
    'Call `c.json()`, `res.html` or `process.env`, e.g. in an index.ts, or `npm run build -- --out dist`.',
    'It takes `@scope/package` and `./relative.js`, and 127.0.0.1:8080.',
    'The route `/users/:id` answers GET /api/ask.',
    'All of `src/**/*.ts` and std::vec:3.',
  ])('is not seen where there is none: %s', (text) => {
    expect(verify(text)).toMatchObject({ markdown: text, removed: 0, repaired: 0 })
  })

  it('takes list items, table rows and headings with it', () => {
    const text =
      '- src/a.ts:1 is good\n- src/b.ts:1 is not\n  and goes on\n- web/index.ts:2\n\n| file | why |\n| --- | --- |\n| src/b.ts | x |\n| src/a.ts | y |\n\n### src/b.ts:1\n\nText.'
    expect(verify(text).markdown).toBe(
      '- src/a.ts:1 is good\n- web/index.ts:2\n\n| file | why |\n| --- | --- |\n| src/a.ts | y |\n\nText.',
    )
  })

  it('takes a line of code with it, not the fence', () => {
    expect(verify('```sh\ncat src/b.ts\nnpm ci\n```').markdown).toBe('```sh\nnpm ci\n```')
  })

  it('is never repaired when an earlier commit had it', () => {
    const gone = ['lib/only.ts', ...goneDirectories(['lib/only.ts', 'src/x.ts'], lines.keys())]
    expect(gone).toContain('lib')
    expect(verify('Old lib/only.ts:3. Old lib, `lib/`, lib/**/*.ts. New src/a.ts:1.', { gone }).markdown).toBe(
      'New src/a.ts:1.',
    )
  })

  it('does not come back with a hostile name', () => {
    const hostile = 'x`<img src=y>/thing.ts'
    expect(verify('It is thing.ts:3.', { paths: [hostile] }).markdown).toBe('')
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
  ]
  for (const text of hostile) expect(processorTime(() => expect(verify(text).repaired).toBe(0))).toBeLessThan(2_000)
})

describe('sentences', () => {
  it.each([
    [['One. ', 'Two.']],
    [['See e.g. The thing. ', 'Then src/a.ts goes.']],
    [['It is `a. B` there. ', '`c` follows! ', '**Bold** too? ', 'src/a.ts:1 ends it.']],
    [['Version 1.2 of it.\n', 'Next line.']],
    [['これは一つ。', '二つ。']],
  ])('are distinguished: %j', (sentences) => {
    expect(sentencesOf(sentences.join(''))).toEqual(sentences)
  })
})
