// Errors that the server itself responds with.

export type ServerErrorCode =
  | 'not-found'
  | 'method-not-allowed'
  | 'payload-too-large'
  | 'timeout'
  | 'internal'
  | 'busy'
  | 'stopping'

export interface ServerError {
  status: number
  headers: Record<string, string>
  body: string
}

/** The body limit of Vercel. */
export const maximumBodyBytes = 4_500_000

const messages: Record<
  ServerErrorCode,
  { status: number; title: string; detail: string; next?: string; wait?: number }
> = {
  'not-found': { status: 404, title: 'Not found', detail: 'There is nothing at this address.' },
  'method-not-allowed': { status: 405, title: 'Method not allowed', detail: 'No address here takes this method.' },
  'payload-too-large': {
    status: 413,
    title: 'The request is too large',
    detail: `The body may have ${maximumBodyBytes.toLocaleString('en-US')} bytes.`,
  },
  timeout: { status: 504, title: 'Out of time', detail: 'The request took longer than it may.', wait: 10 },
  internal: {
    status: 500,
    title: 'Internal error',
    detail: 'Something went wrong inside handoff.',
    next: 'Look into the log of the server for the time of this request.',
  },
  busy: {
    status: 503,
    title: 'Not available now',
    detail: 'This server has as many connections as it takes at once.',
    next: 'Try again.',
    wait: 5,
  },
  stopping: { status: 503, title: 'Not available now', detail: 'This server stops.', next: 'Try again.', wait: 10 },
}

/** A problem document (RFC 9457), as the functions answer too. */
export function problem(code: ServerErrorCode): ServerError {
  const { status, title, detail, next, wait } = messages[code]
  const document = { type: 'about:blank', title, status, detail, next, code }
  return {
    status,
    headers: {
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      ...(wait === undefined ? {} : { 'retry-after': String(wait) }),
    },
    body: `${JSON.stringify(document)}\n`,
  }
}
