// Makes a real git repository from an object literal. Nothing is written to a work tree, so that paths which no file system takes, and
// bytes that are no text, come into a commit as they are.
import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

/** Text, bytes, a script, a link, a submodule's commit; null takes the file away. */
export type Content =
  | string
  | Uint8Array
  | { executable: string | Uint8Array }
  | { symlink: string }
  | { submodule: string }
  | null

/** By path. Paths that are not UTF-8 are given as bytes, in a list of pairs. */
export type Files = Record<string, Content> | [path: string | Uint8Array, content: Content][]

export interface RepositoryOptions {
  branch?: string
  /** Further refs by full name, to the commit with this index. */
  refs?: Record<string, number>
  /** Annotated tags by short name, to the commit with this index. */
  tags?: Record<string, number>
}

export interface TestRepository extends AsyncDisposable {
  /** Bare. */
  directory: string
  branch: string
  /** Ids of the commits, the first first. */
  commits: string[]
  /** The last commit's id. */
  head: string
  /** Runs git in it and returns what it prints. */
  git(...words: string[]): Promise<string>
  /** Adds a commit to the branch and returns its id. */
  commit(files: Files, message?: string): Promise<string>
}

/** One commit of these files, or several: each changes what the one before had. An empty list makes a repository without commits. */
export async function makeRepository(
  history: Files | Files[],
  options: RepositoryOptions = {},
): Promise<TestRepository> {
  const directory = await mkdtemp(join(tmpdir(), 'repository-'))
  const branch = options.branch ?? 'main'
  const git = async (...words: string[]) =>
    (await execute('git', ['-C', directory, ...words], { env })).stdout.trimEnd()
  await begin(directory, branch)

  const commits: string[] = []
  const add = async (all: Files[], message?: string) => {
    const from = commits.at(-1)
    const made = await fastImport(directory, importOf(all, { branch, from, message, start: commits.length }))
    commits.push(...made.split('\n').filter((line) => line !== ''))
  }
  const all = isSeveral(history) ? history : [history]
  if (all.length > 0) await add(all)
  for (const [ref, index] of Object.entries(options.refs ?? {})) await point(directory, ref, commits[index]!)
  for (const [tag, index] of Object.entries(options.tags ?? {}))
    await git('tag', '--annotate', '--message', tag, tag, commits[index]!)

  return {
    directory,
    branch,
    commits,
    get head() {
      return commits.at(-1) ?? ''
    },
    git,
    async commit(files, message) {
      await add([files], message)
      return commits.at(-1)!
    },
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  }
}

/** An empty bare repository, as `git init` makes one. A whole program for four files is felt when a suite makes hundreds of them. */
async function begin(directory: string, branch: string): Promise<void> {
  const settings = '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n[gc]\n\tauto = 0\n'
  await Promise.all([
    writeFile(join(directory, 'HEAD'), `ref: refs/heads/${branch}\n`),
    writeFile(join(directory, 'config'), settings),
    mkdir(join(directory, 'objects')),
    mkdir(join(directory, 'refs')),
  ])
}

async function point(directory: string, ref: string, commit: string): Promise<void> {
  const file = join(directory, ref)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, `${commit}\n`)
}

const execute = promisify(execFile)

const person = 'A Person <person@example.com>'

const env = {
  PATH: process.env['PATH'],
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_COMMITTER_NAME: 'A Person',
  GIT_COMMITTER_EMAIL: 'person@example.com',
  GIT_COMMITTER_DATE: '1700000000 +0000',
}

/** A list of pairs is one commit; any other list is several. */
function isSeveral(history: Files | Files[]): history is Files[] {
  return Array.isArray(history) && !(Array.isArray(history[0]) && isPath(history[0][0]))
}

const isPath = (value: unknown) => typeof value === 'string' || value instanceof Uint8Array

interface Place {
  branch: string
  from: string | undefined
  message: string | undefined
  start: number
}

/** The commits in the language of `git fast-import`, which prints the id of each. */
function importOf(all: Files[], { branch, from, message, start }: Place): Uint8Array {
  const parts: Uint8Array[] = []
  const say = (line: string) => parts.push(Buffer.from(`${line}\n`))
  const data = (content: string | Uint8Array) => {
    const bytes = Buffer.from(content)
    say(`data ${bytes.length}`)
    parts.push(bytes, Buffer.from('\n'))
  }
  for (const [index, files] of all.entries()) {
    say(`commit refs/heads/${branch}`)
    say(`mark :${index + 1}`)
    say(`committer ${person} ${1_700_000_000 + 60 * (start + index)} +0000`)
    data(message ?? `Commit ${start + index + 1}`)
    if (index === 0 && from !== undefined) say(`from ${from}`)
    for (const [path, content] of Array.isArray(files) ? files : Object.entries(files))
      change(quoted(path), content, say, data)
    say('')
    say(`get-mark :${index + 1}`)
  }
  say('done')
  return Buffer.concat(parts)
}

function change(
  path: string,
  content: Content,
  say: (line: string) => void,
  data: (content: string | Uint8Array) => void,
): void {
  if (content === null) {
    say(`D ${path}`)
  } else if (typeof content === 'string' || content instanceof Uint8Array) {
    say(`M 100644 inline ${path}`)
    data(content)
  } else if ('submodule' in content) {
    say(`M 160000 ${content.submodule} ${path}`)
  } else {
    say(`M ${'symlink' in content ? '120000' : '100755'} inline ${path}`)
    data('symlink' in content ? content.symlink : content.executable)
  }
}

/** Every byte that is not plain is written in octal. */
function quoted(path: string | Uint8Array): string {
  if (typeof path === 'string' && /^[!#-[\]-~]+$/.test(path)) return `"${path}"`
  const plain = [...Buffer.from(path)].map((byte) =>
    byte > 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c
      ? String.fromCharCode(byte)
      : `\\${byte.toString(8).padStart(3, '0')}`,
  )
  return `"${plain.join('')}"`
}

async function fastImport(directory: string, input: Uint8Array): Promise<string> {
  const child = spawn('git', ['-C', directory, 'fast-import', '--quiet', '--done'], {
    env,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const output: string[] = []
  const complaints: string[] = []
  child.stdout.setEncoding('utf8').on('data', (text: string) => output.push(text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => complaints.push(text))
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  if (code !== 0) throw new Error(`git fast-import ended with ${code}: ${complaints.join('')}`)
  return output.join('')
}
