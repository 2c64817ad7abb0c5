// The page before the real functions: the sources of api/, called as the platform calls them, on the local clouds.
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { token } from './content.js'

const root = join(import.meta.dirname, '../..')

interface Deployment {
  rewrites: { source: string; destination: string }[]
  headers: { headers: { key: string; value: string }[] }[]
}

export interface ServedFunctions extends AsyncDisposable {
  url: string
}

export async function serveFunctions(settings: Record<string, string>): Promise<ServedFunctions> {
  const sha256 = createHash('sha256').update(token).digest('hex')
  Object.assign(process.env, settings, { HANDOFF_BEARERS: `page=${sha256}=octo/*` })
  const deployment = JSON.parse(await readFile(join(root, 'vercel.json'), 'utf8')) as Deployment
  const headers = deployment.headers.flatMap((entry) => entry.headers)
  const server = createServer((incoming, outgoing) => {
    for (const { key, value } of headers) outgoing.setHeader(key, value)
    const path = new URL(incoming.url ?? '/', 'http://localhost').pathname
    const work = path.startsWith('/api/') ? callFunction(incoming, outgoing, deployment) : sendFile(path, outgoing)
    void work.catch((error: unknown) => outgoing.writeHead(500).end(String(error)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function callFunction(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { rewrites }: Deployment,
): Promise<void> {
  const url = rewritten(new URL(incoming.url!, 'http://localhost'), rewrites)
  const { default: served } = (await import(join(root, `${url.pathname.slice(1)}.ts`))) as {
    default: { fetch(request: Request): Promise<Response> }
  }
  const leaving = new AbortController()
  outgoing.on('close', () => leaving.abort())
  const { method = 'GET' } = incoming
  const body = method === 'GET' ? null : Buffer.concat(await incoming.toArray())
  const request = new Request(url, {
    method,
    body,
    headers: incoming.headers as Record<string, string>,
    signal: leaving.signal,
  })
  const response = await served.fetch(request)
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  if (response.body)
    Readable.fromWeb(response.body as never)
      .on('error', () => outgoing.destroy())
      .pipe(outgoing)
  else outgoing.end()
}

function rewritten(url: URL, rewrites: Deployment['rewrites']): URL {
  for (const { source, destination } of rewrites) {
    const names = [...source.matchAll(/:(\w+)/g)].map((match) => match[1]!)
    const values = new RegExp(`^${source.replace(/:\w+/g, '([^/]+)')}$`).exec(url.pathname)?.slice(1)
    if (!values) continue
    const target = new URL(
      names.reduce((text, name, index) => text.replace(`:${name}`, values[index]!), destination),
      url,
    )
    for (const [key, value] of url.searchParams) target.searchParams.append(key, value)
    return target
  }
  return url
}

const types: Record<string, string> = {
  html: 'text/html',
  js: 'text/javascript',
  css: 'text/css',
  svg: 'image/svg+xml',
}

async function sendFile(path: string, outgoing: ServerResponse): Promise<void> {
  const name = path === '/' ? '/index.html' : path
  const body = await readFile(join(root, 'api/_web', name))
  outgoing.writeHead(200, { 'content-type': types[name.slice(name.lastIndexOf('.') + 1)] ?? 'text/plain' }).end(body)
}
