// What a commit changes against its base, and the code that it does not touch and that depends on it. Real git, no model.
import { expect, test } from 'vitest'
import type { ChangedFile, Ripple } from '../../../../../src/handoff/domain/change/change.js'
import type { DescribedChange } from '../../../../../src/handoff/sandbox/program/survey/describe-change.js'
import { type Files, makeRepository } from '../../../../support/repository.js'
import { surveyIn } from './survey-repository.js'

/** The change between two commits, where the second changes what the first has. */
async function changeOf(base: Files, head: Files, textBytes = 50_000): Promise<DescribedChange> {
  await using repository = await makeRepository([base, head])
  const found = await surveyIn(repository)
  return await found.describeChange(repository.commits[0]!, textBytes)
}

const row = (files: ChangedFile[], path: string) => files.find((file) => file.path === path)
const listed = (ripples: Ripple[]) =>
  ripples.map(({ kind, path, line, names }) => `${kind} ${path}:${line} ${names.join()}`)

const boat = {
  'src/hull.ts':
    'export function float(weight: number) {\n  return weight < 10\n}\n\nexport function paint(color: string) {\n  return color\n}\n\nexport const depth = 3\n',
  'src/boat.ts':
    "import { depth, float } from './hull.js'\n\n// float is explained elsewhere\nexport function launch() {\n  return float(depth)\n}\n",
  'src/painter.ts': "import { paint } from './hull.js'\n\nexport const red = paint('red')\n",
  'src/index.ts': "export { float } from './hull.js'\nexport * from './boat.js'\n",
  'src/harbour.ts': "import { float } from './index.js'\n\nexport const ok = float(1)\n",
  'src/other.ts': 'export const float = 1\n',
  'test/hull.test.ts': "import { float } from '../src/hull.js'\n\ntest('floats', () => {\n  float(1)\n})\n",
}

test('names callers, reexports and tests of a changed definition, and nothing of what did not change', async () => {
  const hull = boat['src/hull.ts'].replace('weight < 10', 'weight < 20')
  const { change } = await changeOf(boat, { 'src/hull.ts': hull })
  expect(row(change.files, 'src/hull.ts')).toEqual({
    path: 'src/hull.ts',
    status: 'modified',
    kind: 'source',
    added: 1,
    removed: 1,
    definitions: ['float'],
  })
  expect(listed(change.ripples)).toEqual([
    'test test/hull.test.ts:4 float',
    'caller src/boat.ts:5 float',
    'importer src/index.ts:1 float',
    'caller src/harbour.ts:3 float',
  ])
})

test('leaves out what the change touches itself', async () => {
  const hull = boat['src/hull.ts'].replace('weight < 10', 'weight < 20')
  const { change } = await changeOf(boat, {
    'src/hull.ts': hull,
    'src/boat.ts': `${boat['src/boat.ts']}// touched\n`,
    'test/hull.test.ts': null,
  })
  expect(change.ripples.map(({ path }) => path)).toEqual(['src/index.ts', 'src/harbour.ts'])
})

test('names callers of a definition that is gone', async () => {
  const hull = boat['src/hull.ts'].replace(/export function paint[^}]*\}\n/, '')
  const { change } = await changeOf(boat, { 'src/hull.ts': hull })
  expect(row(change.files, 'src/hull.ts')?.definitions).toEqual(['paint'])
  expect(listed(change.ripples)).toContain('caller src/painter.ts:3 paint')
})

test('a change inside a function is one of the function: what stands in it cannot be named from elsewhere', async () => {
  const plugin =
    'export function cssPlugin() {\n  const all = []\n  return {\n    handler(id: string) {\n      return all.push(id)\n    },\n  }\n}\n'
  const files = {
    'src/css.ts': plugin,
    'src/config.ts': "import { cssPlugin } from './css.js'\n\nexport const plugins = [cssPlugin()]\n",
    'src/server.ts': "import './css.js'\n\nexport function handler() {\n  return 1\n}\n",
  }
  const { change } = await changeOf(files, { 'src/css.ts': plugin.replace('push(id)', 'push(id, id)') })
  expect(row(change.files, 'src/css.ts')?.definitions).toEqual(['cssPlugin'])
  expect(listed(change.ripples)).toEqual(['caller src/config.ts:3 cssPlugin'])
})

test('sees a Go package without imports, and a test by its name', async () => {
  const go = {
    'go.mod': 'module example.com/boat\n',
    'hull/hull.go': 'package hull\n\nfunc Float(w int) bool {\n\treturn w < 10\n}\n',
    'hull/deck.go': 'package hull\n\nfunc Deck() bool {\n\treturn Float(1)\n}\n',
    'hull/hull_test.go': 'package hull\n\nfunc TestIt() {\n}\n',
    'cmd/main.go': 'package main\n\nimport "example.com/boat/hull"\n\nfunc main() {\n\thull.Float(2)\n}\n',
  }
  const { change } = await changeOf(go, { 'hull/hull.go': go['hull/hull.go'].replace('10', '20') })
  expect(listed(change.ripples)).toEqual([
    'test hull/hull_test.go:1 ',
    'caller cmd/main.go:6 Float',
    'caller hull/deck.go:4 Float',
  ])
})

test('a rename, an addition, a removal, a mode and a binary file are each said', async () => {
  const long = Array.from({ length: 40 }, (_, index) => `line ${index}`).join('\n')
  const { change, lines } = await changeOf(
    { 'a.txt': long, 'gone.ts': 'export const x = 1\n', 'pic.png': new Uint8Array([0, 1, 2]), 'run.sh': 'true\n' },
    {
      'a.txt': null,
      'b.txt': long,
      'gone.ts': null,
      'new.ts': 'export const y = 1\n',
      'pic.png': new Uint8Array([0, 1, 3]),
      'run.sh': { executable: 'true\n' },
      'empty.ts': '',
    },
  )
  expect(change.files.map(({ path, status, uncompared }) => [path, status, uncompared])).toEqual([
    ['b.txt', 'renamed', undefined],
    ['empty.ts', 'added', undefined],
    ['gone.ts', 'removed', undefined],
    ['new.ts', 'added', undefined],
    ['pic.png', 'modified', 'binary'],
    ['run.sh', 'modified', undefined],
  ])
  expect(row(change.files, 'b.txt')?.previousPath).toBe('a.txt')
  expect(lines.map(({ path }) => path).sort()).toEqual(['gone.ts', 'new.ts'])
})

test('a change of binary files only has no lines', async () => {
  const { change, lines } = await changeOf({ 'a.png': new Uint8Array([0, 1]) }, { 'a.png': new Uint8Array([0, 2]) })
  expect(change.files.map(({ uncompared }) => uncompared)).toEqual(['binary'])
  expect(lines).toEqual([])
})

test('the model sees the lines around each change, and no credential', async () => {
  const key = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`
  const before = Array.from({ length: 30 }, (_, index) => `const line${index + 1} = ${index + 1}`)
  const after = before.with(9, `const token = '${key}'`).with(11, 'const line12 = "twelve"')
  const { lines } = await changeOf({ 'a.ts': before.join('\n') }, { 'a.ts': after.join('\n') })
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatchObject({ path: 'a.ts', from: 7, gone: ['const line10 = 10', 'const line12 = 12'] })
  expect(lines[0]?.lines.at(-1)).toBe('const line15 = 15')
  expect(JSON.stringify(lines)).not.toContain(key)
})

test('of 4,000 changed files each is listed or counted, and lines stay within their bytes', async () => {
  const many = (text: string) =>
    Object.fromEntries(
      Array.from({ length: 4_000 }, (_, index) => [`src/f${index}.ts`, `export const a${index} = ${text}\n`]),
    )
  const { change, lines } = await changeOf(many('1'), many('2'), 10_000)
  expect(change.files.length + change.filesLeftOut).toBe(4_000)
  expect(change.files.length).toBe(3_000)
  expect(Buffer.byteLength(JSON.stringify(lines))).toBeLessThan(20_000)
  expect(lines.length).toBeGreaterThan(10)
})

test('lines of a file that look like a patch are not read as one', async () => {
  const text = 'const a = 1\n'
  const forged = `${text}@@ -1,9 +1,9 @@\ndiff --git a/x b/x\nBinary files a and b differ\n`
  const { change } = await changeOf({ 'a.md': text, 'b.md': 'one\n' }, { 'a.md': forged, 'b.md': 'two\n' })
  expect(change.files.map(({ path, added, removed, uncompared }) => [path, added, removed, uncompared])).toEqual([
    ['a.md', 3, 0, undefined],
    ['b.md', 1, 1, undefined],
  ])
})
