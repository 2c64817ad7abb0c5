// What a question names outright is found, however it is written and whatever else the repository holds.
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { extractNamedFiles } from '../../../../../src/handoff/sandbox/program/search/named-files.js'
import type { SourceFile } from '../../../../../src/handoff/sandbox/program/search/source-files.js'
import { processorTime } from '../../../../support/processor-time.js'
import { makeRepository, type TestRepository } from '../../../../support/repository.js'
import { findIn, linesOf, pathsOf } from './search-repository.js'

const long = Array.from({ length: 90 }, (_, index) => `    step_${index} = ${index}`).join('\n')
const files = {
  'src/pool/more.py': `def first():\n    return 1\n\n\ndef second():\n${long}\n    return 2\n`,
  'src/pool/choose.py': 'def choose():\n    return min(1, 2)\n',
  'src/pool/__init__.py': '',
  'src/other/__init__.py': 'choose = 1\n',
  'web/choose.css': '.choose { color: red }\n',
  'web/script.js': 'export function choose(list) {\n  return list.choose()\n}\n',
  'README.md': '# Pool\n\nKeeps connections for each caller that needs one.\n',
  'package.json': '{ "name": "pool" }\n',
}
let repository: TestRepository

beforeAll(async () => {
  repository = await makeRepository(files)
})
afterAll(() => repository[Symbol.asyncDispose]())

test.each([
  'src/pool/more.py:80 why?',
  'src/pool/more.py:80:12 why?',
  'Why src/pool/more.py#L80-L82?',
  'https://example.com/o/r/blob/abc/src/pool/more.py#L80',
  '  File "/usr/lib/app/src/pool/more.py", line 80, in second\nKeyError: x',
  'What happens in `pool/more.py` at line 80?',
  'at Second (C:\\app\\pool\\more.py:line 80)',
  '请解释src/pool/more.py:80的作用',
  './src/pool/more.py(80,3): error',
  'more.py:80',
])('%j shows the line that it names', async (question) => {
  const found = await findIn(repository, question)
  expect(pathsOf(found)[0]).toBe('src/pool/more.py')
  expect(linesOf(found, 'src/pool/more.py').get(80)).toBe('    step_74 = 74')
})

test('a file that is named without lines is shown whole, before files that only mention it', async () => {
  const found = await findIn(repository, 'What does choose.py do?')
  expect(pathsOf(found)[0]).toBe('src/pool/choose.py')
  const named = await findIn(repository, 'more.py')
  const lines = files['src/pool/more.py'].split('\n').filter((line) => line !== '')
  expect([...linesOf(named, 'src/pool/more.py').values()].filter((line) => line !== '')).toEqual(lines)
})

test('an ambiguous name or a path outside the repository is weak evidence', async () => {
  const file = (path: string, index: number) =>
    ({ path, index, name: path.split('/').at(-1)! }) as unknown as SourceFile
  const all = [...Object.keys(files), 'a/__init__.py', 'b/__init__.py'].map(file)
  const named = (question: string) =>
    extractNamedFiles(question, all).named.map(({ file: { path }, share }): [string, number] => [path, share])
  expect(named('What is __init__.py for?')).toEqual([])
  expect(named('pool/__init__.py')).toEqual([['src/pool/__init__.py', 1]])
  expect(named('node_modules/thing/lib/script.js:3')).toEqual([['web/script.js', 0.3]])
  expect(named('Is it and/or, e.g. v1.2:3 of Node.js?')).toEqual([])
})

test('the words of a path do not outweigh the question', () => {
  const all = [{ path: 'src/pool/choose.py', index: 0, name: 'choose.py' } as unknown as SourceFile]
  const { text } = extractNamedFiles('In src/pool/choose.py:40, what is the cost?', all)
  expect(text.replace(/\s+/g, ' ')).toBe('In choose , what is the cost?')
  expect(extractNamedFiles('Why lib/base/none.rb:1100?', all).text.replace(/\s+/g, ' ')).toBe('Why lib base none ?')
  expect(extractNamedFiles('What does response.json() do?', all).text).toBe('What does response.json() do?')
})

test('a question of question words only shows the files that describe the repository', async () => {
  const paths = pathsOf(await findIn(repository, 'What does this project do?'))
  expect(paths[0]).toBe('README.md')
})

test('any text is parsed in time and names existing files only', () => {
  const all = [{ path: 'a/b.py', index: 0, name: 'b.py' } as unknown as SourceFile]
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('/', '\\', '.', 'a', 'b.py', ':', '4', '%', '-', ' ', '(') }),
      (text) => extractNamedFiles(text, all).named.every(({ file }) => file === all[0]),
    ),
  )
  for (const text of ['%'.repeat(8_000), 'a/'.repeat(4_000), '/%'.repeat(4_000), 'b.py:1-'.repeat(1_100)]) {
    expect(processorTime(() => extractNamedFiles(text, all))).toBeLessThan(3_000)
  }
})
