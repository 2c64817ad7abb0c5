// One request over `fetch` whose whole reply is text: with a timeout, an abort and a limit of the reply. No redirect is followed unless asked for.
import { errorCode } from '../domain/errors.js'
import { limited } from './abort.js'

interface TextRequest extends Omit<RequestInit, 'signal'> {
  signal?: AbortSignal
  /** From the first byte sent to the last byte read. */
  timeoutMs: number
  /** A longer reply is an error; 4 MB when absent. */
  maxBytes?: number
}

interface TextReply {
  status: number
  headers: Headers
  text: string
}

export class ReplyTooLong extends Error {}

export async function fetchText(url: string | URL, request: TextRequest): Promise<TextReply> {
  const { signal, timeoutMs, maxBytes, ...init } = request
  using limit = limited(signal, timeoutMs)
  const response = await fetch(url, { redirect: 'error', ...init, signal: limit.signal })
  return { status: response.status, headers: response.headers, text: await readText(response, maxBytes) }
}

export const readText = async (response: Response, maxBytes?: number): Promise<string> =>
  (await readBytes(response, maxBytes)).toString()

/** The whole body. Leaving the loop closes the connection. */
export async function readBytes(response: Response, maxBytes = 4_000_000): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of response.body ?? []) {
    size += piece.length
    if (size > maxBytes) throw new ReplyTooLong(`The reply has more than ${maxBytes} bytes.`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

/** Why no reply came, in words that hold no address and no header. */
export function connectionProblem(error: unknown): string | undefined {
  return error instanceof Error && error.name === 'TimeoutError' ? 'no answer in time' : errorCode(error)
}
