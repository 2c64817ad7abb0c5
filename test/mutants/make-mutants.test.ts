// Which changes of a source are made, and that each measured guard and its tests exist.
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { guardFiles } from './guard-files.js'
import { mutantsOf } from './make-mutants.js'

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
