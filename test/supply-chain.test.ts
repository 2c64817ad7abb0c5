// Few dependencies, each with a reason, each pinned; and documents that say what the code says.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { testNames } from '../src/build/guarantees-list.js'

const root = join(import.meta.dirname, '..')
const read = (name: string) => readFileSync(join(root, name), 'utf8')
const manifest = JSON.parse(read('package.json')) as Record<
  'dependencies' | 'devDependencies',
  Record<string, string>
> & {
  allowScripts: Record<string, boolean>
}

interface Locked {
  version?: string
  resolved?: string
  integrity?: string
  license?: string
  link?: boolean
  dev?: boolean
  optional?: boolean
  hasInstallScript?: boolean
}

type Lock = Record<string, Locked>
const readLock = (name: string) => (JSON.parse(read(name)) as { packages: Lock }).packages
const { '': _ourselves, ...locked } = readLock('package-lock.json')
const nameOf = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
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
  const other = Object.entries(named).filter(([name, version]) => locked[`node_modules/${name}`]?.version !== version)
  expect(other).toEqual([])
})

test('every package in the lock is known by the hash of its bytes, and what is installed is what the lock says', () => {
  const isHash = (text = '') => /^sha512-/.test(text) && Buffer.from(text.slice(7), 'base64').length === 64
  expect(Object.keys(locked).length).toBeGreaterThan(300)
  expect(Object.keys(locked).filter((path) => locked[path]!.link || !isHash(locked[path]!.integrity))).toEqual([])
  const installed = readLock('node_modules/.package-lock.json')
  expect(Object.keys(installed).length).toBeGreaterThan(200)
  const other = Object.entries(installed).filter(
    ([path, { version, integrity }]) =>
      locked[path]?.version !== version || locked[path]?.integrity !== integrity || versionThere(path) !== version,
  )
  expect(other).toEqual([])
})

const versionThere = (path: string) => (JSON.parse(read(`${path}/package.json`)) as { version: string }).version

test('no package comes from an address of its own: not from git, a folder or a machine', () => {
  const elsewhere = Object.entries(locked).filter(([, { version, resolved }]) => !/^\d/.test(version ?? '') || resolved)
  expect(elsewhere).toEqual([])
})

test('no package runs a script when it is installed but those that are allowed to, and each of those needs to', () => {
  const running = Object.keys(locked).filter((path) => locked[path]!.hasInstallScript && !locked[path]!.optional)
  expect([...new Set(running.map(nameOf))].sort()).toEqual(Object.keys(manifest.allowScripts).sort())
  const allowed = Object.keys(manifest.allowScripts).filter((name) => manifest.allowScripts[name])
  expect(allowed).toEqual(['esbuild', 'node'])
})

/** Licences that ask for no more than to be shipped along. */
const permissive = /^(MIT|ISC|Apache-2\.0|0BSD|BSD-[23]-Clause|BlueOak-1\.0\.0)$/

test('every package has a licence, and one that runs in production has a permissive one', () => {
  const without = Object.keys(locked).filter((path) => !locked[path]!.license)
  expect(without).toEqual([])
  const strict = ({ license = '' }: Locked) =>
    !license
      .replace(/[()]/g, '')
      .split(/ AND | OR /)
      .every((one) => permissive.test(one))
  expect(Object.keys(locked).filter((path) => !locked[path]!.dev && strict(locked[path]!))).toEqual([])
})

test('the list of licences has every package of the bundle in the version of the lock, with its text', () => {
  const shipped = packagesIn('dist/licenses.txt')
  const names = shipped.map(({ name }) => name)
  // The functions are deployed with their packages; only what the Action runs with is bundled.
  const bundled = Object.keys(manifest.dependencies).filter((name) => !/^@(?:vercel|modelcontextprotocol)\//.test(name))
  expect(bundled.filter((name) => !names.includes(name))).toEqual([])
  const inLock = ({ name, version, licence }: Shipped) =>
    Object.entries(locked).some(
      ([path, entry]) => nameOf(path) === name && entry.version === version && entry.license === licence,
    )
  expect(shipped.filter((one) => !inLock(one))).toEqual([])
  expect(shipped.filter(({ text }) => text.length < 500)).toEqual([])
})

interface Shipped {
  name: string
  version: string
  licence: string
  text: string
}

function packagesIn(file: string): Shipped[] {
  const [list = '', ...texts] = read(file).split(/^─{20,}\n/m)
  const rows = [...list.matchAll(/^ {2}(\S+) (\S+) \((.+)\)$/gm)].map(([, name = '', version = '', licence = '']) => ({
    name,
    version,
    licence,
  }))
  expect(rows.length).toBeGreaterThan(10)
  expect(texts).toHaveLength(rows.length)
  return rows.map((row) => ({
    ...row,
    text: texts.find((text) => text.includes(`${row.name} ${row.version}\n`)) ?? '',
  }))
}

test('names of tests are found in each way to write one', () => {
  const source = [
    "test('plain', () => {})",
    "describe('a group', () => {",
    "  test('inside', async () => {})",
    'test.runIf(asRoot)("as root", () => {})',
    "test.each([\n  ['a', 1],\n])('for %s: it\\'s one', () => {})",
    "test.each(keys.concat('x'))(\n  'each %s', () => {})",
    "test.each(\n  Object.keys(of({ a: 1 })).concat('x'),\n)('any %s', () => {})",
    "test.each(['a', 'b'] as const)('%s of two', () => {})",
    "expect(f('not a test')).toBe(1)",
  ].join('\n')
  expect(testNames(source)).toEqual([
    'plain',
    'a group: inside',
    'as root',
    "for …: it's one",
    'each …',
    'any …',
    '… of two',
  ])
})
