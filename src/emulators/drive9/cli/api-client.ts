// What the program asks the server. Node's plain `http` rather than `fetch`: it loads faster, and a program's start is felt.
import { createWriteStream } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { createRequire } from 'node:module'
import { pipeline } from 'node:stream/promises'
import type { Credentials } from './credentials.js'

// An import of `node:http` asks for everything it exports, and so loads `fetch` too, which costs more than the rest of the start.
const builtin = createRequire(import.meta.url)
const protocolOf = (url: string): typeof import('node:http') =>
  builtin(url.startsWith('https:') ? 'node:https' : 'node:http')

/**
 * The server's answer that was not what was asked for; status 0 when no answer came. The words are those of the real program's client: the
 * server's own sentence and no status, or a status where the server says nothing.
 */
export class RemoteError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

interface RemoteStat {
  isDirectory: boolean
  size: number
  revision: number
}

export interface RemoteEntry {
  name: string
  isDir: boolean
  size: number
  revision?: number
  mode?: number
  hasMode?: boolean
}

interface RequestOptions {
  headers?: Record<string, string>
  body?: Uint8Array | undefined
  timeout?: number | undefined
}

export interface Remote {
  status(): Promise<void>
  stat(path: string): Promise<RemoteStat>
  list(path: string): Promise<RemoteEntry[]>
  read(path: string): Promise<Buffer>
  download(path: string, file: string): Promise<void>
  /** Any size; `readPart` is asked for one stretch after the other. Answers with the revision where the server says it. */
  write(path: string, source: Source, expectedRevision?: number): Promise<number | undefined>
  makeDirectory(path: string): Promise<void>
  remove(path: string, recursive: boolean): Promise<void>
  rename(from: string, to: string): Promise<void>
  changeMode(path: string, mode: number): Promise<void>
  link(path: string, target: string): Promise<void>
  close(): void
}

export interface Source {
  size: number
  readPart(offset: number, length: number): Promise<Uint8Array>
  /** Milliseconds for each request. */
  timeout?: number
}

const inlineThreshold = 50_000

export function openRemote({ server, key }: Credentials): Remote {
  const protocol = protocolOf(server)
  const agent = new protocol.Agent({ keepAlive: true, maxSockets: 32 })
  const authorization = { authorization: `Bearer ${key}` }

  function send(method: string, url: string, options: RequestOptions): Promise<IncomingMessage> {
    const { headers = {}, body, timeout = 60_000 } = options
    const other = protocolOf(url)
    const length = body === undefined ? {} : { 'content-length': String(body.length) }
    return new Promise((resolve, reject) => {
      const fail = (error: NodeJS.ErrnoException) => reject(new RemoteError(0, brokenConnection(method, url, error)))
      const ownAgent = other === protocol ? { agent } : {}
      const call = other.request(url, { method, headers: { ...headers, ...length }, ...ownAgent }, resolve)
      call.setTimeout(timeout, () => call.destroy(new Error('context deadline exceeded')))
      call.on('error', fail)
      call.end(body)
    })
  }

  async function ask(method: string, path: string, options: RequestOptions = {}): Promise<Buffer> {
    const response = await send(method, `${server}${path}`, {
      ...options,
      headers: { ...authorization, ...options.headers },
    })
    return succeed(method, path, response)
  }

  const askJson = async (method: string, path: string, value?: object, timeout?: number) => {
    const body = value === undefined ? undefined : Buffer.from(JSON.stringify(value))
    const headers: Record<string, string> = body ? { 'content-type': 'application/json' } : {}
    return JSON.parse((await ask(method, path, { body, headers, timeout })).toString('utf8')) as Record<string, unknown>
  }

  /** A file's bytes, from here or from where a redirect sends us; the key goes to the server only. */
  async function open(path: string): Promise<IncomingMessage> {
    const first = await send('GET', `${server}${address(path)}`, { headers: authorization })
    const location = first.headers.location
    if (first.statusCode !== 302 || location === undefined) return first
    first.resume()
    return send('GET', new URL(location, server).href, {})
  }

  async function uploadInParts(path: string, source: Source, expectedRevision: number | undefined): Promise<void> {
    const { timeout } = source
    const condition = expectedRevision === undefined ? {} : { expected_revision: expectedRevision }
    const begun = { path, total_size: source.size, ...condition }
    const plan = await askJson('POST', '/v2/uploads/initiate', begun, timeout)
    const upload = `/v2/uploads/${String(plan['upload_id'])}`
    const numbers = Array.from({ length: Number(plan['total_parts']) }, (_, index) => index + 1)
    const wanted = { parts: numbers.map((part_number) => ({ part_number })) }
    const signed = (await askJson('POST', `${upload}/presign-batch`, wanted, timeout))['parts']
    const parts = signed as { number: number; url: string; size: number }[]
    const stored: { number: number; etag: string }[] = []
    await each(parts, 4, async ({ number, url, size }) => {
      const body = await source.readPart((number - 1) * Number(plan['part_size']), size)
      const response = await send('PUT', url, { body, timeout })
      await succeed('PUT', `part ${number} of ${path}`, response)
      stored.push({ number, etag: String(response.headers.etag) })
    })
    await askJson('POST', `${upload}/complete`, { parts: stored.sort((a, b) => a.number - b.number) }, timeout)
  }

  return {
    status: async () => {
      await ask('GET', '/v1/status')
    },
    async stat(path) {
      const response = await send('HEAD', `${server}${address(path)}`, { headers: authorization })
      await succeed('HEAD', path, response)
      const header = (name: string) => String(response.headers[name] ?? '')
      return {
        isDirectory: header('x-dat9-isdir') === 'true',
        size: Number(header('content-length')),
        revision: Number(header('x-dat9-revision')),
      }
    },
    async list(path) {
      return ((await askJson('GET', `${address(path)}?list=1`))['entries'] ?? []) as RemoteEntry[]
    },
    read: async (path) => succeed('GET', path, await open(path)),
    async download(path, file) {
      const response = await open(path)
      if (response.statusCode !== 200) await succeed('GET', path, response)
      await pipeline(response, createWriteStream(file)).catch((error: Error) => {
        throw new RemoteError(0, `GET ${path}: ${error.message}`)
      })
    },
    async write(path, source, expectedRevision) {
      if (source.size >= inlineThreshold) {
        await uploadInParts(path, source, expectedRevision)
        return expectedRevision === undefined ? undefined : expectedRevision + 1
      }
      const body = await source.readPart(0, source.size)
      const condition: Record<string, string> =
        expectedRevision === undefined ? {} : { 'x-dat9-expected-revision': String(expectedRevision) }
      const reply = await ask('PUT', address(path), { body, headers: condition, timeout: source.timeout })
      return Number((JSON.parse(reply.toString('utf8')) as { revision?: number }).revision)
    },
    makeDirectory: async (path) => {
      await ask('POST', `${address(path)}?mkdir=1`)
    },
    remove: async (path, recursive) => {
      await ask('DELETE', `${address(path)}${recursive ? '?recursive' : ''}`)
    },
    rename: async (from, to) => {
      const source = Buffer.from(from).toString('base64url')
      const headers = { 'x-dat9-rename-source': source, 'x-dat9-path-encoding': 'base64url' }
      await ask('POST', `${address(to)}?rename=1`, { headers })
    },
    changeMode: async (path, mode) => {
      await askJson('POST', `${address(path)}?chmod=1`, { mode })
    },
    link: async (path, target) => {
      await askJson('POST', `${address(path)}?symlink=1`, { target })
    },
    close: () => agent.destroy(),
  }
}

async function succeed(method: string, path: string, response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of response) chunks.push(chunk as Buffer)
  } catch (error) {
    throw new RemoteError(0, `${method} ${path}: ${(error as Error).message}`)
  }
  const body = Buffer.concat(chunks)
  const status = response.statusCode ?? 0
  if (status >= 200 && status < 300) return body
  throw new RemoteError(status, sentence(body) ?? `HTTP ${status}: ${body.subarray(0, 200).toString('utf8')}`)
}

function sentence(body: Buffer): string | undefined {
  try {
    const { error } = JSON.parse(body.toString('utf8')) as { error?: unknown }
    return typeof error === 'string' && error !== '' ? error : undefined
  } catch {
    return undefined
  }
}

/** As Go says it: the method, the whole address, and what became of the connection. */
function brokenConnection(method: string, url: string, error: NodeJS.ErrnoException): string {
  const { host, hostname } = new URL(url)
  const words: Record<string, string> = {
    ECONNREFUSED: `dial tcp ${host}: connect: connection refused`,
    ECONNRESET: error.message === 'socket hang up' ? 'EOF' : `read tcp ${host}: read: connection reset by peer`,
    EPIPE: `write tcp ${host}: write: broken pipe`,
    ENOTFOUND: `dial tcp: lookup ${hostname}: no such host`,
  }
  const verb = `${method.slice(0, 1)}${method.slice(1).toLowerCase()}`
  return `${verb} "${url}": ${words[error.code ?? ''] ?? error.message}`
}

const address = (path: string) => `/v1/fs${path.split('/').map(encodeURIComponent).join('/')}`

/** Runs over all items, so many at a time; the first failure ends it. */
export async function each<T>(items: T[], most: number, work: (item: T) => Promise<void>): Promise<void> {
  const waiting = [...items]
  const worker = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item)
  }
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker))
}
