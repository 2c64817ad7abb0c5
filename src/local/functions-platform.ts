// What the platform does around a function, on loopback and over real HTTP: the static page first, then the rewrites, then the function, with a
// request's context, the limits on bodies and time, and a client that goes away. One process is one instance: several requests share it.
import { AsyncLocalStorage } from 'node:async_hooks'
import { readFile, stat } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize } from 'node:path'
import { Readable } from 'node:stream'
import type { FunctionSettings, PlatformSettings } from './functions-build.js'

export interface LoadedFunction {
  fetch(request: Request): Promise<Response>
}

export interface PlatformOptions {
  settings: PlatformSettings
  /** The folder of the page. */
  staticFolder: string
  /** Loads a function when it is first asked for; undefined when there is none. */
  load(name: string): Promise<LoadedFunction | undefined>
  settingsOf(name: string): FunctionSettings
  /** What a request's context says of its deadline; by default, when the function's own limit is over. */
  deadline?: SaidDeadline
  port?: number
}

/** So many seconds from the beginning of a request, or nothing at all. */
export type SaidDeadline = { inSeconds: number } | 'absent'

export interface Platform {
  url: string
  /** Work that was handed to waitUntil and is not done. */
  pending(): number
  close(): Promise<void>
}

const mostBytes = 4_500_000

/** As `@vercel/functions` declares it. */
interface Context {
  /** RFC 3339. */
  deadline?: string
  headers: Record<string, string>
  waitUntil(work: Promise<unknown>): void
}

const contexts = new AsyncLocalStorage<Context>()

/** As the platform has it: whoever runs inside a request finds its context there. */
function offerContext(): void {
  const holder = { get: () => contexts.getStore() }
  Object.defineProperty(globalThis, Symbol.for('@vercel/request-context'), { value: holder, configurable: true })
}

export async function startPlatform(options: PlatformOptions): Promise<Platform> {
  offerContext()
  let pending = 0
  const server = createServer((incoming, response) => {
    serve(options, incoming, response, (change) => {
      pending += change
    }).catch((error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
      if (response.headersSent) response.destroy()
      else refuse(response, 500, 'FUNCTION_INVOCATION_FAILED')
    })
  })
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    pending: () => pending,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function serve(
  options: PlatformOptions,
  incoming: IncomingMessage,
  response: ServerResponse,
  count: (change: number) => void,
): Promise<void> {
  const url = new URL(incoming.url ?? '/', 'http://loopback')
  setHeaders(options.settings, url.pathname, response)
  if (await serveStatic(options.staticFolder, url.pathname, incoming, response)) return
  const load = async (path: string) => {
    const name = path.slice(1).replace(/\/$/, '').replace(/\.ts$/, '')
    return { name, found: /^api(\/[A-Za-z0-9-]+)+$/.test(name) ? await options.load(name) : undefined }
  }
  // What is there is never rewritten.
  const direct = await load(url.pathname)
  const rewritten = direct.found ? url : rewrite(options.settings, url)
  const { name, found } = direct.found ? direct : await load(rewritten.pathname)
  if (!found) return refuse(response, 404, 'NOT_FOUND')
  const body = await readBody(incoming)
  if (body === undefined) return refuse(response, 413, 'FUNCTION_PAYLOAD_TOO_LARGE')
  const seconds = options.settingsOf(name).maxDuration ?? 300
  const said = options.deadline ?? { inSeconds: seconds }
  const { supportsCancellation = false } = options.settingsOf(name)
  await invoke(found, { seconds, said, supportsCancellation }, { incoming, response, url, rewritten, body }, count)
}

interface Limits {
  seconds: number
  said: SaidDeadline
  supportsCancellation: boolean
}

interface Call {
  incoming: IncomingMessage
  response: ServerResponse
  url: URL
  rewritten: URL
  body: Buffer
}

async function invoke(
  found: LoadedFunction,
  { seconds, said, supportsCancellation }: Limits,
  call: Call,
  count: (change: number) => void,
): Promise<void> {
  const { response } = call
  const started = Date.now()
  const abort = new AbortController()
  response.on('close', () => {
    if (!response.writableFinished && supportsCancellation) abort.abort()
  })
  let request: Request
  try {
    request = requestOf(call, abort.signal)
  } catch {
    // TRACE and the like, which no Request can be.
    return refuse(response, 405, 'METHOD_NOT_ALLOWED')
  }
  const context: Context = {
    ...(said === 'absent' ? {} : { deadline: new Date(started + said.inSeconds * 1_000).toISOString() }),
    headers: Object.fromEntries(request.headers),
    waitUntil(work) {
      if (typeof (work as Promise<unknown> | undefined)?.then !== 'function')
        throw new TypeError('waitUntil wants a promise')
      count(1)
      void work.finally(() => count(-1)).catch(() => undefined)
    },
  }
  const answered = contexts.run(context, async () => found.fetch(request))
  const out = await within(answered, seconds * 1_000)
  if (out === undefined) return refuse(response, 504, 'FUNCTION_INVOCATION_TIMEOUT')
  await send(out, call, started + seconds * 1_000)
}

function within<T>(work: Promise<T>, milliseconds: number): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(undefined), milliseconds)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** The function sees the address as it was asked for, with what the rewrite added to its query. */
function requestOf({ incoming, url, rewritten, body }: Call, signal: AbortSignal): Request {
  const address = new URL(`http://${incoming.headers.host ?? 'loopback'}${url.pathname}${url.search}`)
  for (const [key, value] of rewritten.searchParams)
    if (!address.searchParams.has(key)) address.searchParams.append(key, value)
  const headers = new Headers()
  for (let at = 0; at < incoming.rawHeaders.length; at += 2) {
    const [name, value] = [incoming.rawHeaders[at]!, incoming.rawHeaders[at + 1]!]
    if (!/^(connection|transfer-encoding|keep-alive|upgrade|expect)$/i.test(name)) headers.append(name, value)
  }
  const method = incoming.method ?? 'GET'
  const withBody = method !== 'GET' && method !== 'HEAD'
  return new Request(address, { method, headers, signal, ...(withBody ? { body: new Uint8Array(body) } : {}) })
}

async function send(out: Response, { response, incoming }: Call, deadline: number): Promise<void> {
  const headers: Record<string, string | string[]> = {}
  for (const [name, value] of out.headers) headers[name] = value
  response.writeHead(out.status, headers)
  if (!out.body || incoming.method === 'HEAD') {
    response.end()
    return
  }
  response.flushHeaders()
  const body = Readable.fromWeb(out.body as Parameters<typeof Readable.fromWeb>[0])
  // Whatever is not sent by then is cut.
  const timer = setTimeout(() => body.destroy(), Math.max(0, deadline - Date.now()))
  response.on('close', () => {
    clearTimeout(timer)
    body.destroy()
  })
  body.on('error', () => response.destroy())
  body.pipe(response)
}

async function readBody(incoming: IncomingMessage): Promise<Buffer | undefined> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of incoming) {
    size += (piece as Buffer).length
    if (size <= mostBytes) pieces.push(piece as Buffer)
  }
  return size > mostBytes ? undefined : Buffer.concat(pieces)
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'x-vercel-error': code })
  response.end(`${code}\n`)
}

function setHeaders(settings: PlatformSettings, path: string, response: ServerResponse): void {
  for (const rule of settings.headers) {
    if (!new RegExp(`^${rule.source}$`).test(path)) continue
    for (const { key, value } of rule.headers) response.setHeader(key, value)
  }
}

/** `:name` stands for one segment of the path. */
function rewrite(settings: PlatformSettings, url: URL): URL {
  for (const { source, destination } of settings.rewrites) {
    const match = new RegExp(`^${source.replace(/:([a-z]+)/g, '(?<$1>[^/]+)')}$`).exec(url.pathname)
    if (!match) continue
    const target = destination.replace(/:([a-z]+)/g, (_all, name: string) => match.groups?.[name] ?? '')
    const rewritten = new URL(target, url)
    for (const [key, value] of url.searchParams) rewritten.searchParams.append(key, value)
    return rewritten
  }
  return url
}

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
}

async function serveStatic(
  folder: string,
  path: string,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  if (incoming.method !== 'GET' && incoming.method !== 'HEAD') return false
  let plain: string
  try {
    plain = normalize(decodeURIComponent(path))
  } catch {
    return false
  }
  if (plain.includes('..') || plain.includes('\0')) return false
  const file = join(folder, plain.endsWith('/') ? `${plain}index.html` : plain)
  const found = await stat(file).catch(() => undefined)
  if (!found?.isFile()) return false
  response.writeHead(200, {
    'content-type': types[extname(file)] ?? 'application/octet-stream',
    'cache-control': 'public, max-age=0, must-revalidate',
  })
  response.end(incoming.method === 'HEAD' ? undefined : await readFile(file))
  return true
}
