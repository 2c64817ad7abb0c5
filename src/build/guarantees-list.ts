// The page of promises: what is promised, and the tests that show it, in the words of the tests themselves.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

const folder = 'test/guarantees'

export async function promisesPage(root: string): Promise<string> {
  const files = (await readdir(join(root, folder))).filter((name) => name.endsWith('.test.ts')).sort(byImportance)
  const parts = await Promise.all(
    files.map(async (name) => promise(name, await readFile(join(root, folder, name), 'utf8'))),
  )
  return parts.join('\n')
}

/** What is asked for first; what is not named comes after, by name. */
const order = [
  'no-run-is-half-visible',
  'no-answer-is-lost',
  'one-comment-for-a-question',
  'every-sandbox-dies',
  'lost-data-is-noticed',
  'what-is-old-goes-whole',
  'no-secret-leaves-its-place',
  'secrets-are-watched-for',
  'a-sandbox-does-only-its-task',
  'nobody-acts-without-the-right',
  'input-cannot-break-it',
  'load',
  'old-data-stays-readable',
]

function byImportance(a: string, b: string): number {
  const place = (name: string) => (order.indexOf(stem(name)) + order.length + 1) % (order.length + 1)
  return place(a) - place(b) || a.localeCompare(b)
}

const stem = (name: string) => name.replace(/\.test\.ts$/, '')

function promise(name: string, source: string): string {
  const title = stem(name).replaceAll('-', ' ')
  const shown = testNames(source).map((test) => `  - ${test}`)
  return [`- **${title[0]!.toUpperCase()}${title.slice(1)}** ([test](${folder}/${name}))`, ...shown].join('\n')
}

/** The names of the tests of a file, in its order. What is filled in for each row of a table is left out. */
export function testNames(source: string): string[] {
  const opening = String.raw`test(?:\.runIf\([^)]*\))?\(|test\.each\([^\n]*\)\(|\][^\n]*\)\(|\)\(`
  const call = new RegExp(String.raw`^\s*(?:${opening})\s*(['"\`])((?:\\.|(?!\1)[^\\\n])*)\1`, 'gm')
  return [...source.matchAll(call)].map(([, , name = '']) => tidy(name))
}

function tidy(name: string): string {
  return name.replace(/\\(.)/g, '$1').replace(/%s/g, '…').replaceAll('<', '&lt;')
}
