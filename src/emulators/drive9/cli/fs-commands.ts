// `drive9 fs cp|ls|mkdir`: one remote path at a time, without a mount.
import { openRemote, type Remote } from './api-client.js'
import { needCredentials } from './credentials.js'
import { Exit, remoteOf } from './parse-arguments.js'

type Environment = Record<string, string | undefined>
type Command = (remote: Remote, words: string[]) => Promise<void>

const commands: Record<string, Command> = { cp, ls, mkdir }

export async function fileCommand(words: string[], environment: Environment): Promise<number> {
  const [name = '', ...rest] = words
  const command = commands[name]
  if (!command) throw new Exit(2, `drive9 fs: unknown command "${name}"\nusage: drive9 fs cp|ls|mkdir\n`)
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
  const [source = '', target] = words
  const from = remoteOf(source)
  if (from === undefined || target === undefined) throw new Exit(1, 'usage: drive9 fs cp :<remote file> <local file>')
  await remote.download(from, target)
}

async function ls(remote: Remote, words: string[]): Promise<void> {
  const [path = '/'] = words
  for (const { name, isDir } of await remote.list(remotePath(path))) await write(`${name}${isDir ? '/' : ''}\n`)
}

async function mkdir(remote: Remote, words: string[]): Promise<void> {
  const [path] = words
  if (path === undefined) throw new Exit(1, 'usage: drive9 fs mkdir <path>')
  await remote.makeDirectory(remotePath(path))
}

function write(content: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(content, (error) => (error ? reject(error) : resolve()))
  })
}
