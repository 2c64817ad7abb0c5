// The edge: finds the machine that a request is for and hands the request to envd there, which answers here too.
import type { ServerResponse } from 'node:http'
import { json, type RecordedRequest, type Reply } from '../faulty-server.js'
import { closeInput, feedCommand, joinCommand, listCommands, signalCommand, startCommand } from './commands.js'
import { Refusal } from './connect-protocol.js'
import { callFileSystem, readWholeFile, writeWholeFiles } from './files.js'
import { type EnvdRequest, environmentOf, type LocalSandbox } from './sandbox.js'
import type { UserName } from './sandbox-directory.js'

interface Destination {
  id: string
  port: number
}

const envdPort = 49_983

/** From the SDK's headers, or from a host name such as `49983-<id>.example`; nothing when the request is for the control plane. */
export function destinationOf({ headers }: RecordedRequest): Destination | undefined {
  const id = headers['e2b-sandbox-id']
  if (id) return { id, port: Number(headers['e2b-sandbox-port'] ?? envdPort) }
  const host = /^(\d+)-([a-z0-9]+)\./.exec(headers['host'] ?? '')
  return host ? { port: Number(host[1]), id: host[2] ?? '' } : undefined
}

export async function serveEdge(
  sandbox: LocalSandbox | undefined,
  { id, port }: Destination,
  request: RecordedRequest,
  response: ServerResponse,
): Promise<Reply | undefined> {
  if (sandbox?.state !== 'running' || port !== envdPort)
    return json(502, { sandboxId: id, message: 'The sandbox was not found', code: 502 })
  const { pathname, searchParams } = new URL(request.path, 'http://envd')
  if (request.method === 'GET' && pathname === '/health') return { status: 204 }
  if (request.headers['x-access-token'] !== sandbox.accessToken)
    throw new Refusal(401, 'unauthorized access, please provide a valid access token or method signing if supported')
  const call = /^\/[a-z]+\.[A-Z]\w+\/\w+$/.test(pathname)
  const user = call ? knownUser(basicUser(request), 'unauthenticated') : knownUser(searchParams.get('username'), 401)
  const asked = { sandbox, user, request, response }
  return call ? serveCall(pathname.slice(1), asked) : serveFiles(pathname, searchParams, asked)
}

async function serveFiles(pathname: string, query: URLSearchParams, asked: EnvdRequest): Promise<Reply> {
  const what = `${asked.request.method} ${pathname}`
  if (what === 'GET /files') return readWholeFile(asked, query.get('path') ?? '')
  if (what === 'POST /files') return writeWholeFiles(asked, query.get('path'))
  if (what === 'GET /envs') return json(200, environmentOf(asked.sandbox, asked.user, {}))
  throw new Refusal(501, `the local cloud's envd does not know ${what}`)
}

const calls: Record<string, (asked: EnvdRequest) => Promise<Reply | undefined> | Reply> = {
  'process.Process/Start': startCommand,
  'process.Process/Connect': joinCommand,
  'process.Process/List': listCommands,
  'process.Process/SendInput': feedCommand,
  'process.Process/CloseStdin': closeInput,
  'process.Process/SendSignal': signalCommand,
}

async function serveCall(name: string, asked: EnvdRequest): Promise<Reply | undefined> {
  const call = calls[name]
  if (call) return call(asked)
  const [service, method = ''] = name.split('/')
  const reply = service === 'filesystem.Filesystem' ? await callFileSystem(method, asked) : undefined
  if (reply) return reply
  throw new Refusal('unimplemented', `the local cloud does not know ${name}`)
}

function basicUser({ headers }: RecordedRequest): string | null {
  const basic = /^Basic (.+)$/.exec(headers['authorization'] ?? '')
  return basic
    ? (Buffer.from(basic[1] ?? '', 'base64')
        .toString('utf8')
        .split(':')[0] ?? '')
    : null
}

function knownUser(name: string | null, refusal: 401 | 'unauthenticated'): UserName {
  const user = name || 'user'
  if (user === 'user' || user === 'root') return user
  throw new Refusal(refusal, `invalid username: '${user}'`)
}
