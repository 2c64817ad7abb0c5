// What the offline model reads off files, and the lines that it cites for it.
import { expect, it } from 'vitest'
import { definedIn } from '../../../src/emulators/model/definitions.js'
import {
  commandFacts,
  entryFacts,
  type Fact,
  fileFacts,
  identityFacts,
  riskFacts,
} from '../../../src/emulators/model/facts.js'
import type { FileBlock } from '../../../src/emulators/model/parse-prompt.js'
import { citations } from '../../../src/emulators/model/write-answer.js'

const file = (path: string, text: string, kind = 'source'): FileBlock => ({
  path,
  kind,
  form: 'full',
  lines: text.split('\n').map((line, index) => ({ number: index + 1, text: line })),
})

/** The sentences, each with the numbers of the lines that it cites. */
const cited = (facts: readonly Fact[]) => facts.map(({ text, lines }) => [text, lines.map(({ number }) => number)])

it.each<[what: string, path: string, text: string, expected: [string, number[]][]]>([
  [
    'what it says of itself below a licence, what it exports and imports',
    'a.ts',
    "// SPDX-License-Identifier: MIT\n\n// Boats that\n// row far.\n\nimport { oar } from './oar.js'\nexport class Boat {}\n",
    [
      ['`a.ts` says of itself: “Boats that row far”.', [3, 4]],
      ['`a.ts` exports `Boat`.', [7]],
      ['`a.ts` imports `./oar.js`.', [6]],
    ],
  ],
  [
    'the comment of its first definition',
    'a.ts',
    '/** Rows on all rivers. */\nexport const row = 1\n\nexport class Oar {}\nconst hidden = 1\n',
    [['`a.ts` exports `row`, `Oar`; of `row` it says: “Rows on all rivers”.', [1, 2, 4]]],
  ],
  [
    'that there are more names, and not how many, because the other lines are not cited',
    'a.ts',
    'abcdefgh'.replace(/./g, (name) => `export const ${name} = 1\n`),
    [['`a.ts` exports, among others, `a`, `b`, `c`, `d`, `e`, `f`.', [1, 2, 3, 4, 5, 6]]],
  ],
  [
    'no private name of Python',
    'a.py',
    'class Hull(Base):\n    pass\ndef _patch():\n',
    [['`a.py` exports `Hull`.', [1]]],
  ],
  ['no call', 'a.ts', 'export default defineConfig({\n', []],
  ['the first title of a test', 'a.test.ts', "describe('Boat', () => {\n", [['`a.test.ts` tests “Boat”.', [1]]]],
])('of a file it says %s', (_, path, text, expected) => {
  expect(cited(fileFacts(file(path, text)))).toEqual(expected)
})

it('of a project it says what the README and the manifest say', () => {
  const readme =
    '# Boat\n\n[![ci](https://x/b.svg)](https://x)\n\nBoat rows on [rivers](https://x)\nand _lakes_. It floats.\n'
  const manifest = '{\n  "name": "boat",\n  "version": "1.2.0",\n  "description": "Rows boats. Works everywhere."\n}\n'
  const files = [file('README.md', readme, 'documentation'), file('package.json', manifest, 'configuration')]
  expect(cited(identityFacts(files))).toEqual([
    ['The README introduces “Boat”: “Boat rows on rivers and lakes”.', [5, 6]],
    ['`package.json` names the package `boat`, and describes it as “Rows boats”.', [2, 4]],
  ])
  const [later] = files.map((one) => ({
    ...one,
    lines: one.lines.map((line) => ({ ...line, number: line.number + 90 })),
  }))
  expect(identityFacts([later!])).toEqual([])
})

it('of commands, starts and risks it says what the authors wrote down', () => {
  const manifest = '{\n  "scripts": {\n    "test": "run \\"a\\" b"\n  },\n  "x": "y"\n}\n'
  const makefile = file('Makefile', '.PHONY: test\ntest:\n\tgo test ./...\n', 'configuration')
  expect(cited(commandFacts([file('package.json', manifest, 'configuration'), makefile]))).toEqual([
    ['`npm run test` runs `run "a" b`.', [3]],
    ['`make test` is a target of `Makefile`.', [2]],
  ])
  expect(
    cited(entryFacts([file('src/index.ts', 'export const row = 1\n'), file('test/main.ts', 'export const a = 1\n')])),
  ).toEqual([['Reading can start here: `src/index.ts` exports `row`.', [1]]])
  const text = "// TODO: make the boat\n// float on its own. It sinks.\n\nconst log = 'SECURITY: a message'\n"
  expect(cited(riskFacts([file('a.ts', text)]))).toEqual([
    ['A comment in `a.ts` says: “TODO: make the boat float on its own”.', [1, 2]],
  ])
})

it('cites no range with a line that was not shown', () => {
  const lines = [1, 2, 4, 5, 7].map((number) => ({ number, text: `export const a${number} = 1` }))
  const [fact] = fileFacts({ path: 'a.ts', kind: 'source', form: 'signatures', lines })
  expect(citations(fact!)).toBe('[[a.ts:1-2 "export const a2 = 1"]] [[a.ts:4-5]] [[a.ts:7]]')
})

it.each([
  ['class that wraps the session', undefined],
  ['module for boats and oars', undefined],
  ['class that', 'that'],
  ['func of(oars int) Boat {', 'of'],
  ['fn is<T>() -> bool {', 'is'],
])('sees in %j the definition of %j', (line, name) => {
  expect(definedIn(line)?.name).toBe(name)
})
