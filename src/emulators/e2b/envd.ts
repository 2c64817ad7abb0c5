// The edge: finds the machine that a request is for and hands the request to envd there, which answers here too.
import type { ServerResponse } from 'node:http'
import { json, type RecordedRequest, type Reply } from '../faulty-server.js'
import { signalCommand, startCommand } from './commands.js'
import { Refusal } from './connect-protocol.js'
import type { EnvdRequest, LocalSandbox } from './sandbox.js'
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
  const { pathname } = new URL(request.path, 'http://envd')
  if (request.method === 'GET' && pathname === '/health') return { status: 204 }
  if (request.headers['x-access-token'] !== sandbox.accessToken)
    throw new Refusal(401, 'unauthorized access, please provide a valid access token or method signing if supported')
  const call = calls[pathname]
  if (call) return call({ sandbox, user: userOf(request), request, response })
  const what = `the local cloud's envd does not know ${request.method} ${pathname}`
  throw new Refusal(pathname.includes('.') ? 'unimplemented' : 501, what)
}

const calls: Record<string, (asked: EnvdRequest) => Promise<Reply | undefined> | Reply> = {
  '/process.Process/Start': startCommand,
  '/process.Process/SendSignal': signalCommand,
}

function userOf({ headers }: RecordedRequest): UserName {
  const [, basic = ''] = /^Basic (.+)$/.exec(headers['authorization'] ?? '') ?? []
  const [name] = Buffer.from(basic, 'base64').toString('utf8').split(':')
  const user = name || 'user'
  if (user === 'user' || user === 'root') return user
  throw new Refusal('unauthenticated', `invalid username: '${user}'`)
}
