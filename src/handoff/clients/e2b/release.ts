// Which drive9 program is installed: its address, and what the download must hash to.
import { HandoffError } from '../../domain/errors.js'
import type { ProgramSource } from '../../domain/settings.js'
import { fetchText, ReplyTooLong } from '../../util/http.js'
import { asOurs } from './sdk-calls.js'

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
  const request = { redirect: 'follow', timeoutMs: patienceMs, maxBytes: longestList, signal } as const
  const { status, text } = await fetchText(list, request).catch((error: unknown) => {
    if (signal.aborted) throw error
    const why = error instanceof ReplyTooLong ? 'it is too long for a list of checksums' : 'it cannot be reached'
    throw unusable(list, why, error)
  })
  if (status >= 200 && status < 300) return text
  throw unusable(list, `it answers with HTTP ${status}`)
}

function unusable(list: string, why: string, cause?: unknown): HandoffError {
  return new HandoffError('sandbox', `The drive9 program cannot be checked against ${list}: ${why}.`, {
    cause,
    next: 'Try again, or set DRIVE9_BINARY_URL and DRIVE9_BINARY_SHA256 to a program and its sha256.',
  })
}
