// Writes a file of any size, with or without a condition, and finds out whether a write whose answer was lost was executed.
//
// A small file is one PUT. From 50,000 bytes on the service wants an upload: begin, ask for addresses, put the parts into the object storage,
// complete. The service checks the condition of both. After a lost answer the file is read back: equal bytes mean that it was written; the expected
// revision means that nothing happened, and the write is made again.

import { abortError, HandoffError, isHandoffError } from '../../domain/errors.js'
import type { Clock } from '../../domain/ports.js'
import { type DriveStat, smallFileBytes } from '../../domain/ports.js'
import { doubled, retry } from '../../util/retry.js'
import { type CallName, notDrive9, refusal } from './errors.js'
import { type DriveTimes, Lost, objectAddress } from './exchange.js'
import { type Answer, type Caller, forAttempt, readJson } from './request.js'

interface WriteOptions {
  expectedRevision?: number
  signal: AbortSignal
}

/** What writing needs of the rest of the client. */
export interface Ground {
  caller: Caller
  /** The absolute address of an API path. */
  address(path: string): string
  /** The address of a file, percent-encoded. */
  file(path: string, query?: string): string
  stat(path: string, signal: AbortSignal): Promise<DriveStat | null>
  digest(path: string, signal: AbortSignal): Promise<{ bytes: number; sha256: string } | null>
  sha256(bytes: Uint8Array): string
  times: DriveTimes
  clock: Clock
}

const partsAtOnce = 4
const partsPerBatch = 16

export function writeFile(ground: Ground, path: string, bytes: Uint8Array, options: WriteOptions) {
  const write = bytes.length < smallFileBytes ? putWhole : uploadInParts
  const { tries, pauseMs } = ground.times
  const attempt = async (number: number) => {
    try {
      return await write(ground, path, bytes, options, number)
    } catch (error) {
      // After a lost answer the conflicting writer may be our own earlier attempt.
      const unsure = error instanceof Lost || (number > 1 && isHandoffError(error, 'conflict'))
      if (!unsure) throw error
      const settled = await settle(ground, path, bytes, options)
      if (settled.written) return { revision: settled.revision }
      const unchanged = options.expectedRevision === undefined || settled.revision === options.expectedRevision
      throw unchanged || !(error instanceof Lost) ? error : conflictAfterLoss(path, settled.revision)
    }
  }
  const pauseAfter = (error: unknown, attempts: number) => {
    if (!(error instanceof Lost)) throw error
    if (attempts >= tries) throw error.error
    // Concurrent uploads of one file end each other. Random pauses let one of them finish.
    return { milliseconds: doubled(pauseMs, attempts) * (0.5 + Math.random()) }
  }
  return retry(attempt, pauseAfter, { clock: ground.clock, signal: options.signal, doing: `writing ${path} to drive9` })
}

async function settle(ground: Ground, path: string, bytes: Uint8Array, { signal }: WriteOptions) {
  const there = await ground.stat(path, signal)
  if (!there) return { written: false, revision: 0 }
  const same = there.size === bytes.length && !there.isDirectory && (await holds(ground, path, bytes, signal))
  return { written: same, revision: there.revision }
}

async function holds(ground: Ground, path: string, bytes: Uint8Array, signal: AbortSignal): Promise<boolean> {
  return (await ground.digest(path, signal))?.sha256 === ground.sha256(bytes)
}

function conflictAfterLoss(path: string, revision: number): HandoffError {
  return new HandoffError(
    'conflict',
    `While the answer to PUT ${path} was lost, another writer wrote revision ${revision}.`,
  )
}

async function putWhole(ground: Ground, path: string, bytes: Uint8Array, options: WriteOptions, number: number) {
  const { expectedRevision, signal } = options
  const condition: Record<string, string> =
    expectedRevision === undefined ? {} : { 'x-dat9-expected-revision': String(expectedRevision) }
  const { smallAnswerMs } = ground.times
  const call = { method: 'PUT', path, url: ground.file(path), withKey: true, idempotent: false, smallAnswerMs }
  const headers = { 'content-type': 'application/octet-stream', ...condition }
  const { body } = await ground.caller.ask(forAttempt({ ...call, headers, body: bytes }, number), signal)
  const { revision } = readJson(call, body)
  if (typeof revision !== 'number') throw new Lost(notDrive9(call, 'a reply without a revision'))
  return { revision }
}

interface Upload {
  id: string
  partSize: number
  totalParts: number
}

async function uploadInParts(ground: Ground, path: string, bytes: Uint8Array, options: WriteOptions) {
  const { expectedRevision, signal } = options
  const upload = await begin(ground, path, bytes.length, options)
  const stop = new AbortController()
  const follow = () => stop.abort(signal.reason)
  signal.addEventListener('abort', follow, { once: true })
  try {
    const parts = await putParts(ground, path, bytes, upload, stop)
    await askUpload(ground, path, `/v2/uploads/${upload.id}/complete`, { parts }, { signal, idempotent: false })
  } catch (error) {
    if (!(error instanceof Lost)) abortUpload(ground, path, upload)
    if (signal.aborted) throw abortError(signal, `writing ${path} to drive9`)
    throw error
  } finally {
    signal.removeEventListener('abort', follow)
  }
  if (expectedRevision !== undefined) return { revision: expectedRevision + 1 }
  return { revision: (await ground.stat(path, signal))?.revision ?? 1 }
}

async function begin(ground: Ground, path: string, size: number, options: WriteOptions): Promise<Upload> {
  const { expectedRevision, signal } = options
  const condition = expectedRevision === undefined ? {} : { expected_revision: expectedRevision }
  const wanted = { path, total_size: size, ...condition }
  // An upload that was begun and forgotten is replaced by the next for the same path.
  const plan = await ask(ground, path, '/v2/uploads/initiate', wanted, { signal, idempotent: true })
  const { upload_id: id, part_size: partSize, total_parts: totalParts } = plan
  const fits = typeof partSize === 'number' && totalParts === Math.ceil(size / partSize)
  if (typeof id !== 'string' || !/^[\w-]{1,200}$/.test(id) || !fits) {
    throw notDrive9({ method: 'POST', path }, 'an upload plan that does not fit the file')
  }
  return { id, partSize, totalParts }
}

async function putParts(ground: Ground, path: string, bytes: Uint8Array, upload: Upload, stop: AbortController) {
  const done: { number: number; etag: string }[] = []
  for (let first = 1; first <= upload.totalParts; first += partsPerBatch) {
    const last = Math.min(first + partsPerBatch - 1, upload.totalParts)
    const waiting = Array.from({ length: last - first + 1 }, (_, index) => first + index)
    const addresses = await sign(ground, path, upload, waiting, stop.signal)
    const worker = async () => {
      for (let number = waiting.shift(); number !== undefined; number = waiting.shift()) {
        const piece = bytes.subarray((number - 1) * upload.partSize, number * upload.partSize)
        const etag = await putPart(ground, path, upload, { number, piece, address: addresses.get(number) }, stop.signal)
        done.push({ number, etag })
      }
    }
    await allOrStop(Array.from({ length: partsAtOnce }, worker), stop)
  }
  return done.sort((a, b) => a.number - b.number)
}

/** The first failure stops the others, and all have ended before it is passed on. */
async function allOrStop(work: Promise<void>[], stop: AbortController): Promise<void> {
  let first: unknown
  const guarded = work.map((each) =>
    each.catch((error: unknown) => {
      first ??= error
      stop.abort()
    }),
  )
  await Promise.all(guarded)
  if (first !== undefined) throw first
}

async function sign(ground: Ground, path: string, upload: Upload, numbers: number[], signal: AbortSignal) {
  const wanted = { parts: numbers.map((number) => ({ part_number: number })) }
  const url = `/v2/uploads/${upload.id}/presign-batch`
  const { parts } = await askUpload(ground, path, url, wanted, { signal, idempotent: true })
  const addresses = new Map<number, string>()
  for (const part of Array.isArray(parts) ? (parts as { number?: unknown; url?: unknown }[]) : []) {
    if (typeof part?.number === 'number' && typeof part.url === 'string') addresses.set(part.number, part.url)
  }
  return addresses
}

const noUpload = /^upload not found/

interface Part {
  number: number
  piece: Uint8Array
  address: string | undefined
}

async function putPart(ground: Ground, path: string, upload: Upload, part: Part, signal: AbortSignal): Promise<string> {
  const name: CallName = { method: 'PUT', path: `${path} (part ${part.number})` }
  const put = async (url: string | undefined) => {
    const to = objectAddress(name, ground.address('/'), url ?? null)
    const call = { ...name, url: to, withKey: false, idempotent: true, body: part.piece, expected: [403, 404] }
    const answer = await ground.caller.ask({ ...call, expectedWords: noUpload }, signal)
    // Amazon's storage says 404, drive9's own says 500.
    if (answer.status === 404 || answer.status === 500) throw new Lost(uploadEnded(path))
    return answer
  }
  let answer = await put(part.address)
  // The address was good for ten minutes; a slow upload needs a new one.
  if (answer.status === 403)
    answer = await put((await sign(ground, path, upload, [part.number], signal)).get(part.number))
  const etag = answer.header('etag')
  if (answer.status === 403 || etag === null) throw notDrive9(name, `${answer.status} and no receipt for the part`)
  return etag
}

/** Frees the storage of an upload that will not be completed. It is not awaited: the upload expires after a day. */
function abortUpload(ground: Ground, path: string, upload: Upload): void {
  const signal = AbortSignal.timeout(5_000)
  const url = `/v2/uploads/${upload.id}/abort`
  void ask(ground, path, url, {}, { signal, idempotent: false }).catch(() => undefined)
}

interface AskOptions {
  signal: AbortSignal
  idempotent: boolean
}

async function ask(ground: Ground, path: string, to: string, value: object, options: AskOptions) {
  const { call, answer } = await post(ground, path, to, value, options, [409])
  const reply = readJson(call, answer.body)
  if (answer.status !== 409) return reply
  const said = String(reply['error'] ?? '')
  // Another active upload of this file blocks ours, perhaps our own that broke off. The file's revision may be unchanged.
  throw said.includes('active upload') ? new Lost(uploadEnded(path)) : refusal(call, 409, said)
}

/** Asks something of an upload under way. That it is over is not yet a conflict: our own lost completion may have ended it. */
async function askUpload(ground: Ground, path: string, to: string, value: object, options: AskOptions) {
  const { call, answer } = await post(ground, path, to, value, options, [404, 409, 410])
  const reply = readJson(call, answer.body)
  if (answer.status < 300) return reply
  const said = String(reply['error'] ?? '')
  if (answer.status === 409 && !said.includes('not active')) throw refusal(call, 409, said)
  throw new Lost(uploadEnded(path))
}

async function post(
  ground: Ground,
  path: string,
  to: string,
  value: object,
  { signal, idempotent }: AskOptions,
  expected: number[],
): Promise<{ call: CallName; answer: Answer }> {
  const body = new TextEncoder().encode(JSON.stringify(value))
  const headers = { 'content-type': 'application/json' }
  // The upload's number says nothing to a reader.
  const call = { method: 'POST', path: `${to.replace(/^(\/v2\/uploads\/)[^/]+(?=\/)/, '$1…')} for ${path}` }
  const whole = { ...call, url: ground.address(to), withKey: true, headers, body, idempotent, expected }
  return { call, answer: await ground.caller.ask(whole, signal) }
}

function uploadEnded(path: string): HandoffError {
  return new HandoffError(
    'drive',
    `The upload of ${path} was ended by drive9, or by another upload of the same file.`,
    {
      next: 'Try again in a moment.',
    },
  )
}
