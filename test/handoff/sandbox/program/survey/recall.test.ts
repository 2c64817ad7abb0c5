// Definitions that are found, of those that a language's own parser names: no more than two of a hundred are missed.
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAst } from 'rolldown/parseAst'
import { expect, test } from 'vitest'
import { languageForExtension } from '../../../../../src/handoff/sandbox/program/survey/languages.js'
import { findDefinitions } from '../../../../../src/handoff/sandbox/program/survey/outline.js'
import { createIdentifierScanner } from '../../../../../src/handoff/sandbox/program/survey/scan-identifiers.js'

const root = join(import.meta.dirname, '../../../../..')
const scan = createIdentifierScanner()

function namesIn(ending: string, text: string): Set<string> {
  const bytes = Buffer.from(text)
  const { grammar } = languageForExtension(ending)!
  const { definitions } = findDefinitions(bytes.toString('latin1'), scan(bytes, false), grammar)
  return new Set(definitions.map(({ name, line }) => `${line} ${name}`))
}

/** The share that is found, and some of what is missed. */
function recallOf(ending: string, files: { text: string; theirs: string[] }[]) {
  const missed: string[] = []
  let all = 0
  for (const { text, theirs } of files) {
    const ours = namesIn(ending, text)
    all += theirs.length
    missed.push(...theirs.filter((name) => !ours.has(name)))
  }
  return { all, share: 1 - missed.length / all, missed: missed.slice(0, 20) }
}

interface Node {
  type: string
  start: number
  id?: Node & { name?: string }
  key?: Node & { name?: string }
  computed?: boolean
  init?: Node
  left?: Node & { property?: Node & { name?: string } }
  right?: Node
  value?: Node | null
}

const isFunction = (node: Node | null | undefined) => /^(Arrow)?Function(Expression)?$/.test(node?.type ?? '')
const declarations =
  /^(Function|Class|TSInterface|TSTypeAlias|TSEnum)Declaration$|^(MethodDefinition|VariableDeclarator|PropertyDefinition|AssignmentExpression)$/

/** `app.use = function` defines `use`. */
function assignedBy({ left, right }: Node) {
  return left?.type === 'MemberExpression' && !left.computed && isFunction(right) ? left.property : undefined
}

/** What a node defines: a function, a class, a type, a method, or a name that holds a function. */
function definedBy(node: Node): (Node & { name?: string }) | undefined {
  if (typeof node.type !== 'string' || !declarations.test(node.type)) return undefined
  if (node.type === 'VariableDeclarator') return isFunction(node.init) ? node.id : undefined
  if (node.type === 'AssignmentExpression') return assignedBy(node)
  if (node.type === 'PropertyDefinition') return isFunction(node.value) ? node.key : undefined
  return node.id ?? (node.computed ? undefined : node.key)
}

/** Names of functions that are local to another function are no definitions. */
function definitionsOf(text: string, lang: 'ts' | 'js'): string[] {
  const found: string[] = []
  const visit = (value: unknown, isLocal: boolean): void => {
    if (typeof value !== 'object' || value === null) return
    const node = value as Node
    const name = node.type === 'VariableDeclarator' && isLocal ? undefined : definedBy(node)
    if (name?.name !== undefined) found.push(`${text.slice(0, name.start).split('\n').length} ${name.name}`)
    const inside = isLocal || isFunction(node) || node.type === 'FunctionDeclaration'
    for (const inner of Object.values(value)) visit(inner, inside)
  }
  visit(parseAst(text, { lang }), false)
  return found
}

test.each([
  ['TypeScript: this project', 'ts', 'src/**/*.ts', 2_000],
  ['JavaScript: express and its router', 'js', 'node_modules/{express,router}/{index.js,lib/*.js}', 50],
] as const)("%s, by the bundler's parser", (_, ending, pattern, least) => {
  const files = globSync(pattern, { cwd: root }).map((path) => {
    const text = readFileSync(join(root, path), 'utf8')
    return { text, theirs: definitionsOf(text, ending) }
  })
  const { all, share, missed } = recallOf(ending, files)
  expect(all).toBeGreaterThan(least)
  expect(share, missed.join(', ')).toBeGreaterThanOrEqual(0.98)
})

const reference = `
import ast, asyncio, email, http, json, os, sys
for package in (asyncio, email, http, json):
    folder = os.path.dirname(package.__file__)
    for name in sorted(os.listdir(folder)):
        if not name.endswith('.py'): continue
        path = os.path.join(folder, name)
        nodes = [node for node in ast.walk(ast.parse(open(path, encoding='utf8').read()))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))]
        print(path, *('%d:%s' % (node.lineno, node.name) for node in nodes))
`

test("Python: packages of its library, by Python's own parser", () => {
  const listed = execFileSync('python3', ['-c', reference], { encoding: 'utf8' }).trim().split('\n')
  const files = listed.map((line) => {
    const [path = '', ...names] = line.split(' ')
    return { text: readFileSync(path, 'utf8'), theirs: names.map((name) => name.replace(':', ' ')) }
  })
  const { all, share, missed } = recallOf('py', files)
  expect(all).toBeGreaterThan(1_000)
  expect(share, missed.join(', ')).toBeGreaterThanOrEqual(0.98)
})
