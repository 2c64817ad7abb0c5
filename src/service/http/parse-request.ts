// Parses requests strictly. An invalid request gets the right status before any other work.
import { HttpError } from './problem-details.js'

export type Mode = 'json' | 'events' | 'async'

/** Reads the response format from `Accept`. An unsupported one is 406. */
export function negotiate(request: Request): Mode {
  const accepted = acceptedTypes(request.headers.get('accept') ?? '*/*')
  const best = ['application/json', 'text/event-stream']
    .map((type) => ({ type, weight: weightOf(accepted, type) }))
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)[0]
  if (!best) {
    throw new HttpError(406, 'not-acceptable', 'Answers come as application/json or text/event-stream.', {
      next: 'Send one of them in Accept.',
    })
  }
  if (best.type === 'text/event-stream') return 'events'
  return /(^|[,;\s])respond-async($|[,;\s])/i.test(request.headers.get('prefer') ?? '') ? 'async' : 'json'
}

/** For addresses that respond with JSON only. */
export function wantJson(request: Request): void {
  const accepted = acceptedTypes(request.headers.get('accept') ?? '*/*')
  if (weightOf(accepted, 'application/json') > 0) return
  throw new HttpError(406, 'not-acceptable', 'This address answers with application/json.')
}

interface Accepted {
  type: string
  weight: number
}

function acceptedTypes(header: string): Accepted[] {
  return header.split(',').map((part) => {
    const [type = '', ...parameters] = part.split(';').map((one) => one.trim().toLowerCase())
    const quality = parameters.find((one) => one.startsWith('q='))?.slice(2)
    const weight = quality === undefined ? 1 : Number(quality)
    return { type, weight: Number.isFinite(weight) ? Math.min(1, Math.max(0, weight)) : 0 }
  })
}

/** The most specific range that matches the type decides. */
function weightOf(accepted: Accepted[], type: string): number {
  const ranges = [type, `${type.split('/')[0]}/*`, '*/*']
  for (const range of ranges) {
    const found = accepted.find((one) => one.type === range)
    if (found) return found.weight
  }
  return 0
}

/** Reads a body of at most `most` bytes. A longer one is rejected while it is being sent. */
export async function readBody(request: Request, most: number): Promise<Buffer> {
  if (Number(request.headers.get('content-length') ?? '0') > most) throw tooLarge(most)
  const pieces: Uint8Array[] = []
  let size = 0
  const reader = request.body?.getReader()
  try {
    for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
      size += piece.value.length
      if (size > most) throw tooLarge(most)
      pieces.push(piece.value)
    }
  } catch (error) {
    if (error instanceof HttpError) throw error
    throw new HttpError(400, 'invalid-input', 'The body broke off.')
  } finally {
    void reader?.cancel().catch(() => undefined)
  }
  return Buffer.concat(pieces)
}

function tooLarge(most: number): HttpError {
  return new HttpError(413, 'payload-too-large', `The body may have ${most.toLocaleString('en-US')} bytes.`)
}

export function wantJsonBody(request: Request): void {
  const type = (request.headers.get('content-type') ?? '').split(';')[0]!.trim().toLowerCase()
  const encoding = request.headers.get('content-encoding')
  if ((type === 'application/json' || type.endsWith('+json')) && (encoding === null || encoding === 'identity')) return
  throw new HttpError(415, 'unsupported-media-type', 'The body is to be application/json, not compressed.', {
    headers: { accept: 'application/json' },
  })
}

export function parseJson(body: Buffer): unknown {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    throw new HttpError(400, 'invalid-input', 'The body is not UTF-8.')
  }
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new HttpError(400, 'invalid-input', 'The body is not JSON.')
  }
}

export function wrong(detail: string, next?: string): HttpError {
  return new HttpError(400, 'invalid-input', detail, { next })
}

/** Reads the `Idempotency-Key`, with or without quotes. */
export function idempotencyKey(request: Request): string | undefined {
  const header = request.headers.get('idempotency-key')
  if (header === null) return undefined
  const key = /^"(.*)"$/.exec(header)?.[1] ?? header
  if (/^[\x21-\x7e]{1,255}$/.test(key)) return key
  throw wrong('The Idempotency-Key is not 1 to 255 visible characters.')
}
