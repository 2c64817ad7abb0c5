// A git host on loopback that runs the real `git http-backend` as CGI for each request. It serves bare repositories and work trees by name
// (`/owner/name.git`), with public access or with a credential, and refuses pushes. It writes nothing to the served directories: git gets
// its settings through the environment.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, stat } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join, resolve } from 'node:path'
import { type LocalServer, type RecordedRequest, type Reply, startServer } from './faulty-server.js'

interface GitRemoteOptions {
  port?: number
  /** Directories by name (`owner/name`): bare repositories, or work trees with a `.git` in them. */
  repositories?: Record<string, string>
  /** When absent, every client may read. */
  credentials?: { username: string; password: string }
  /** Whether any commit may be asked for by its id, as on GitHub; true when absent. */
  anyCommit?: boolean
  /** Whether the server speaks protocol version 2; true when absent. */
  version2?: boolean
}

export interface GitRemote extends LocalServer {
  cloneUrl(name: string): string
  /** Serves one more repository, or another directory under the same name. */
  serve(name: string, directory: string): void
  /** Sets the credentials that readers need from now on; undefined makes access public. */
  require(credentials: { username: string; password: string } | undefined): void
}

export async function startGitRemote(options: GitRemoteOptions = {}): Promise<GitRemote> {
  // As on GitHub, names have no case.
  const repositories = new Map(
    Object.entries(options.repositories ?? {}).map(([name, directory]) => [name.toLowerCase(), directory]),
  )
  const gitDirectories = new Map<string, Promise<string>>()
  let credentials = options.credentials

  async function handle(request: RecordedRequest, response: ServerResponse): Promise<Reply | undefined> {
    const [path = '', query = ''] = request.path.split('?', 2)
    const [, name = '', service = ''] = /^\/(.+?)(?:\.git)?\/(info\/refs|git-[a-z]+-pack)$/.exec(path) ?? []
    if (credentials && request.headers['authorization'] !== basic(credentials)) {
      return {
        status: 401,
        headers: { 'www-authenticate': 'Basic realm="git"' },
        body: 'Authentication is required.\n',
      }
    }
    const directory = repositories.get(decodeURIComponent(name).toLowerCase())
    if (directory === undefined) return { status: 404, body: 'There is no such repository.\n' }
    if (service === 'git-receive-pack' || query.includes('git-receive-pack')) {
      return { status: 403, body: 'This repository takes no pushes.\n' }
    }
    if (!gitDirectories.has(directory)) gitDirectories.set(directory, gitDirectory(directory))
    await runBackend(await gitDirectories.get(directory)!, { path: service, query, request }, options, response)
    return undefined
  }

  const server = await startServer('git remote', handle, options.port === undefined ? {} : { port: options.port })
  return {
    ...server,
    cloneUrl: (name) => `${server.url}/${name}.git`,
    serve: (name, directory) => void repositories.set(name.toLowerCase(), directory),
    require: (wanted) => {
      credentials = wanted
    },
  }
}

const basic = ({ username, password }: { username: string; password: string }) =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`

/** Where git keeps what belongs to a directory: itself when it is bare, else its `.git`, which may be a file that points elsewhere. */
async function gitDirectory(directory: string): Promise<string> {
  const inside = join(directory, '.git')
  const found = await stat(inside).catch(() => undefined)
  if (!found) return directory
  if (found.isDirectory()) return inside
  const [, elsewhere = ''] = /^gitdir: (.*)/.exec(await readFile(inside, 'utf8')) ?? []
  return resolve(directory, elsewhere)
}

interface Call {
  path: string
  query: string
  request: RecordedRequest
}

/** Runs the CGI program and passes its answer on as it comes. */
async function runBackend(
  root: string,
  call: Call,
  options: GitRemoteOptions,
  response: ServerResponse,
): Promise<void> {
  const child = spawn('git', ['http-backend'], {
    env: { ...ownEnvironment(), ...environmentFor(root, call, options) },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', () => resolve())
  })
  response.once('close', () => child.kill())
  // A backend that ends before it has read everything is no failure of ours.
  child.stdin.on('error', () => {})
  child.stdin.end(call.request.body)
  await passOn(child.stdout, response)
  await ended
  if (!response.headersSent) response.writeHead(500)
  response.end()
}

/** CGI output: header lines, an empty line, the body. `Status` among the headers is the status. */
async function passOn(output: AsyncIterable<Buffer>, response: ServerResponse): Promise<void> {
  let head = Buffer.alloc(0)
  for await (const chunk of output) {
    if (response.headersSent) {
      await write(response, chunk)
      continue
    }
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end < 0) continue
    const headers = head
      .subarray(0, end)
      .toString('latin1')
      .split('\r\n')
      .map((line) => line.split(/:\s*/, 2) as [string, string])
    const status = headers.find(([key]) => key.toLowerCase() === 'status')?.[1]
    response.writeHead(
      Number.parseInt(status ?? '200', 10),
      Object.fromEntries(headers.filter(([key]) => key !== 'Status')),
    )
    await write(response, head.subarray(end + 4))
  }
}

async function write(response: ServerResponse, chunk: Buffer): Promise<void> {
  if (chunk.length === 0 || response.write(chunk) || response.destroyed) return
  const over = new AbortController()
  try {
    await Promise.race(['drain', 'close'].map((event) => once(response, event, { signal: over.signal })))
  } finally {
    over.abort()
  }
}

function environmentFor(
  root: string,
  { path, query, request }: Call,
  options: GitRemoteOptions,
): Record<string, string> {
  const { headers, method, body } = request
  return {
    GIT_PROJECT_ROOT: root,
    PATH_INFO: `/${path}`,
    QUERY_STRING: query,
    REQUEST_METHOD: method,
    CONTENT_TYPE: headers['content-type'] ?? '',
    CONTENT_LENGTH: String(body.length),
    REMOTE_ADDR: '127.0.0.1',
    GIT_HTTP_EXPORT_ALL: '1',
    ...(headers['content-encoding'] === undefined ? {} : { HTTP_CONTENT_ENCODING: headers['content-encoding'] }),
    ...(headers['git-protocol'] === undefined || options.version2 === false
      ? {}
      : { GIT_PROTOCOL: headers['git-protocol'] }),
    ...settings({
      'uploadpack.allowAnySHA1InWant': String(options.anyCommit ?? true),
      'http.receivepack': 'false',
      'http.getanyfile': 'false',
    }),
  }
}

/** Settings of git for one command, in its environment. The system's and the user's own do not count. */
function settings(values: Record<string, string>): Record<string, string> {
  const entries = Object.entries({ 'safe.directory': '*', ...values })
  return {
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_COUNT: String(entries.length),
    ...Object.fromEntries(
      entries.flatMap(([key, value], index) => [
        [`GIT_CONFIG_KEY_${index}`, key],
        [`GIT_CONFIG_VALUE_${index}`, value],
      ]),
    ),
  }
}

/** Ours without what a git that started us may have left in it: its directory, its index, its settings. */
const ownEnvironment = () =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')))
