// Few dependencies, each with a reason, each pinned; and documents that say what the code says.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { promisesPage, testNames } from '../src/local/promises-page.js'

const root = join(import.meta.dirname, '..')
const read = (name: string) => readFileSync(join(root, name), 'utf8')
const manifest = JSON.parse(read('package.json')) as Record<'dependencies' | 'devDependencies', Record<string, string>>
const lock = JSON.parse(read('package-lock.json')) as {
  packages: Record<string, { version?: string; resolved?: string; integrity?: string; link?: boolean }>
}
const named = { ...manifest.dependencies, ...manifest.devDependencies }

test('every dependency stands in the table of SECURITY.md with its reason, and nothing else does', () => {
  const table = read('.github/SECURITY.md').split('## Dependencies')[1]!
  const rows = [...table.matchAll(/^\| `([^`]+)` \| (.+?) \| (.+?) \|$/gm)].map(([, name, use, reason]) => ({
    name,
    use,
    reason,
  }))
  expect(rows.map(({ name }) => name).sort()).toEqual(Object.keys(named).sort())
  expect(rows.filter(({ use, reason }) => use!.length < 5 || reason!.length < 5)).toEqual([])
})

test('every dependency is pinned to one version, and the lock has that one', () => {
  const loose = Object.entries(named).filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
  expect(loose).toEqual([])
  const other = Object.entries(named).filter(
    ([name, version]) => lock.packages[`node_modules/${name}`]?.version !== version,
  )
  expect(other).toEqual([])
})

test('every package in the lock is known by the hash of its bytes', () => {
  const unknown = Object.entries(lock.packages).filter(
    ([path, entry]) => path !== '' && !entry.link && !/^sha512-/.test(entry.integrity ?? ''),
  )
  expect(unknown.map(([path]) => path)).toEqual([])
})

test('the page of promises in the README is the one of the tests', async () => {
  const page = await promisesPage(root)
  expect(read('README.md')).toContain(`<!-- promises -->\n\n${page}\n\n<!-- /promises -->`)
  expect(page.split('\n').length).toBeGreaterThan(40)
})

test('names of tests are found in each way to write one', () => {
  const source = [
    "test('plain', () => {})",
    "  test('inside', async () => {})",
    'test.runIf(asRoot)("as root", () => {})',
    "test.each([\n  ['a', 1],\n])('for %s: it\\'s one', () => {})",
    "test.each(keys.concat('x'))(\n  'each %s', () => {})",
    "expect(f('not a test')).toBe(1)",
  ].join('\n')
  expect(testNames(source)).toEqual(['plain', 'inside', 'as root', "for …: it's one", 'each …'])
})
