// Which drive9 program is installed: its address, and what the download must hash to.
import { HandoffError } from '../../domain/errors.js'
import { asOurs } from './sdk-calls.js'
import type { ProgramSource } from './settings.js'

export interface Program {
  url: string
  sha256: string
}

const patienceMs = 20_000
const longestList = 100_000

/** The pinned hash, or the one in the publisher's checksums.txt beside the program. */
export async function publishedProgram({ url, sha256 }: ProgramSource, signal: AbortSignal): Promise<Program> {
  if (sha256 !== undefined) return { url, sha256 }
  const list = new URL('checksums.txt', url).href
  const name = decodeURIComponent(new URL(url).pathname.split('/').at(-1) ?? '')
  const text = await asOurs(signal, `Reading ${list}`, () => readList(list, signal))
  const line = text.split('\n').find((entry) => entry.trim().split(/\s+\*?/)[1] === name)
  const found = line?.trim().split(/\s+/)[0]?.toLowerCase()
  if (found !== undefined && /^[0-9a-f]{64}$/.test(found)) return { url, sha256: found }
  throw unusable(list, `it has no sha256 of ${name}`)
}

async function readList(list: string, signal: AbortSignal): Promise<string> {
  try {
    const answer = await fetch(list, { signal: AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]) })
    if (!answer.ok) throw unusable(list, `it answers with HTTP ${answer.status}`)
    const bytes: Uint8Array[] = []
    let length = 0
    for await (const piece of answer.body ?? []) {
      bytes.push(piece)
      length += piece.length
      if (length > longestList) throw unusable(list, 'it is too long for a list of checksums')
    }
    return Buffer.concat(bytes).toString()
  } catch (error) {
    if (signal.aborted || error instanceof HandoffError) throw error
    throw unusable(list, 'it cannot be reached', error)
  }
}

function unusable(list: string, why: string, cause?: unknown): HandoffError {
  return new HandoffError('sandbox', `The drive9 program cannot be checked against ${list}: ${why}.`, {
    cause,
    next: 'Try again, or set DRIVE9_BINARY_URL and DRIVE9_BINARY_SHA256 to a program and its sha256.',
  })
}
