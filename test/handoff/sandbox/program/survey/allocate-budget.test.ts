// How the bytes are shared out, and in which order files come.
import { expect, test } from 'vitest'
import type { Files } from '../../../../support/repository.js'
import { bytesOf, rowOf, surveyOf, textOf } from './survey-repository.js'

const filler = (words: string, lines: number) => `// ${words}\n`.repeat(lines)

/** A small product: everything rests on `core`, and some things speak of it. */
const product = {
  'README.md': '# Product\n',
  'package.json': '{ "name": "product" }\n',
  'src/core.ts': `export class CoreEngine {}\nexport function startEngine() {\n}\n${filler('core', 40)}`,
  ...Object.fromEntries(
    Array.from({ length: 12 }, (_, index) => [
      `src/part${index}.ts`,
      `import { CoreEngine, startEngine } from './core'\nexport function usePart${index}() {\n  startEngine(new CoreEngine())\n}\n${filler('part', 40)}`,
    ]),
  ),
  'src/lonely.ts': `export function neverCalled() {\n}\n${filler('lonely', 40)}`,
  'test/core.test.ts': `import { CoreEngine } from '../src/core'\n${filler('test', 40)}`,
  'examples/one.ts': `import { startEngine } from 'product'\n${filler('example', 40)}`,
  'docs/guide.md': `# Guide\n\n${'words\n'.repeat(60)}`,
  'CHANGELOG.md': `# Changes\n\n${'words\n'.repeat(60)}`,
}

test('the README comes first, then central files; tests, examples and changelogs come last', async () => {
  const result = await surveyOf(product)
  const order = result.texts.map(({ path }) => path)
  expect(order.slice(0, 3)).toEqual(['README.md', 'src/core.ts', 'package.json'])
  const last = order.slice(-4)
  expect(last.toSorted()).toEqual(['CHANGELOG.md', 'docs/guide.md', 'examples/one.ts', 'test/core.test.ts'])
  expect(order.indexOf('src/lonely.ts')).toBeGreaterThan(order.indexOf('src/core.ts'))
})

test('a budget for everything shows every file whole', async () => {
  const result = await surveyOf(product)
  expect(result.survey.counts).toMatchObject({ cut: 0, skipped: 0, read: Object.keys(product).length, reasons: {} })
  for (const [path, content] of Object.entries(product)) expect(textOf(result, path)?.text).toBe(content)
})

test('a smaller budget shows the best files whole and the rest in outline', async () => {
  const result = await surveyOf(product, { textBytes: 6_000 })
  expect(textOf(result, 'README.md')?.form).toBe('full')
  expect(textOf(result, 'src/core.ts')?.form).toBe('full')
  const forms = result.texts.map(({ form }) => form)
  expect(forms).toContain('line')
  expect(bytesOf(result.texts)).toBeGreaterThan(4_500)
  const line = result.texts.find(({ form, path }) => form === 'line' && path.startsWith('src/part'))!
  expect(`${line.from}: ${line.text}`).toMatch(/^2: export function usePart\d+\(\) \{$/)
})

test('every top folder gets a share first', async () => {
  const crowd = Object.fromEntries(
    Array.from({ length: 300 }, (_, index) => [
      `big/file${index}.ts`,
      `export function bigThing${index}() {\n  return bigThing${(index * 7) % 300}()\n}\n${filler('big', 30)}`,
    ]),
  )
  const small = Object.fromEntries(
    ['alpha', 'beta', 'gamma'].map((name) => [
      `${name}/only.py`,
      `def ${name}_only():\n    pass\n${'# words\n'.repeat(100)}`,
    ]),
  )
  const result = await surveyOf({ ...crowd, ...small }, { textBytes: 20_000 })
  const tops = new Set(result.texts.map(({ path }) => path.split('/')[0]))
  expect([...tops].toSorted()).toEqual(['alpha', 'beta', 'big', 'gamma'])
})

test('one giant file does not take the budget of others', async () => {
  const giant = Array.from(
    { length: 20_000 },
    (_, index) => `export function giantStep${index}() { return coreThing() }\n`,
  ).join('')
  const others = Object.fromEntries(
    Array.from({ length: 20 }, (_, index) => [
      `src/other${index}.ts`,
      `export function otherThing${index}() {\n}\n${filler('other', 20)}`,
    ]),
  )
  const result = await surveyOf({ 'src/giant.ts': giant, ...others }, { textBytes: 40_000 })
  const giants = result.texts.filter(({ path }) => path === 'src/giant.ts')
  expect(bytesOf(giants)).toBeLessThan(10_000)
  expect(rowOf(result, 'src/giant.ts')).toMatchObject({ state: 'cut', reason: 'budget' })
  expect(result.texts.filter(({ form }) => form === 'full').length).toBe(20)
})

test.each([0, 1, 40, 200, 1_000])('the text stays within a budget of %i bytes', async (textBytes) => {
  const result = await surveyOf(product, { textBytes })
  expect(bytesOf(result.texts)).toBeLessThanOrEqual(textBytes)
})

test('replacing a credential may make a text longer, never the whole longer than the budget', async () => {
  const lines = Array.from({ length: 200 }, (_, index) => `u${index} = "redis://:pw${index}@h"\n`).join('')
  const result = await surveyOf({ 'a.py': lines, 'b.py': `# b\n${lines}` }, { textBytes: lines.length * 2 + 50 })
  expect(result.texts.length).toBe(2)
  expect(result.texts.some(({ form }) => form === 'head')).toBe(true)
})

test('the tests of a very large repository are listed and not analyzed, except some in folders with only tests', async () => {
  const product: Files = Array.from({ length: 300 }, (_, index): [string, string] => [
    `src/part${index}.ts`,
    `export const part${index} = 1\n`,
  ])
  const tests: Files = Array.from({ length: 9_900 }, (_, index): [string, string] => [
    `${index % 2 === 0 ? 'src' : 'checks'}/part${index}.test.ts`,
    'export {}\n',
  ])
  const room = { textBytes: 900 }
  const result = await surveyOf([...product, ...tests], room)
  const aside = 'tests are listed and not looked into: the product alone is many times what there is room for.'
  expect(result.survey.notices).toEqual([`9880 ${aside}`])
  expect(result.texts.some(({ path }) => path.startsWith('checks/'))).toBe(true)
  expect(result.survey.counts.kinds).toEqual({ source: 300, test: 9_900 })

  const roomy = await surveyOf([...product, ...tests], { textBytes: 500_000 })
  expect(roomy.survey.notices).toEqual([])
})

test('programs without exports and build scripts do not rank as central', async () => {
  const users = Object.fromEntries(
    Array.from({ length: 8 }, (_, index) => [
      [`pkg/user${index}/user.go`, `package user${index}\n\nfunc Use${index}() {\n\tCoreEngine(Package{})\n}\n`],
      [`web/page${index}.js`, 'releaseEverything(startEverything())\n'],
    ]).flat(),
  )
  const { texts } = await surveyOf({
    ...users,
    'cmd/checker/checker.go': `package main\n\ntype Package struct{}\n${'// and so on\n'.repeat(2)}`,
    'pkg/core/core.go': 'package core\n\nfunc CoreEngine(value any) {}\n',
    'taskfile.js': `export function releaseEverything() {\n${'  // and so on\n'.repeat(2)}}\n`,
    'begin/start.js': 'export function startEverything() {\n}\n',
  })
  // All four are used alike, and the longer one would come first.
  expect(texts.slice(0, 2).map(({ path }) => path)).toEqual(['pkg/core/core.go', 'begin/start.js'])
})

test('a file that uses many others ranks before an isolated one', async () => {
  const parts = Array.from({ length: 6 }, (_, index) => `part${index}Work`)
  const { texts } = await surveyOf({
    ...Object.fromEntries(parts.map((name) => [`parts/${name}.ts`, `export function ${name}() {}\n`])),
    'app/run.ts': `export function runAll() {\n${parts.map((name) => `  ${name}()\n`).join('')}}\n`,
    'app/alone.ts': `export function standAlone() {\n${parts.map((name) => `  ${name}Not()\n`).join('')}}\n`,
  })
  const paths = texts.map(({ path }) => path)
  expect(paths.indexOf('app/run.ts')).toBeLessThan(paths.indexOf('app/alone.ts'))
})
