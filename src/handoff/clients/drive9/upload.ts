// Writes a file of any size, with or without a condition, and finds out whether a write whose answer was lost was executed.
//
// A small file is one PUT. From 50,000 bytes on the service wants an upload: begin, ask for addresses, put the parts into the object storage,
// complete. The service checks the condition of both. After a lost answer the file is read back: equal bytes mean that it was written; the expected
// revision means that nothing happened, and the write is made again.

import { createHash } from 'node:crypto'
import { abortError, HandoffError, isHandoffError } from '../../domain/errors.js'
import { type Drive, smallFileBytes } from '../../domain/ports.js'
import { mapConcurrent } from '../../util/map-concurrent.js'
import { doubled, retry } from '../../util/retry.js'
import { type CallName, notDrive9, objectAddress, refusal } from './errors.js'
import { type Call, type Connection, Lost, readJson, request } from './request.js'

/** One file that is to be written. */
interface Write extends Pick<Drive, 'stat' | 'digest'> {
  connection: Connection
  /** The PUT of the whole file. */
  put: Call
  bytes: Uint8Array
  expectedRevision?: number | undefined
  signal: AbortSignal
}

const partsAtOnce = 4
const partsPerBatch = 16

export function writeFile(write: Write): Promise<{ revision: number }> {
  const { put, bytes, expectedRevision, signal } = write
  const { clock, times } = write.connection
  const attempt = async (number: number) => {
    try {
      return await (bytes.length < smallFileBytes ? putWhole(write, number) : uploadInParts(write))
    } catch (error) {
      // After a lost answer the conflicting writer may be our own earlier attempt.
      const unsure = error instanceof Lost || (number > 1 && isHandoffError(error, 'conflict'))
      if (!unsure) throw error
      const { written, revision } = await settle(write)
      if (written) return { revision }
      const unchanged = expectedRevision === undefined || revision === expectedRevision
      if (unchanged || !(error instanceof Lost)) throw error
      const text = `While the answer to PUT ${put.path} was lost, another writer wrote revision ${revision}.`
      throw new HandoffError('conflict', text)
    }
  }
  const pauseAfter = (error: unknown, attempts: number) => {
    if (!(error instanceof Lost)) throw error
    if (attempts >= times.tries) throw error.error
    // Concurrent uploads of one file end each other. Random pauses let one of them finish.
    return { milliseconds: doubled(times.pauseMs, attempts) * (0.5 + Math.random()) }
  }
  return retry(attempt, pauseAfter, { clock, signal, doing: `writing ${put.path} to drive9` })
}

async function settle({ stat, digest, put, bytes, signal }: Write) {
  const there = await stat(put.path, signal)
  if (!there) return { written: false, revision: 0 }
  const { size, isDirectory, revision } = there
  if (size !== bytes.length || isDirectory) return { written: false, revision }
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  return { written: (await digest(put.path, signal))?.sha256 === sha256, revision }
}

async function putWhole({ connection, put, bytes, expectedRevision, signal }: Write, attempt: number) {
  const condition: Record<string, string> =
    expectedRevision === undefined ? {} : { 'x-dat9-expected-revision': String(expectedRevision) }
  const headers = { 'content-type': 'application/octet-stream', ...condition }
  const call: Call = { ...put, headers, body: bytes, repeat: 'after-a-wait', quick: true, attempt }
  const { revision } = readJson(call, (await request(connection, call, signal)).body)
  if (typeof revision !== 'number') throw new Lost(notDrive9(call, 'a reply without a revision'))
  return { revision }
}

interface Upload {
  id: string
  partSize: number
  totalParts: number
}

async function uploadInParts(write: Write) {
  const { put, expectedRevision, signal, stat } = write
  const upload = await begin(write)
  const stop = new AbortController()
  const follow = () => stop.abort(signal.reason)
  signal.addEventListener('abort', follow, { once: true })
  try {
    const parts = await putParts(write, upload, stop)
    await askUpload(write, `/v2/uploads/${upload.id}/complete`, { parts }, { repeat: 'after-a-wait' })
  } catch (error) {
    if (!(error instanceof Lost)) abortUpload(write, upload)
    if (signal.aborted) throw abortError(signal, `writing ${put.path} to drive9`)
    throw error
  } finally {
    signal.removeEventListener('abort', follow)
  }
  if (expectedRevision !== undefined) return { revision: expectedRevision + 1 }
  return { revision: (await stat(put.path, signal))?.revision ?? 1 }
}

async function begin(write: Write): Promise<Upload> {
  const { put, bytes, expectedRevision } = write
  const wanted = { path: put.path, total_size: bytes.length, expected_revision: expectedRevision }
  // An upload that was begun and forgotten is replaced by the next for the same path.
  const plan = await askUpload(write, '/v2/uploads/initiate', wanted, { expected: [409] })
  const { upload_id: id, part_size: partSize, total_parts: totalParts } = plan
  const fits = typeof partSize === 'number' && totalParts === Math.ceil(bytes.length / partSize)
  if (typeof id !== 'string' || !/^[\w-]{1,200}$/.test(id) || !fits) {
    throw notDrive9({ method: 'POST', path: put.path }, 'an upload plan that does not fit the file')
  }
  return { id, partSize, totalParts }
}

/** The first failure stops the others. */
async function putParts(write: Write, upload: Upload, stop: AbortController) {
  const parts: { number: number; etag: string }[] = []
  for (let first = 1; first <= upload.totalParts; first += partsPerBatch) {
    const last = Math.min(first + partsPerBatch - 1, upload.totalParts)
    const numbers = Array.from({ length: last - first + 1 }, (_, index) => first + index)
    const addresses = await sign(write, upload, numbers, stop.signal)
    const put = async (number: number) => {
      try {
        return { number, etag: await putPart(write, upload, number, addresses.get(number), stop.signal) }
      } catch (error) {
        stop.abort()
        throw error
      }
    }
    parts.push(...(await mapConcurrent(partsAtOnce, numbers, put)))
  }
  return parts
}

async function sign(write: Write, upload: Upload, numbers: number[], signal: AbortSignal) {
  const wanted = { parts: numbers.map((number) => ({ part_number: number })) }
  const { parts } = await askUpload({ ...write, signal }, `/v2/uploads/${upload.id}/presign-batch`, wanted)
  const addresses = new Map<number, string>()
  for (const part of Array.isArray(parts) ? (parts as { number?: unknown; url?: unknown }[]) : []) {
    if (typeof part?.number === 'number' && typeof part.url === 'string') addresses.set(part.number, part.url)
  }
  return addresses
}

const noUpload = /^upload not found/

async function putPart(
  write: Write,
  upload: Upload,
  number: number,
  address: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  const { connection, put, bytes } = write
  const name: CallName = { method: 'PUT', path: `${put.path} (part ${number})` }
  const body = bytes.subarray((number - 1) * upload.partSize, number * upload.partSize)
  const send = async (url: string | undefined) => {
    const to = objectAddress(name, connection.server, url ?? null)
    const call = { ...name, to, body, expected: [403, 404], expectedWords: noUpload }
    const answer = await request(connection, call, signal)
    // Amazon's storage says 404, drive9's own says 500.
    if (answer.status === 404 || answer.status === 500) throw new Lost(uploadEnded(put))
    return answer
  }
  let answer = await send(address)
  // The address was good for ten minutes; a slow upload needs a new one.
  if (answer.status === 403) answer = await send((await sign(write, upload, [number], signal)).get(number))
  const etag = answer.header('etag')
  if (answer.status === 403 || etag === null) throw notDrive9(name, `${answer.status} and no receipt for the part`)
  return etag
}

/** Frees the storage of an upload that will not be completed. It is not awaited: the upload expires after a day. */
function abortUpload(write: Write, upload: Upload): void {
  const path = `/v2/uploads/${upload.id}/abort`
  const limited = { ...write, signal: AbortSignal.timeout(5_000) }
  void askUpload(limited, path, {}, { repeat: 'after-a-wait' }).catch(() => undefined)
}

/**
 * That an upload under way is over is not yet a conflict: our own lost completion may have ended it. Nor is that another active upload of the file
 * blocks ours, perhaps our own that broke off.
 */
async function askUpload(
  { connection, put, signal }: Write,
  to: string,
  json: object,
  more: Pick<Call, 'repeat' | 'expected'> = {},
) {
  // The upload's number says nothing to a reader.
  const path = `${to.replace(/^(\/v2\/uploads\/)[^/]+(?=\/)/, '$1…')} for ${put.path}`
  const call: Call = { method: 'POST', path, to, json, expected: [404, 409, 410], ...more }
  const { status, body } = await request(connection, call, signal)
  const reply = readJson(call, body)
  if (status < 300) return reply
  const said = String(reply['error'] ?? '')
  if (status === 409 && !/active upload|not active/.test(said)) throw refusal(call, 409, said)
  throw new Lost(uploadEnded(put))
}

const uploadEnded = ({ path }: Call) =>
  new HandoffError('drive', `The upload of ${path} was ended by drive9, or by another upload of the same file.`, {
    next: 'Try again in a moment.',
  })
