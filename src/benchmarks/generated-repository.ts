// A repository of any size, the same for the same number of files: TypeScript files of about 6 KB whose words are as frequent as in real code.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'

export interface GeneratedRepository {
  /** Bare. */
  directory: string
  sha: string
}

const filesPerFolder = 25
const functionsPerFile = 16
const vocabulary = 6_000

export async function generateRepository(folder: string, files: number): Promise<GeneratedRepository> {
  const directory = join(folder, `generated-${files}.git`)
  await mkdir(directory, { recursive: true })
  await git(['init', '--quiet', '--bare', '--initial-branch=main', directory])
  const feeding = startGit(['-C', directory, '-c', 'core.compression=1', 'fast-import', '--quiet'])
  for (const piece of fastImport(files)) {
    if (!feeding.stdin.write(piece)) await once(feeding.stdin, 'drain')
  }
  feeding.stdin.end()
  const [code] = await once(feeding, 'close')
  if (code !== 0) throw new Error('git fast-import failed.')
  return { directory, sha: (await git(['-C', directory, 'rev-parse', 'refs/heads/main'])).trim() }
}

function startGit(words: string[]) {
  return spawn('git', words, { stdio: ['pipe', 'pipe', 'inherit'] })
}

async function git(words: string[]): Promise<string> {
  const child = startGit(words)
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`git ${words.at(-1)} failed.`)
  return output
}

function* fastImport(files: number): Generator<string> {
  const who = 'Bench <bench@example.org> 1750000000 +0000'
  yield `commit refs/heads/main\ncommitter ${who}\ndata 9\ngenerated\n`
  yield fileCommand('README.md', `# Generated\n\nA repository of ${files} files for a measurement.\n`)
  for (let file = 1; file < files; file++) yield fileCommand(pathOf(file), textOf(file))
}

const fileCommand = (path: string, text: string) =>
  `M 100644 inline ${path}\ndata ${Buffer.byteLength(text)}\n${text}\n`

function pathOf(file: number): string {
  const folder = Math.floor(file / filesPerFolder)
  return `src/${wordAt(folder % 40)}/${wordAt(folder)}${folder}/${wordAt(file)}-${file}.ts`
}

const syllables = 'ba ce di fo gu ka le mi no pu ra se ti vo zu sha tre con per ly'.split(' ')

/** A made-up word for each number. */
export function wordAt(number: number): string {
  const spread = (number * 2_654_435_761) >>> 0
  const at = (shift: number) => syllables[(spread >>> shift) % syllables.length]!
  return at(3) + at(9) + (number > 400 ? at(15) : '') + (number > 3_000 ? at(21) : '')
}

const words = Array.from({ length: vocabulary }, (_, number) => wordAt(number))

/** Numbers that look random and are the same in each run. */
function randomOf(seed: number): () => number {
  let state = (seed * 0x9e3779b9) | 1
  return () => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d)
    state ^= state >>> 12
    return (state >>> 0) / 0x1_0000_0000
  }
}

function textOf(file: number): string {
  const random = randomOf(file)
  // Few words are frequent and many are rare: Zipf's law.
  const word = () => words[Math.floor(vocabulary ** random()) - 1] ?? words[0]!
  const name = () => `${word()}${capital(word())}`
  const neighbour = Math.max(1, file - Math.ceil(random() * 20))
  const parts = [`import { ${wordAt(neighbour)}Of } from './${wordAt(neighbour)}-${neighbour}.js'\n`]
  for (let at = 0; at < functionsPerFile; at++) {
    parts.push(
      `\n/** The ${word()} ${word()} of a ${word()} is ${word()} when the ${word()} has no ${word()} ${word()}. */\n` +
        `export function ${at === 0 ? `${wordAt(file)}Of` : name()}(${word()}: ${capital(word())}, ${name()}: number): ${capital(word())} {\n` +
        `  const ${name()} = ${wordAt(neighbour)}Of(${word()}.${word()}, ${name()})\n` +
        `  if (${word()}.${name()} > ${Math.floor(random() * 1_000)}) return ${word()}.${name()}('${word()} ${word()} ${word()}')\n` +
        `  for (const ${word()} of ${name()}) ${word()}.${word()}(${name()})\n  return ${name()}\n}\n`,
    )
  }
  return parts.join('')
}

const capital = (text: string) => text[0]!.toUpperCase() + text.slice(1)
