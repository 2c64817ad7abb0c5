// Documents say what is there: links, paths, npm scripts and settings exist, generated parts are current, and the words are plain.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, test } from 'vitest'
import { generatedDocuments, generatedParts, withGeneratedParts } from '../src/build/generate-docs.js'
import { costText, measurements, storing } from '../src/build/measured-figures.js'
import { settingTable } from '../src/handoff/domain/settings-reference.js'

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const markdownIn = (folder: string) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`)
const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'test/README.md',
  '.github/SECURITY.md',
  ...markdownIn('docs'),
  ...markdownIn('docs/decisions'),
]
/** Decisions and the changelog also name what is gone. */
const present = documents.filter((path) => !/^docs\/decisions\/\d|^CHANGELOG/.test(path))
const { scripts, devDependencies } = JSON.parse(read('package.json')) as Record<string, Record<string, string>>

/** The anchor that GitHub gives a heading. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/<[^>]*>|&\w+;/g, '')
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-')
const anchorsOf = (path: string) =>
  [...withoutCode(read(path)).matchAll(/^#{1,6} (.*)$/gm)].map(([, heading = '']) => anchorOf(heading))
const withoutCode = (text: string) => text.replace(/^ *```[\s\S]*?^ *```/gm, '')

describe.each(documents)('%s', (path) => {
  const text = read(path)

  test('has no link to a file or heading that does not exist', () => {
    const links = [...withoutCode(text).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, target = '']) => target)
    const broken = links.filter((target) => {
      const [file = '', anchor] = target.split('#')
      const place = file === '' ? path : normalize(join(dirname(path), file))
      return !existsSync(join(root, place)) || (anchor !== undefined && !anchorsOf(place).includes(anchor))
    })
    expect(broken).toEqual([])
  })
})

describe.each(present)('%s', (path) => {
  const text = read(path)
  const code = [...text.matchAll(/```[\s\S]*?```|`[^`\n]+`/g)].map(([found]) => found).join('\n')

  test('names npm scripts that exist', () => {
    const named = [...code.matchAll(/npm (?:run (?:--silent )?([\w:-]+)|(test|start))\b/g)].map(
      ([, run, own]) => run ?? own!,
    )
    expect(named.filter((name) => scripts![name] === undefined)).toEqual([])
  })

  test('names paths of the repository that exist', () => {
    const paths = [...text.matchAll(/`((?:src|api|web|test|docs|examples|\.github|\.devcontainer)\/[\w./-]*)`/g)]
    expect(paths.map(([, name = '']) => name).filter((name) => !existsSync(join(root, name)))).toEqual([])
    const programs = [...code.matchAll(/vitest run (\S+\.test\.ts)/g)].map(([, name = '']) => name)
    expect(programs.filter((name) => !existsSync(join(root, name)))).toEqual([])
  })

  test('names settings that exist', () => {
    // These are read by commands, tests or GitHub, and are no settings of the product.
    const others = ['HANDOFF_TOKEN', 'HANDOFF_TASK', 'GITHUB_TOKEN']
    const known = [...settingTable.map(({ name }) => name), ...others]
    const named = code.match(/\b(?:E2B|DRIVE9|LLM|HANDOFF|GITHUB)_[A-Z0-9_]*[A-Z0-9]\b/g) ?? []
    expect([...new Set(named)].filter((name) => !known.includes(name))).toEqual([])
  })
})

test('the generated parts are current', async () => {
  const parts = await generatedParts(root)
  for (const path of generatedDocuments) {
    const text = read(path)
    expect(withGeneratedParts(text, parts), `${path}: run npm run build`).toBe(text)
  }
  for (const mark of Object.keys(parts)) {
    const holders = generatedDocuments.filter((path) => read(path).includes(`<!-- ${mark} -->`))
    expect(holders, mark).toHaveLength(1)
  }
})

describe('README.md', () => {
  const text = read('README.md')

  test('is short, and shows its pictures in small files', () => {
    expect(text.split('\n').length).toBeLessThanOrEqual(130)
    const pictures = [...text.matchAll(/<img src="(docs\/images\/[\w-]+\.png)" width="\d+" alt=".+">/g)].map(
      ([, path = '']) => path,
    )
    expect(pictures).toHaveLength(2)
    for (const path of pictures) expect(readFileSync(join(root, path)).length).toBeLessThan(160_000)
  })

  test('has no sentence of more than 30 words', () => {
    const prose = withoutCode(text)
      .replace(/^(\||#|<).*$/gm, '\n')
      .replace(/^- /gm, '\n')
      .replace(/\]\([^)]*\)/g, ']')
    const sentences = prose.split(/[.:?!](?=\s|$)|\n\s*\n/)
    const long = sentences.map((sentence) => sentence.trim()).filter((sentence) => sentence.split(/\s+/).length > 30)
    expect(long).toEqual([])
  })
})

test('the example in test/README.md is the file that runs', () => {
  expect(read('test/README.md')).toContain(`\`\`\`ts\n${read('test/example.test.ts')}\`\`\``)
})

test('the list of decisions has each decision, with its title and status', () => {
  const list = read('docs/decisions/README.md')
  const files = readdirSync(join(root, 'docs/decisions')).filter((name) => /^\d{4}-.*\.md$/.test(name))
  expect(files.length).toBeGreaterThan(25)
  for (const name of files) {
    const text = read(`docs/decisions/${name}`)
    const title = /^# (\d{4})\. (.+)$/m.exec(text)
    const superseded = /Status: superseded by \[(\d{4})\]/.exec(text)?.[1]
    const status = superseded === undefined ? 'accepted' : `superseded by ${superseded}`
    expect(list).toContain(`| [${title![1]}](${name}) | ${title![2]} |`)
    expect(list.split('\n').find((row) => row.includes(name))).toContain(`| ${status} |`)
  }
})

test('the list of known attacks names tests that are there', () => {
  const rows = [...read('docs/guarantees.md').matchAll(/^\|.*\]\(\.\.\/(test\/.*?)\): “(.*)…” \|$/gm)]
  expect(rows.length).toBeGreaterThan(50)
  const missing = rows.filter(([, file = '', name = '']) => !read(file).includes(name))
  expect(missing.map(([row]) => row)).toEqual([])
})

test('docs/format.md has each field of the golden files', () => {
  const text = read('docs/format.md')
  const keysOf = (value: unknown): string[] =>
    Array.isArray(value)
      ? value.flatMap(keysOf)
      : typeof value === 'object' && value !== null
        ? Object.entries(value).flatMap(([key, inner]) =>
            // Counts and steps have names of their own.
            ['reasons', 'kinds', 'durations', 'seconds'].includes(key) ? [key] : [key, ...keysOf(inner)],
          )
        : []
  const folder = 'test/fixtures/format'
  const fields = readdirSync(join(root, folder)).flatMap((name) => keysOf(JSON.parse(read(`${folder}/${name}`))))
  expect([...new Set(fields)].filter((field) => !text.includes(`\`${field}\``))).toEqual([])
})

test('one version of Node stands everywhere', () => {
  const version = devDependencies!['node']
  expect(read('.node-version').trim()).toBe(version)
  expect(read('Dockerfile').match(/FROM node:(\S+?)-slim/g)).toEqual([
    `FROM node:${version}-slim`,
    `FROM node:${version}-slim`,
  ])
})

describe('measured figures', () => {
  test.each(Object.entries(measurements))('%s has a day that is past, and a source', (_, { date, source }) => {
    expect(new Date(date).toISOString().slice(0, 10)).toBe(date)
    expect(Date.parse(date)).toBeLessThan(Date.now())
    expect(source.length).toBeGreaterThan(10)
  })

  test('stand in the generated parts and in no other document', async () => {
    const { costs = '', storing: times = '' } = await generatedParts(root)
    const figures = `${costText()}${times}`.match(/\$[\d.]+|\d[\d.,]* (s|ms|in|out|tokens|files|GB|CPUs)\b/g) ?? []
    expect(costs).toContain(costText())
    expect(figures.length).toBeGreaterThan(10)
    const without = (path: string) => read(path).replace(/<!-- (costs|storing) -->.*<!-- \/\1 -->/s, '')
    const has = (text: string, figure: string) =>
      text
        .split(` ${figure}`)
        .slice(1)
        .some((rest) => !/^\w/.test(rest))
    const repeats = (text: string) => figures.filter((figure) => has(text, figure))
    expect(present.filter((path) => repeats(without(path)).length > 0)).toEqual([])
  })

  test('of storing are the only times of storing that a document has', () => {
    const times = present.flatMap((path) => read(path).match(/[\d.]+ s to (store|read)\b/g) ?? [])
    expect(times).toEqual([
      `${storing.tar.storeSeconds} s to store`,
      `${storing.tar.readSeconds} s to read`,
      `${storing.plain.storeSeconds} s to store`,
    ])
  })
})
