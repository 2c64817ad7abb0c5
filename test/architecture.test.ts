// Which folder may import which, checked on every run. Each rule gives its reason, and the failure message repeats it.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')

interface Layer {
  name: string
  /** A file belongs to the first layer whose expression matches its path. */
  holds: RegExp
  mayImport: string[]
  reason: string
}

const product = ['index', 'context', 'workflows', 'store', 'sandbox', 'clients', 'domain', 'util']

const layers: Layer[] = [
  {
    name: 'page',
    holds: /^web\//,
    mayImport: ['page', 'domain'],
    reason: 'the page runs in a browser and shares types with the domain, nothing else',
  },
  {
    name: 'index',
    holds: /^src\/handoff\/(index|index-for-stored-answers)\.ts$/,
    mayImport: product,
    reason:
      'these two files are the public interface of the product: all of it, and the small part that a stored answer needs',
  },
  {
    name: 'context',
    holds: /^src\/handoff\/(create-(read-)?)?context\.ts$/,
    mayImport: ['clients', 'domain', 'util', 'workflows', 'store', 'sandbox', 'context'],
    reason: 'only here are clients created from settings',
  },
  {
    name: 'workflows',
    holds: /^src\/handoff\/workflows\//,
    mayImport: ['workflows', 'store', 'sandbox', 'context', 'domain', 'util'],
    reason: 'a workflow reaches the outside only through the interfaces in domain/ports.ts',
  },
  {
    name: 'program',
    holds: /^src\/handoff\/sandbox\/program\//,
    mayImport: ['program', 'domain', 'util'],
    reason: 'the program inside a sandbox is small and holds no client and no key',
  },
  {
    name: 'sandbox',
    holds: /^src\/handoff\/sandbox\//,
    mayImport: ['sandbox', 'domain', 'util'],
    reason: 'the host side of the sandbox program works on what it is given',
  },
  {
    name: 'store',
    holds: /^src\/handoff\/store\//,
    mayImport: ['store', 'domain', 'util'],
    reason: 'the store works on the drive that it is given',
  },
  {
    name: 'clients',
    holds: /^src\/handoff\/clients\//,
    mayImport: ['clients', 'domain', 'util'],
    reason: 'a client speaks to one outside service and knows no workflow',
  },
  {
    name: 'domain',
    holds: /^src\/handoff\/domain\//,
    mayImport: ['domain', 'util'],
    reason: 'the domain is pure: words and rules, no input or output',
  },
  { name: 'util', holds: /^src\/handoff\/util\//, mayImport: ['util', 'domain'], reason: 'helpers know no workflow' },
  {
    name: 'action',
    holds: /^src\/action\//,
    mayImport: ['action', 'index', 'util'],
    reason: 'an entry point uses the product by its public interface, and entry points do not know each other',
  },
  {
    name: 'route',
    holds: /^api\//,
    mayImport: ['route', 'service'],
    reason: 'a file in api/ is a route of the platform and nothing more',
  },
  {
    name: 'service',
    holds: /^src\/service\//,
    mayImport: ['service', 'index', 'util'],
    reason: 'an entry point uses the product by its public interface, and entry points do not know each other',
  },
  {
    name: 'cli',
    holds: /^src\/cli\//,
    mayImport: ['cli', 'benchmarks', 'index', 'emulators', 'platform', 'build', 'program', 'service', ...product],
    reason: 'commands are for the people who work on the project',
  },
  {
    name: 'benchmarks',
    holds: /^src\/benchmarks\//,
    mayImport: ['benchmarks', 'cli', 'index', 'emulators', 'platform', 'build', 'program', ...product],
    reason: 'benchmarks measure every part and no product file imports them',
  },
  {
    name: 'build',
    holds: /^src\/build\//,
    mayImport: ['build', 'domain', 'util'],
    reason: 'the build reads sources as text; it imports only what documents are generated from',
  },
  {
    name: 'platform',
    holds: /^src\/emulators\/vercel\//,
    mayImport: ['emulators', 'platform', 'service', 'domain', 'util', 'build'],
    reason: 'the emulator of Vercel runs the functions, by the server and the settings that self-hosting uses',
  },
  {
    name: 'emulators',
    holds: /^src\/emulators\//,
    mayImport: ['emulators', 'domain', 'util', 'build', 'service'],
    reason: 'emulators stand in for outside services and must not share code with the clients that they test',
  },
]

function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((name) => /\.m?ts$/.test(name))
}

const sources = ['src', 'api', 'web']
  .flatMap(filesBelow)
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))

const layerOf = (path: string) => layers.find((layer) => layer.holds.test(path))

function importsOf(text: string): string[] {
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1]!)
}

test('every source file belongs to a layer', () => {
  expect(sources.map(({ path }) => path).filter((path) => !layerOf(path))).toEqual([])
})

test('no import crosses the layers in the wrong direction', () => {
  const wrong = sources.flatMap(({ path, text }) => {
    const from = layerOf(path)
    return importsOf(text)
      .filter((specifier) => specifier.startsWith('.'))
      .map((specifier) => layerOf(normalize(join(dirname(path), specifier)).replace(/\.js$/, '.ts')))
      .filter((to) => to !== undefined && from !== undefined && !from.mayImport.includes(to.name))
      .map((to) => `${path} may not import ${to!.name}: ${from!.reason}`)
  })
  expect(wrong).toEqual([])
})

/** Imports that exist at run time; an `import type` disappears when the file is compiled. */
function runtimeImportsOf(text: string): string[] {
  const values = text.replace(/(?:import|export) type [^;]*?from '[^']+'/g, '')
  return importsOf(values).filter((specifier) => specifier.startsWith('.'))
}

/** Groups of files that import each other, directly or through others, by Tarjan's algorithm. */
function cyclesIn(edges: Map<string, string[]>): string[][] {
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const cycles: string[][] = []
  const visit = (file: string): void => {
    order.set(file, order.size)
    low.set(file, order.get(file)!)
    stack.push(file)
    for (const next of edges.get(file) ?? []) {
      if (!order.has(next)) visit(next)
      if (stack.includes(next)) low.set(file, Math.min(low.get(file)!, low.get(next)!))
    }
    if (low.get(file) !== order.get(file)) return
    const members = stack.splice(stack.indexOf(file))
    if (members.length > 1) cycles.push(members.sort())
  }
  for (const file of edges.keys()) if (!order.has(file)) visit(file)
  return cycles
}

/** Of the product, the page runs the one parser of Markdown, for what is not finished yet. */
const parser = '../src/handoff/domain/markdown/parse-document.js'

test('the page imports types of the product, and one parser', () => {
  const wrong = sources
    .filter(({ path }) => path.startsWith('web/'))
    .flatMap(({ path, text }) => runtimeImportsOf(text).map((specifier) => `${path} imports ${specifier}`))
    .filter((found) => found.includes('/src/') && !found.endsWith(` ${parser}`))
  expect(wrong, 'other parsers and SDKs stay on the server').toEqual([])
})

test('no files import each other in a circle, types included', () => {
  expect(
    cyclesIn(
      new Map([
        ['a', ['b']],
        ['b', ['c']],
        ['c', ['a']],
        ['d', ['a']],
      ]),
    ),
  ).toEqual([['a', 'b', 'c']])
  const edges = new Map(
    sources.map(({ path, text }) => [
      path,
      importsOf(text)
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => normalize(join(dirname(path), specifier)).replace(/\.js$/, '.ts')),
    ]),
  )
  expect(cyclesIn(edges), 'a circle of imports cannot be read from top to bottom').toEqual([])
})

/** The names that a file exports: its own and those that it passes on. */
function exportsOf(text: string): string[] {
  const own = [...text.matchAll(/^export (?:async )?(?:function\*?|const|let|class|interface|type|enum) (\w+)/gm)].map(
    (match) => match[1]!,
  )
  const passedOn = [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap((match) => match[1]!.split(','))
  return [...own, ...passedOn.map((name) => name.trim().split(' ').at(-1)!).filter(Boolean)]
}

test('what only its own file uses is not exported', () => {
  expect(exportsOf("export const a = 1\nexport { type B, c as d } from './e.js'\n")).toEqual(['a', 'B', 'd'])
  const readers = [
    ...sources,
    ...filesBelow('test').map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') })),
  ].map(({ path, text }) => ({
    path,
    words: new Set(text.match(/\w+/g)),
    imports: new Set(importsOf(text).map((specifier) => normalize(join(dirname(path), specifier)))),
  }))
  const unused = sources.flatMap(({ path, text }) => {
    const direct = readers.filter(({ imports }) => imports.has(path.replace(/\.ts$/, '.js')))
    // Entry points hand the public interface on as one object, whole modules too.
    const isPublic = [path, ...direct.map((reader) => reader.path)].some((one) => layerOf(one)?.name === 'index')
    const importers = isPublic ? readers.filter((reader) => !reader.path.startsWith('src/handoff/')) : direct
    return exportsOf(text)
      .filter((name) => ![...direct, ...importers].some((importer) => importer.words.has(name)))
      .map((name) => `${path}: ${name}`)
  })
  expect(unused).toEqual([])
})

test('a route imports the service only, and is short', () => {
  const routes = sources.filter(({ path }) => path.startsWith('api/'))
  expect(routes.length).toBeGreaterThan(5)
  for (const { path, text } of routes) {
    const outside = importsOf(text).filter((specifier) => !specifier.startsWith('../src/service/'))
    expect({ path, outside, short: text.split('\n').length <= 10 }).toEqual({ path, outside: [], short: true })
  }
})

test('only clients know an SDK, and load it where it is first needed', () => {
  // The event's context is part of the Action's platform, as workflow commands are. One file takes it from the package, and nothing else.
  const platformWords = { path: 'src/action/github-context.ts', text: "export { context } from '@actions/github'" }
  const sdks = ['e2b', 'openai', '@actions/github', 'jose/jwt/verify', 'jose/jwt/sign', 'jose/jwks/local']
  const wrong = sources.flatMap(({ path, text: whole }) => {
    const text = path === platformWords.path ? whole.replace(platformWords.text, '') : whole
    const values = text.replace(/import type [^;\n]*?from '[^']+'/g, '')
    // A benchmark that weighs the SDKs has to name them; it does not use them.
    const weighs = path.startsWith('src/benchmarks/')
    const known = sdks.filter((sdk) => !weighs && values.includes(`'${sdk}'`))
    const eager = sdks.filter((sdk) => new RegExp(`^(?:import|export) (?!type).*from '${sdk}'`, 'm').test(text))
    const isClient = layerOf(path)?.name === 'clients'
    return [
      ...known.filter(() => !isClient).map((sdk) => `${path} knows ${sdk}: only clients know an SDK`),
      ...eager.map((sdk) => `${path} loads ${sdk} when it is itself loaded: use import() where it is first needed`),
    ]
  })
  expect(wrong).toEqual([])
})

test('only entry points read the environment', () => {
  const entryPoints =
    /^src\/(action|service|cli|benchmarks|emulators|build)\/|^src\/handoff\/sandbox\/program\/(main|spawn)\.ts$/
  const wrong = sources
    .filter(({ path, text }) => !entryPoints.test(path) && /process\.env/.test(text))
    .map(({ path }) => path)
  expect(wrong, 'behaviour must be a function of what is handed in').toEqual([])
})

test('the domain does no input or output, and reads no clock', () => {
  const wrong = sources
    .filter(({ path }) => layerOf(path)?.name === 'domain')
    .flatMap(({ path, text }) => {
      const code = text.replace(/\/\/.*$/gm, '').replace(/\/\*[\s\S]*?\*\//g, '')
      // A digest and an unpacked text are functions of what they are given.
      return [
        /from 'node:(?!crypto'|zlib')/,
        /\bfetch\(/,
        /Date\.now\(/,
        /new Date\(\)/,
        /Math\.random\(/,
        /setTimeout\(/,
      ]
        .filter((forbidden) => forbidden.test(code))
        .map((forbidden) => `${path} has ${forbidden.source}: the domain is pure`)
    })
  expect(wrong).toEqual([])
})

test('production never asks whether it is under test', () => {
  const words = /NODE_ENV|VITEST|isTest|underTest|\bmock\b|\bfake\b/i
  const wrong = sources
    .filter(({ text }) => words.test(text))
    .map(({ path, text }) => `${path}: ${words.exec(text)?.[0]}`)
  expect(wrong).toEqual([])
})

test('no source file is longer than 300 lines', () => {
  const long = sources
    .filter(({ text }) => text.split('\n').length > 301)
    .map(({ path, text }) => `${path}: ${text.split('\n').length} lines`)
  expect(long).toEqual([])
})

test('a comment names only files that exist', () => {
  const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0')
  const names = new Set(tracked.map((path) => path.slice(path.lastIndexOf('/') + 1)))
  // `a/b.ts` and `src/a.ts` are examples of a path, `.test.ts` of an ending.
  const isExample = (path: string) => /^(?:src\/)?(?:[a-z]|\*)(?:\/|\.ts)|^\./.test(path)
  const wrong = sources.flatMap(({ path, text }) =>
    [...text.matchAll(/^\s*(?:\/\/|\/?\*).*$/gm)]
      .flatMap(([comment]) => comment.match(/[\w./*-]+\.(?:ts|mjs)\b/g) ?? [])
      .filter((named) => !isExample(named) && !names.has(named.slice(named.lastIndexOf('/') + 1)))
      .map((named) => `${path}: ${named}`),
  )
  expect(wrong).toEqual([])
})

/** Words that docs/architecture.md replaces, and pronouns that hide which component acts. */
const replacedWords =
  /\b(?:whoever|nobody|somebody|anybody|everybody|told|ledger|guests?|house|halls?|doors?|crossings?|glances?)\b/gi

/** The account, a published field of an answer, a sentence of GitHub's documentation, and repositories that tests make up. */
const allowedWords: Record<string, string[]> = {
  'src/handoff/sandbox/program/spawn.ts': ['nobody'],
  'src/handoff/sandbox/program/README.md': ['nobody'],
  'docs/architecture.md': ['nobody'],
  '.github/SECURITY.md': ['nobody'],
  'docs/service.md': ['told'],
  'src/service/http/responses.ts': ['told'],
  'src/service/openapi/schemas.ts': ['told'],
  'src/service/ask/answer.ts': ['told'],
  'web/answer.ts': ['told'],
  'web/api-types.ts': ['told'],
  'test/service/runs.test.ts': ['told'],
  'test/handoff/clients/github/webhook-signature.test.ts': ['everybody'],
  'test/handoff/sandbox/program/search/index.test.ts': ['ledger'],
  'test/handoff/sandbox/program/search/ranking.test.ts': ['ledger'],
  'test/handoff/sandbox/program/survey/definitions.test.ts': ['door'],
  'test/handoff/workflows/summarise/write-summary.test.ts': ['door'],
}

test('no file uses a word that the glossary replaced', () => {
  const tracked = execFileSync('git', ['ls-files', '-z', 'src', 'api', 'web', 'test', 'docs', 'examples', '*.md'], {
    cwd: root,
    encoding: 'utf8',
  })
  const found = tracked
    .split('\0')
    .filter((path) => /\.(?:ts|mjs|md|yml|css|html)$/.test(path) && path !== 'test/architecture.test.ts')
    // A decision and the list of changes keep the words of their day.
    .filter((path) => !path.startsWith('docs/decisions/') && path !== 'CHANGELOG.md')
    .filter((path) => existsSync(join(root, path)))
    .flatMap((path) => {
      const words = readFileSync(join(root, path), 'utf8').match(replacedWords) ?? []
      const wrong = words.filter((word) => !allowedWords[path]?.includes(word.toLowerCase()))
      return wrong.map((word) => `${path}: ${word}`)
    })
  expect(found, 'docs/architecture.md has the words to use').toEqual([])
})

test('no source file names a path of the machine that it was written on', () => {
  const machine = new RegExp(`${relative('/', root).split('/')[0]}/${'main'}/|/home/(?!user|runner)[a-z]+/`)
  expect(sources.filter(({ text }) => machine.test(text)).map(({ path }) => path)).toEqual([])
})
