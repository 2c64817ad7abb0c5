// Which changes of a source are made, and that each measured guard and its tests exist.
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { guardFiles } from './guard-files.js'
import { mutantsOf } from './make-mutants.js'
import { changeOf, compareSurvivors, figuresTable, replaceBetween } from './report.js'

const changes = async (source: string) =>
  (await mutantsOf('x.ts', source)).map(({ was, becomes }) => `${was} → ${becomes}`)

test.each<[string, string[]]>([
  ['if (a) b', ['a → true', 'a → false']],
  ['const x = a && !b', ['a && !b → (a)', 'a && !b → (!b)', '!b → !!(b)']],
  ['const x = a < 3', ['a < 3 → a <= 3']],
  ['const x = a === 3', ['a === 3 → a !== 3']],
  ['const x = a.some(b)', ['some → every']],
  ['const x = a.filter(b)', ['a.filter(b) → a']],
  ['requireIt(a)', ['requireIt(a) → undefined']],
  ['const x = { redirect: "error" }', ['"error" → \'follow\'']],
  ['const x = /^a$/u', ['/^a$/u → /a$/u', '/^a$/u → /^a/u']],
  ['const x = new Set(["a", "b"])', ['["a", "b"] → ["b"]', '["a", "b"] → ["a"]']],
  ['function f() { if (a) throw new Error(b ? c : d) }', ['a → true', 'a → false']],
  ['function f() { g = 1; throw a }', ['throw a → ;']],
])('%s', async (source, expected) => {
  expect(await changes(source)).toEqual(expected)
})

test('each measured guard and its tests exist', () => {
  const named = Object.values(guardFiles)
    .flat()
    .flatMap(({ file, tests }) => [`src/${file}`, ...tests.map((one) => `test/${one}.test.ts`)])
  expect(named.filter((path) => !existsSync(path))).toEqual([])
})

test('a survivor that is not listed is unexplained, and a listed one that is none is named', async () => {
  const [first, second] = await mutantsOf('x.ts', 'if (a) b')
  const entry = { code: 'if (a) b', change: changeOf(first!), why: 'x' }
  expect(compareSurvivors([first!, second!], [entry])).toEqual({ unexplained: [second], noticed: [] })
  expect(compareSurvivors([], [entry])).toEqual({ unexplained: [], noticed: [entry] })
  expect(compareSurvivors([first!], [entry, entry])).toEqual({ unexplained: [], noticed: [entry] })
  expect(compareSurvivors([first!, first!], [entry])).toEqual({ unexplained: [first], noticed: [] })
})

test('figures are added up by area, and stand in their document', () => {
  const [one, two] = [
    { file: 'one.ts', tests: [] },
    { file: 'two.ts', tests: [] },
  ]
  const measured = { 'one.ts': { changes: 30, noticed: 30 }, 'two.ts': { changes: 10, noticed: 8 } }
  const table = figuresTable({ first: [one, two], second: [{ file: 'three.ts', tests: [] }] }, measured)
  expect(table.split('\n').slice(2)).toEqual([
    '| **first** | 40 | 38 | 95.0 % |',
    '| `one.ts` | 30 | 30 | 100.0 % |',
    '| `two.ts` | 10 | 8 | 80.0 % |',
    '| **all** | 40 | 38 | 95.0 % |',
  ])
  expect(replaceBetween('a\n<!-- x -->\nold\n<!-- /x -->\nb', 'x', 'new')).toBe(
    'a\n<!-- x -->\n\nnew\n\n<!-- /x -->\nb',
  )
  expect(() => replaceBetween('a', 'x', 'new')).toThrow('has no <!-- x -->')
})
