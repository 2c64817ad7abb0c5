// What the scenarios of this test file let out, and the one watch that looks for secrets in it.
import type { ChildProcess } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ClientRequest } from 'node:http'
import { type RecordedRequest, witnessRequests } from '../../src/emulators/faulty-server.js'
import { type SecretWatch, watchSecrets } from './secret-watch.js'

/** For kits: what no stand-in and no HTTP client gets to see. */
export const secretWatch = watchSecrets()

interface HttpRequest {
  origin: string | URL
  method: string
  path: string
  headers: string[] | string
}

/** Listens to the stand-ins, to every HTTP client of this process and to the processes it starts. Returns how to stop. */
export function listen(watch: SecretWatch = secretWatch): () => void {
  const standIns = new Set<string>()
  const answers = new WeakMap<HttpRequest, Buffer[]>()
  const isStandIn = ({ origin }: HttpRequest) => standIns.has(new URL(origin).host)

  const stopWitness = witnessRequests((server: string, request: RecordedRequest) => {
    standIns.add(request.headers['host'] ?? '')
    watch.addRequest(server, request)
  })
  const channels: Record<string, (message: never) => void> = {
    'undici:request:create': ({ request }: { request: HttpRequest }) => watch.addHeaders(headersOf(request)),
    'http.client.request.created': ({ request }: { request: ClientRequest }) =>
      watch.addHeaders(request.getHeaders() as Record<string, string>),
    'undici:request:bodyChunkReceived': ({ request, chunk }: { request: HttpRequest; chunk: Uint8Array }) => {
      if (isStandIn(request)) return
      const pieces = answers.get(request) ?? []
      answers.set(request, pieces)
      pieces.push(Buffer.from(chunk))
    },
    'undici:request:trailers': ({ request }: { request: HttpRequest }) => take(request),
    'undici:request:error': ({ request }: { request: HttpRequest }) => take(request),
    child_process: ({ process: child }: { process: ChildProcess }) => {
      child.once('spawn', () => watch.addText('a command line', child.spawnargs.join(' ')))
    },
  }
  const take = (request: HttpRequest) => {
    const pieces = answers.get(request)
    answers.delete(request)
    if (pieces) watch.addText(`the answer to ${request.method} ${request.path}`, Buffer.concat(pieces).toString())
  }
  for (const [name, handler] of Object.entries(channels)) subscribe(name, handler as never)
  return () => {
    stopWitness()
    for (const [name, handler] of Object.entries(channels)) unsubscribe(name, handler as never)
  }
}

function headersOf({ headers }: HttpRequest): Record<string, string> {
  const list = Array.isArray(headers)
    ? headers
    : headers.split('\r\n').flatMap((line) => line.split(/: (.*)/).slice(0, 2))
  return Object.fromEntries(
    list.flatMap((name, index) => (index % 2 === 0 ? [[name.toLowerCase(), list[index + 1] ?? '']] : [])),
  )
}
