// The arrows of the house, guarded by a machine. Each rule says why it is there, and the message repeats it.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')

interface Room {
  name: string
  /** A file belongs to the first room whose expression matches its path. */
  holds: RegExp
  mayImport: string[]
  reason: string
}

const rooms: Room[] = [
  {
    name: 'index',
    holds: /^src\/handoff\/(index|asking)\.ts$/,
    mayImport: ['hall', 'bench', 'library', 'connect', 'lines'],
    reason: 'these two are the inner doors: a wide one, and a narrow one that is quick to load',
  },
  {
    name: 'connect',
    holds: /^src\/handoff\/connect\.ts$/,
    mayImport: ['lines', 'library', 'hall', 'bench'],
    reason: 'it is the only wiring',
  },
  {
    name: 'hall',
    holds: /^src\/handoff\/hall\//,
    mayImport: ['hall', 'bench', 'library'],
    reason: 'the stories see the outside only through the tools',
  },
  {
    name: 'guest',
    holds: /^src\/handoff\/bench\/guest\//,
    mayImport: ['guest', 'library'],
    reason: 'what runs inside a sandbox is small and knows only the words',
  },
  {
    name: 'bench',
    holds: /^src\/handoff\/bench\//,
    mayImport: ['bench', 'library'],
    reason: 'the bench works on what it is handed',
  },
  {
    name: 'lines',
    holds: /^src\/handoff\/lines\//,
    mayImport: ['lines', 'library'],
    reason: 'a line knows its own outside and the words',
  },
  { name: 'library', holds: /^src\/handoff\/library\//, mayImport: ['library'], reason: 'the library knows nobody' },
  {
    name: 'action',
    holds: /^src\/action\//,
    mayImport: ['action', 'index'],
    reason: 'a door knows the house by its inner door only, and the two doors never meet',
  },
  {
    name: 'api',
    holds: /^api\//,
    mayImport: ['api', 'index', 'service'],
    reason: 'a door knows the house by its inner door only, and the two doors never meet',
  },
  {
    name: 'service',
    holds: /^src\/service\//,
    mayImport: ['service'],
    reason: 'the server runs any functions, and knows neither what they do nor what stands in for the clouds',
  },
  {
    name: 'commands',
    holds: /^src\/commands\//,
    mayImport: ['commands', 'index', 'local', 'guest', 'library', 'lines'],
    reason: 'commands are doors for people who work on the house',
  },
  {
    name: 'local',
    holds: /^src\/local\//,
    mayImport: ['local', 'library', 'service'],
    reason: 'the yard imitates the outside and knows only the words',
  },
]

function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((name) => /\.m?ts$/.test(name))
}

const sources = ['src', 'api']
  .flatMap(filesBelow)
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))

const roomOf = (path: string) => rooms.find((room) => room.holds.test(path))

function importsOf(text: string): string[] {
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1]!)
}

test('every source file has a room', () => {
  expect(sources.map(({ path }) => path).filter((path) => !roomOf(path))).toEqual([])
})

test('no arrow points the wrong way', () => {
  const wrong = sources.flatMap(({ path, text }) => {
    const from = roomOf(path)
    return importsOf(text)
      .filter((specifier) => specifier.startsWith('.'))
      .map((specifier) => roomOf(normalize(join(dirname(path), specifier)).replace(/\.js$/, '.ts')))
      .filter((to) => to !== undefined && from !== undefined && !from.mayImport.includes(to.name))
      .map((to) => `${path} may not import ${to!.name}: ${from!.reason}`)
  })
  expect(wrong).toEqual([])
})

test("a function's own file only brings what was bundled of it", () => {
  const own = sources.filter(({ path }) => /^api\/[a-z]+\.ts$/.test(path))
  expect(own).toHaveLength(6)
  for (const { path, text } of own) {
    const name = path.slice('api/'.length, -'.ts'.length)
    const code = text.split('\n').filter((line) => line !== '' && !line.startsWith('//'))
    expect(code).toEqual([`export { default } from '../dist/service/${name}.js'`])
    expect(sources.map((source) => source.path)).toContain(`api/_functions/${name}.ts`)
  }
})

test('only lines know an SDK, and load it where it is first needed', () => {
  // GitHub's context is the language of the Action's platform, as the log's commands are, and a door speaks that. One file takes it from the
  // package, and nothing else; the package's client would be an SDK like the others.
  const platformWords = { path: 'src/action/told.ts', text: "export { context } from '@actions/github'" }
  const sdks = ['e2b', 'openai', '@actions/github']
  const wrong = sources.flatMap(({ path, text: whole }) => {
    const text = path === platformWords.path ? whole.replace(platformWords.text, '') : whole
    const values = text.replace(/import type [^;\n]*?from '[^']+'/g, '')
    // The bench weighs the SDKs and has to name them; naming is not loading.
    const weighs = path.startsWith('src/commands/bench/')
    const known = sdks.filter((sdk) => !weighs && values.includes(`'${sdk}'`))
    const eager = sdks.filter((sdk) => new RegExp(`^(?:import|export) (?!type).*from '${sdk}'`, 'm').test(text))
    const inLines = roomOf(path)?.name === 'lines'
    return [
      ...known.filter(() => !inLines).map((sdk) => `${path} knows ${sdk}: only lines know an SDK`),
      ...eager.map((sdk) => `${path} loads ${sdk} when it is itself loaded: use import() where it is first needed`),
    ]
  })
  expect(wrong).toEqual([])
})

test('the environment is read at the doors', () => {
  const doors =
    /^(src\/action\/|api\/_|src\/commands\/|src\/local\/|src\/service\/server\/main\.ts$|src\/handoff\/bench\/guest\/(start|programs)\.ts$)/
  const wrong = sources
    .filter(({ path, text }) => !doors.test(path) && /process\.env/.test(text))
    .map(({ path }) => path)
  expect(wrong, 'behaviour must be a function of what is handed in').toEqual([])
})

test('the library does no input or output, and reads no clock', () => {
  const wrong = sources
    .filter(({ path }) => roomOf(path)?.name === 'library')
    .flatMap(({ path, text }) => {
      const code = text.replace(/\/\/.*$/gm, '').replace(/\/\*[\s\S]*?\*\//g, '')
      // A hash is a function of its text alone; of that module nothing else is.
      return [
        /from 'node:(?!crypto')/,
        /import \{(?! hash \})[^}]*\} from 'node:crypto'/,
        /\bfetch\(/,
        /Date\.now\(/,
        /new Date\(\)/,
        /Math\.random\(/,
        /setTimeout\(/,
      ]
        .filter((forbidden) => forbidden.test(code))
        .map((forbidden) => `${path} has ${forbidden.source}: the library is pure`)
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

test('files stay one room each', () => {
  const long = sources
    .filter(({ text }) => text.split('\n').length > 320)
    .map(({ path, text }) => `${path}: ${text.split('\n').length} lines`)
  expect(long).toEqual([])
})

test('the project speaks of itself alone', () => {
  const machine = new RegExp(`${relative('/', root).split('/')[0]}/${'main'}/|/home/(?!user|runner)[a-z]+/`)
  expect(sources.filter(({ text }) => machine.test(text)).map(({ path }) => path)).toEqual([])
})
