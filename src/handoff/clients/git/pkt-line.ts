// git's packet lines: four hexadecimal digits of length, then the content. 0000 to 0002 are markers without content.

type Packet = { mark: 'flush' | 'delimiter' | 'end' } | { line: string }

export const flush = '0000'
export const delimiter = '0001'

export function packet(line: string): string {
  const length = new TextEncoder().encode(line).length + 4
  return length.toString(16).padStart(4, '0') + line
}

/** The body is not packet lines, or ends in the middle of one. */
export class NotPackets extends Error {}

/** Yields packets as they arrive, so that a long listing is never in memory as a whole. */
export async function* readPackets(body: AsyncIterable<Uint8Array>): AsyncIterable<Packet> {
  let waiting: Uint8Array = new Uint8Array()
  for await (const chunk of body) {
    waiting = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk])
    let at = 0
    while (waiting.length - at >= 4) {
      const length = lengthAt(waiting, at)
      if (waiting.length - at < Math.max(4, length)) break
      yield length < 4 ? { mark: marks[length]! } : { line: text(waiting.subarray(at + 4, at + length)) }
      at += Math.max(4, length)
    }
    waiting = waiting.subarray(at)
  }
  if (waiting.length > 0) throw new NotPackets('the answer ends in the middle of a packet')
}

const marks = ['flush', 'delimiter', 'end'] as const

function lengthAt(bytes: Uint8Array, at: number): number {
  const digits = text(bytes.subarray(at, at + 4))
  const length = /^[0-9a-f]{4}$/i.test(digits) ? Number.parseInt(digits, 16) : Number.NaN
  if (Number.isNaN(length) || length === 3) throw new NotPackets('the answer is not in packets')
  return length
}

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).replace(/\n$/, '')
