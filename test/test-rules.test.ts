// Rules for the tests themselves, checked on the syntax tree of each file.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'vite'
import { expect, test } from 'vitest'
import { longestFiles } from './support/file-order.js'

interface Node {
  type: string
  start: number
  [field: string]: unknown
}

const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.ts'),
)

/** Fields of a node that run only sometimes. */
const branches: Record<string, string[]> = {
  IfStatement: ['consequent', 'alternate'],
  ConditionalExpression: ['consequent', 'alternate'],
  LogicalExpression: ['right'],
  SwitchCase: ['consequent'],
  CatchClause: ['body'],
}

const isNode = (value: unknown): value is Node => typeof (value as Node | null)?.type === 'string'

/** `test` of `test.each(rows)(…)`, `expect` of `expect(x).not.toBe(y)`. */
function firstWord(node: unknown): string | undefined {
  if (!isNode(node)) return undefined
  return node.type === 'Identifier' ? String(node['name']) : firstWord(node['callee'] ?? node['object'] ?? node['tag'])
}

const registers = /^(test|it|describe|beforeAll|beforeEach|afterAll|afterEach)$/

/** Lines on which `expect` is called in a branch. A branch around a whole test does not count. */
function conditionalExpects(text: string): number[] {
  const lines = new Set<number>()
  const visit = (node: Node, conditional: boolean) => {
    const word = node.type === 'CallExpression' ? firstWord(node) : undefined
    const asserts = isNode(node['callee']) && node['callee']['name'] === 'expect'
    if (conditional && asserts) lines.add(text.slice(0, node.start).split('\n').length)
    const inside = word !== undefined && registers.test(word) ? false : conditional
    for (const [field, value] of Object.entries(node)) {
      const sometimes = inside || branches[node.type]?.includes(field) === true
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child, sometimes)
    }
  }
  visit(parseSync('a.ts', text).program as unknown as Node, false)
  return [...lines]
}

test('finds an expectation in a branch, and none in a callback or around a test', () => {
  const branch = ['if (a) expect(b).toBe(1)', 'a && expect(b).toBe(1)', 'a ? expect(b).toBe(1) : 0']
  const more = ['try { a() } catch (e) { expect(e).toBe(1) }', 'if (a) list.forEach((b) => expect(b).toBe(1))']
  const matcher = 'expect(a).toEqual(b ? expect.anything() : 1)'
  const fine = [
    "if (long) test('a', () => expect(1).toBe(1))",
    'list.forEach((b) => expect(b ? 1 : 2).toBe(1))',
    matcher,
  ]
  expect([...branch, ...more].map(conditionalExpects)).toEqual([[1], [1], [1], [1], [1]])
  expect(fine.flatMap(conditionalExpects)).toEqual([])
})

test('no expectation is in a branch, where it could be skipped without a word', () => {
  const found = files.flatMap((name) =>
    conditionalExpects(readFileSync(join(import.meta.dirname, name), 'utf8')).map((line) => `test/${name}:${line}`),
  )
  expect(found).toEqual([])
})

test('each file that begins first is there', () => {
  expect(longestFiles.map((file) => `${file}.test.ts`).filter((name) => !files.includes(name))).toEqual([])
})

test('no module is mocked, and no global is replaced', () => {
  const mocks = /\bvi\.(mock|doMock|spyOn|stubGlobal|stubEnv|fn|useFakeTimers)\(/
  const found = files.filter((name) => mocks.test(readFileSync(join(import.meta.dirname, name), 'utf8')))
  expect(found).toEqual([])
})
