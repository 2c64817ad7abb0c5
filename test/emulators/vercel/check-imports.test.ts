// Checks that every import of a route can be resolved, also of a file that is loaded only when there is work.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { checkFunctions } from '../../../src/emulators/vercel/check-imports.js'

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'functions-check-'))
  mkdirSync(join(root, 'api'))
  mkdirSync(join(root, 'src/service'), { recursive: true })
  write('api/ask.ts', "import 'openai'\nexport default () => import('../src/service/lazy.js')\n")
  write('src/service/lazy.ts', 'export const later: number = 1\n')
})

afterEach(() => rmSync(root, { recursive: true }))

const write = (path: string, text: string) => writeFileSync(join(root, path), text)

test('a route without a fault passes, and nothing is written', async () => {
  await checkFunctions(root)
  expect(readdirSync(root, { recursive: true }).sort()).toEqual([
    'api',
    'api/ask.ts',
    'src',
    'src/service',
    'src/service/lazy.ts',
  ])
})

test.each([
  [
    'a mistake in writing',
    'export const later = {\n  one: 1\n  two: 2\n}\n',
    'src/service/lazy.ts:3: Expected "}" but found "two"',
  ],
  ['a file that is not there', "\nimport './nowhere.js'\n", 'src/service/lazy.ts:2: Could not resolve "./nowhere.js"'],
  [
    'a name that is not there',
    "import { one } from './other.js'\nexport const later = one\n",
    'src/service/lazy.ts:1: No matching export in "src/service/other.ts" for import "one"',
  ],
])('%s is named with its place', async (_what, text, sentence) => {
  write('src/service/other.ts', 'export const two = 2\n')
  write('src/service/lazy.ts', text)
  await expect(checkFunctions(root)).rejects.toThrow(sentence)
})
