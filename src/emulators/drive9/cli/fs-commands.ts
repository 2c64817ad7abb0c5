// `drive9 fs cp|cat|ls|stat|mkdir|mv|rm`: one remote path at a time, without a mount.
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { openRemote, type Remote, RemoteError } from './api-client.js'
import { needCredentials } from './credentials.js'
import { Exit, parseArguments, remoteOf } from './parse-arguments.js'

type Environment = Record<string, string | undefined>
type Command = (remote: Remote, words: string[]) => Promise<void>

const commands: Record<string, Command> = { cp, cat, ls, stat, mkdir, mv, rm }

export async function fileCommand(words: string[], environment: Environment): Promise<number> {
  const [name = '', ...rest] = words
  const command = commands[name]
  if (!command) throw new Exit(2, `drive9 fs: unknown command "${name}"\nusage: drive9 fs cp|cat|ls|stat|mkdir|mv|rm\n`)
  const remote = openRemote(needCredentials(environment))
  try {
    await command(remote, rest)
    return 0
  } finally {
    remote.close()
  }
}

/** Outside `cp` a path without a colon is remote too. */
const remotePath = (word: string) => remoteOf(word) ?? `/${word.replace(/^\/+/, '')}`

async function cp(remote: Remote, words: string[]): Promise<void> {
  const usage = 'usage: drive9 fs cp [-r|--recursive] <src> <dst>'
  const given = parseArguments(words, { r: 'switch', recursive: 'switch' }, `${usage}\n`)
  const [source, target] = given.rest
  if (source === undefined || target === undefined || given.rest.length !== 2) throw new Exit(1, usage)
  const [from, to] = [remoteOf(source), remoteOf(target)]
  const recursive = given.isSet('r') || given.isSet('recursive')
  if (from !== undefined && to !== undefined) {
    const bytes = await remote.read(from)
    await remote.write(await remoteTarget(remote, to, basename(from)), sourceOf(bytes))
  } else if (from !== undefined) await fetchFrom(remote, from, target, recursive)
  else if (to !== undefined) await sendTo(remote, source, to, recursive)
  else throw new Exit(1, 'at least one path must be remote (e.g. :/path)')
}

async function fetchFrom(remote: Remote, from: string, target: string, recursive: boolean): Promise<void> {
  if (target === '-') return write(await remote.read(from))
  if (!recursive) {
    const into = statSync(target, { throwIfNoEntry: false })?.isDirectory() ? join(target, basename(from)) : target
    return remote.download(from, into)
  }
  mkdirSync(target, { recursive: true })
  for (const entry of await remote.list(from)) {
    if (/[/\0]|^\.{1,2}$/.test(entry.name)) continue
    await fetchFrom(remote, `${from}/${entry.name}`, join(target, entry.name), entry.isDir)
  }
}

async function sendTo(remote: Remote, source: string, to: string, recursive: boolean): Promise<void> {
  if (source === '-') {
    await remote.write(to, sourceOf(readFileSync(0)))
    return
  }
  if (recursive && statSync(source).isDirectory()) {
    for (const name of readdirSync(source)) await sendTo(remote, join(source, name), `${to}/${name}`, true)
    return
  }
  const file = await open(source)
  try {
    const { size } = await file.stat()
    const readPart = async (offset: number, length: number) => {
      const bytes = Buffer.alloc(length)
      await file.read(bytes, 0, length, offset)
      return bytes
    }
    await remote.write(await remoteTarget(remote, to, basename(source)), { size, readPart })
  } finally {
    await file.close()
  }
}

/** Into a directory a file goes under its own name. */
async function remoteTarget(remote: Remote, to: string, name: string): Promise<string> {
  if (to.endsWith('/')) return `${to}${name}`
  const there = await remote.stat(to).catch((error: unknown) => {
    if (error instanceof RemoteError && error.status === 404) return undefined
    throw error
  })
  return there?.isDirectory ? `${to}/${name}` : to
}

const sourceOf = (bytes: Uint8Array) => ({
  size: bytes.length,
  readPart: async (offset: number, length: number) => bytes.subarray(offset, offset + length),
})

async function cat(remote: Remote, words: string[]): Promise<void> {
  const usage = 'usage: drive9 fs cat [--offset N] [--length N] <path>'
  const given = parseArguments(words, { offset: 'number', length: 'number' }, `${usage}\n`)
  const [path] = given.rest
  if (path === undefined) throw new Exit(1, usage)
  const offset = Number(given.text('offset') ?? 0)
  const length = Number(given.text('length') ?? Number.POSITIVE_INFINITY)
  return write((await remote.read(remotePath(path))).subarray(offset, offset + length))
}

async function ls(remote: Remote, words: string[]): Promise<void> {
  const long = words.includes('-l')
  const path = remotePath(words.find((word) => word !== '-l') ?? '/')
  for (const { name, size, isDir } of await remote.list(path)) {
    await write(long ? `${isDir ? 'd' : '-'}  ${size}  ${name}\n` : `${name}${isDir ? '/' : ''}\n`)
  }
}

async function stat(remote: Remote, words: string[]): Promise<void> {
  const usage = 'usage: drive9 fs stat [-o text|json] <path>'
  const given = parseArguments(words, { o: 'text', output: 'text' }, `${usage}\n`)
  const [path] = given.rest
  if (path === undefined) throw new Exit(1, usage)
  const described = await remote.describe(remotePath(path))
  if ((given.text('o') ?? given.text('output')) === 'json') return write(`${JSON.stringify(described, null, 2)}\n`)
  for (const name of ['size', 'isdir', 'revision', 'mtime', 'content_type'])
    await write(`${name}: ${described[name]}\n`)
}

async function mkdir(remote: Remote, words: string[]): Promise<void> {
  const [path] = words
  if (path === undefined) throw new Exit(1, 'usage: drive9 fs mkdir <path>')
  await remote.makeDirectory(remotePath(path))
}

async function mv(remote: Remote, words: string[]): Promise<void> {
  const [from, to] = words
  if (from === undefined || to === undefined) throw new Exit(1, 'usage: drive9 fs mv <old> <new>')
  await remote.rename(remotePath(from), remotePath(to))
}

async function rm(remote: Remote, words: string[]): Promise<void> {
  const given = parseArguments(words, { r: 'switch', recursive: 'switch' }, 'usage: drive9 fs rm [-r] <path>\n')
  const [path] = given.rest
  if (path === undefined) throw new Exit(1, 'usage: drive9 fs rm [-r] <path>')
  await remote.remove(remotePath(path), given.isSet('r') || given.isSet('recursive'))
}

function write(content: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(content, (error) => (error ? reject(error) : resolve()))
  })
}
