// Serves the page and the functions over HTTP, as vercel.json describes them: the static page first, then the functions, then the rewrites. Each
// request has a context, a limit on its body and on its time, and a client that may go away. One process serves many requests at once.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ServerStopping } from '../http/request-deadline.js'
import { type ReceivedRequest, readBody, send, toRequest } from './messages.js'
import type { FunctionSettings, PlatformSettings } from './platform-settings.js'
import { headersFor, rewrite } from './platform-settings.js'
import { maximumBodyBytes, problem, type ServerError, type ServerErrorCode } from './refusals.js'
import { installContexts, type PlatformContext, runInContext } from './request-context.js'
import { serveStatic } from './static-files.js'

export interface ServedFunction {
  fetch(request: Request): Promise<Response>
}

export interface ServerOptions {
  settings: PlatformSettings
  /** The folder of the page. */
  staticFolder: string
  /** Loads a function (`api/ask`) when it is first asked for; undefined when there is none. */
  load(name: string): Promise<ServedFunction | undefined>
  settingsOf(name: string): FunctionSettings
  host: string
  port: number
  /** Formats errors of the server itself; problem documents when absent. */
  refusal?: (kind: ServerErrorCode) => ServerError
  /** What a request's context says of its deadline, so many seconds from its beginning; the function's own limit when absent. */
  deadline?: { inSeconds: number } | 'absent'
}

export interface RunningServer {
  url: string
  /** Unfinished work of `waitUntil`. */
  pending(): number
  /** Accepts no more requests and waits for the running ones. True if all ended in time. */
  stop(milliseconds: number): Promise<boolean>
  /** Drops every connection. */
  close(): Promise<void>
}

/** A request, and the work behind it, until both are over. */
interface Invocation {
  /** Kept in a strong reference: a collected request would not see that the server stops. */
  request: Request
  stop(reason: ServerStopping): void
  over: Promise<void>
}

/** Longer than the keep-alive of common proxies, so that no proxy sends a request over a closing connection. */
const keepAliveMs = 65_000

/** Half of the usual 1,024 descriptors; the others are for the server's own calls. */
const mostConnections = 512

/** Where vercel.json says nothing. */
const defaultSeconds = 300

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  installContexts()
  const invocations = new Set<Invocation>()
  let pending = 0
  let stopping = false
  const server = createServer((incoming, response) => {
    handle(incoming, response).catch((error: unknown) => {
      // A client that disconnects is no error.
      if (response.destroyed || response.headersSent) return void response.destroy()
      process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
      refuse(response, 'internal')
    })
  })
  let connections = 0
  server.on('connection', (socket) => {
    connections += 1
    socket.once('close', () => {
      connections -= 1
    })
  })
  server.keepAliveTimeout = keepAliveMs
  server.headersTimeout = keepAliveMs + 1_000

  function refuse(response: ServerResponse, kind: ServerErrorCode): void {
    const { status, headers, body } = (options.refusal ?? problem)(kind)
    response.writeHead(status, headers)
    response.end(body)
  }

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(`http://localhost${incoming.url?.startsWith('/') ? incoming.url : '/'}`)
    for (const { key, value } of headersFor(options.settings, url.pathname)) response.setHeader(key, value)
    if (stopping || connections > mostConnections) {
      response.setHeader('connection', 'close')
      return refuse(response, stopping ? 'stopping' : 'busy')
    }
    if (await serveStatic(options.staticFolder, url.pathname, incoming, response)) return
    const { name, found, rewritten } = await route(url)
    if (!found) return refuse(response, 'not-found')
    const body = await readBody(incoming, maximumBodyBytes)
    if (stopping) return refuse(response, 'stopping')
    if (body === undefined) return refuse(response, 'payload-too-large')
    await invoke(found, options.settingsOf(name), { incoming, response, url, rewritten, body })
  }

  /** An existing file is never rewritten. */
  async function route(url: URL) {
    const load = async (path: string) => {
      const name = path.slice(1).replace(/\/$/, '').replace(/\.ts$/, '')
      return { name, found: /^api(\/[A-Za-z0-9-]+)+$/.test(name) ? await options.load(name) : undefined }
    }
    const direct = await load(url.pathname)
    if (direct.found) return { ...direct, rewritten: url }
    const rewritten = rewrite(options.settings, url)
    return { ...(await load(rewritten.pathname)), rewritten }
  }

  async function invoke(found: ServedFunction, settings: FunctionSettings, call: ReceivedRequest): Promise<void> {
    const { response } = call
    const { maxDuration: seconds = defaultSeconds, supportsCancellation = false } = settings
    const started = Date.now()
    const abort = new AbortController()
    response.on('close', () => {
      if (!response.writableFinished && supportsCancellation) abort.abort()
    })
    let request: Request
    try {
      request = toRequest(call, abort.signal)
    } catch {
      // TRACE and the like, which no Request can be.
      return refuse(response, 'method-not-allowed')
    }
    const works: Promise<unknown>[] = []
    const answering = runInContext(contextOf(request, started, seconds, works), async () => found.fetch(request))
    const answered = deliver(answering, call, started + seconds * 1_000)
    const invocation = {
      request,
      stop: (reason: ServerStopping) => abort.abort(reason),
      over: waitForAll(answered, works),
    }
    invocations.add(invocation)
    void invocation.over.then(() => invocations.delete(invocation))
    await answered
  }

  function contextOf(request: Request, started: number, seconds: number, works: Promise<unknown>[]): PlatformContext {
    const said = options.deadline ?? { inSeconds: seconds }
    return {
      ...(said === 'absent' ? {} : { deadline: new Date(started + said.inSeconds * 1_000).toISOString() }),
      headers: Object.fromEntries(request.headers),
      waitUntil(work) {
        if (typeof (work as Promise<unknown> | undefined)?.then !== 'function')
          throw new TypeError('waitUntil wants a promise')
        pending += 1
        const done = () => {
          pending -= 1
        }
        works.push(work.then(done, done))
      },
    }
  }

  async function deliver(answering: Promise<Response>, call: ReceivedRequest, deadline: number): Promise<void> {
    const out = await within(answering, deadline - Date.now())
    if (out === undefined) return refuse(call.response, 'timeout')
    await send(out, call, deadline)
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host, resolve)
  })
  return {
    url: serverUrl(server.address() as AddressInfo),
    pending: () => pending,
    async stop(milliseconds) {
      stopping = true
      server.close()
      const reason = new ServerStopping(Date.now() + milliseconds)
      const running = [...invocations]
      for (const { stop } of running) stop(reason)
      const all = Promise.all(running.map(({ over }) => over)).then(() => true)
      const inTime = await within(all, milliseconds)
      server.closeAllConnections()
      return inTime ?? false
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Work may add more work. Never rejects. */
async function waitForAll(answered: Promise<void>, works: Promise<unknown>[]): Promise<void> {
  // Whatever became of the reply, its work goes on.
  await answered.catch(() => undefined)
  for (let seen = 0; seen < works.length; ) {
    seen = works.length
    await Promise.all(works)
  }
}

/** Undefined when it takes longer. */
function within<T>(work: Promise<T>, milliseconds: number): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(undefined), Math.max(0, milliseconds))
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** The address for this machine. */
function serverUrl({ address, family, port }: AddressInfo): string {
  const host = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address
  return `http://${family === 'IPv6' ? `[${host}]` : host}:${port}`
}
