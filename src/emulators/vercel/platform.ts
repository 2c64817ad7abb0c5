// Vercel around a function, on loopback: the server of the service, with Vercel's words where no function speaks.
import type { ServerError, ServerErrorCode } from '../../service/server/refusals.js'
import { type RunningServer, type ServerOptions, startServer } from '../../service/server/server.js'

const codes: Record<Exclude<ServerErrorCode, 'stopping'>, [number, string]> = {
  'not-found': [404, 'NOT_FOUND'],
  'method-not-allowed': [405, 'METHOD_NOT_ALLOWED'],
  'payload-too-large': [413, 'FUNCTION_PAYLOAD_TOO_LARGE'],
  timeout: [504, 'FUNCTION_INVOCATION_TIMEOUT'],
  internal: [500, 'FUNCTION_INVOCATION_FAILED'],
  busy: [503, 'FUNCTION_THROTTLED'],
}

function refusal(kind: ServerErrorCode): ServerError {
  if (kind === 'stopping') throw new Error('Vercel ends an instance, and does not stop it.')
  const [status, code] = codes[kind]
  return {
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'x-vercel-error': code },
    body: `${code}\n`,
  }
}

/** What the context of each request says of its deadline, where that is not the function's own limit. */
export type SaidDeadline = NonNullable<ServerOptions['deadline']>

type PlatformOptions = Omit<ServerOptions, 'host' | 'refusal'>

export const startPlatform = (options: PlatformOptions): Promise<RunningServer> =>
  startServer({ ...options, host: '127.0.0.1', refusal })
