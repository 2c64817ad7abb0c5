// What a deployment would hold, as the platform's own builder makes it without a network: the page and nothing else, and functions that have
// everything they import.
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, normalize } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { type BuiltFunctions, buildFunctions } from '../../src/emulators/vercel/build.js'
import { root } from './kit.js'

let built: BuiltFunctions

beforeAll(async () => {
  built = await buildFunctions(root)
}, 200_000)

const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => statSync(join(folder, path)).isFile())

test('ten functions, and nothing else became one', () => {
  expect(built.functions).toEqual([
    'api/ask',
    'api/auth',
    'api/github',
    'api/health',
    'api/mcp',
    'api/openapi',
    'api/queue',
    'api/runs',
    'api/sandboxes',
    'api/v1',
  ])
})

test('the published files are exactly the built page', () => {
  const published = filesIn(join(built.directory, 'static')).sort()
  // A list, so that a file that comes into the folder by accident is not published.
  expect(published.map((name) => name.replace(/-[A-Z0-9]{8}\.js$/, '-<hash>.js'))).toEqual([
    'geist-latin-wght-normal.woff2',
    'highlight.js',
    'icon.svg',
    'index.html',
    'licenses.txt',
    'main.js',
    'parse-document-<hash>.js',
    'style.css',
  ])
  // Names in a script that is minified are short; a comment or a type would be the source itself.
  expect(readFileSync(join(built.directory, 'static/main.js'), 'utf8')).not.toMatch(/sourceMappingURL|^\s*\/\//m)
})

describe.each([
  'api/ask',
  'api/github',
  'api/health',
  'api/mcp',
  'api/openapi',
  'api/queue',
  'api/runs',
  'api/sandboxes',
])('%s', (name) => {
  const folder = () => join(built.directory, `${name}.func`)

  test('every file that an import names is inside', () => {
    const files = new Set(filesIn(folder()))
    const missing = [...files]
      .filter((path) => path.endsWith('.js') && !path.startsWith('node_modules/'))
      .flatMap((path) =>
        importsOf(readFileSync(join(folder(), path), 'utf8')).flatMap((specifier) =>
          isInside(files, path, specifier) ? [] : [`${path} → ${specifier}`],
        ),
      )
    expect(missing).toEqual([])
  })

  test('it imports, from where it stands alone', async () => {
    const program = `import(${JSON.stringify(join(folder(), `${name}.js`))}).then((m) => console.log(typeof m.default.fetch))`
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', program], {
      cwd: '/',
      env: { PATH: '/usr/bin:/bin' },
    })
    expect(stdout.trim()).toBe('function')
  })

  test('it holds neither the program of the other workflow nor the large memory of the tokenizer', () => {
    const files = filesIn(folder())
    expect(files.filter((path) => /sandbox-survey/.test(path))).toEqual([])
    const bytes = files.reduce((sum, path) => sum + statSync(join(folder(), path)).size, 0)
    expect(bytes).toBeLessThan(25_000_000)
  })
})

// In a bundle one statement follows the other, and names of packages stand in texts as well: only what begins a statement counts.
const importForms =
  /(?:^|[;}])(?:import|export)\b(?:[\w$*{},\s]*?\bfrom)?\s*['"]([^'"\n]+)['"]|\bimport\(\s*['"]([^'"\n]+)['"]\s*\)/gm

function importsOf(text: string): string[] {
  return [...text.matchAll(importForms)].map((match) => match[1] ?? match[2]!)
}

function isInside(files: Set<string>, from: string, specifier: string): boolean {
  if (specifier.startsWith('node:') || builtinModules.includes(specifier)) return true
  if (specifier.startsWith('.')) return files.has(normalize(join(dirname(from), specifier)))
  const parts = specifier.split('/')
  const packageName = specifier.startsWith('@') ? parts.slice(0, 2).join('/') : parts[0]!
  return files.has(`node_modules/${packageName}/package.json`)
}

test('what a health check, a refusal and a stored answer load holds no SDK', () => {
  const loaded = (name: string) => {
    const seen = new Set<string>()
    const follow = (path: string) => {
      if (seen.has(path)) return
      seen.add(path)
      const text = readFileSync(join(built.directory, `${name}.func`, path), 'utf8')
      for (const [, specifier] of text.matchAll(importForms)) {
        if (specifier?.startsWith('.')) follow(normalize(join(dirname(path), specifier)))
        else if (specifier !== undefined) seen.add(specifier)
      }
    }
    follow(`${name}.js`)
    return [...seen]
  }
  const packages = built.functions.flatMap((name) => loaded(name).filter((path) => !/^(api|src|node:)/.test(path)))
  expect([...new Set(packages)].sort()).toEqual(['@vercel/functions', '@vercel/queue'])
  expect(loaded('api/ask').filter((path) => path.startsWith('@'))).toEqual(['@vercel/functions'])
})
