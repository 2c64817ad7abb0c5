// Uploads in parts (`/v2/uploads`) and the object storage they go to (`/s3`).
import { createHash } from 'node:crypto'
import { freshId, json, type Reply } from '../../faulty-server.js'
import { authorize } from './keys.js'
import { canonicalPath } from './paths.js'
import { refuse } from './refusal.js'
import { type Call, type DriveState, type Links, readJson, type Upload } from './request-context.js'

const partSize = 8 * 1024 * 1024
const linkLifetime = 10 * 60_000
const uploadLifetime = 24 * 3_600_000

export function makeLinks(now: () => number): Links {
  const signed = new Map<string, { use: Parameters<Links['sign']>[0]; expiresAt: number }>()
  return {
    sign(use) {
      const path = `/s3/${freshId()}`
      const expiresAt = now() + linkLifetime
      signed.set(path, { use, expiresAt })
      return { path, expiresAt }
    },
    open(path) {
      const entry = signed.get(path)
      return entry && { use: entry.use, expired: entry.expiresAt <= now() }
    },
  }
}

export function handleUpload(call: Call): Reply | undefined {
  if (call.request.method !== 'POST') return undefined
  const [, id = '', action = ''] = /^\/v2\/uploads\/([^/]+)(?:\/([a-z-]+))?$/.exec(call.path) ?? []
  if (id === 'initiate' && action === '') return initiate(call)
  const upload = call.drive.uploads.get(id)
  if (action === 'presign-batch') return presign(call, mustBeOpen(call, upload))
  if (action === 'complete') return complete(call, mustBeOpen(call, upload))
  if (action === 'abort') return abort(call, upload)
  return undefined
}

function initiate({ drive, request, caller }: Call): Reply {
  const body = readJson(request)
  const size = body['total_size']
  const expected = body['expected_revision']
  if (typeof body['path'] !== 'string' || body['path'] === '') refuse(400, 'missing path')
  const path = canonicalPath(body['path'])
  authorize(caller, 'write', path)
  if (typeof size !== 'number' || size <= 0) refuse(400, 'total_size must be positive')
  if (size > drive.maxUploadBytes) refuse(413, `upload too large: max ${drive.maxUploadBytes} bytes`)
  if (typeof expected === 'number' && expected < 0) refuse(400, 'expected_revision must be >= 0')
  const expectedRevision = typeof expected === 'number' ? expected : undefined
  drive.tree.expect(path, expectedRevision)
  drive.tree.admit(path, size, reservedBy(drive, path))
  supersede(drive, path)
  const upload: Upload = {
    id: freshId(),
    path,
    size,
    partCount: Math.ceil(size / partSize),
    expectedRevision,
    expiresAt: drive.now() + uploadLifetime,
    state: 'open',
    parts: new Map(),
  }
  drive.uploads.set(upload.id, upload)
  return json(202, {
    upload_id: upload.id,
    key: `blobs/${upload.id}`,
    part_size: partSize,
    total_parts: upload.partCount,
    expires_at: new Date(upload.expiresAt).toISOString(),
    resumable: true,
    checksum_contract: { supported: [], required: false },
  })
}

/** Aborts the open uploads for a path: an unfinished upload must not block the next one. */
function supersede(drive: DriveState, path: string): void {
  for (const upload of drive.uploads.values()) {
    if (upload.path === path && upload.state === 'open') close(upload, 'aborted')
  }
}

function close(upload: Upload, state: 'completed' | 'aborted'): void {
  upload.state = state
  upload.parts.clear()
}

/** What open uploads of other paths will need. */
export function reservedBy(drive: DriveState, path: string): { files: number; bytes: number } {
  const open = [...drive.uploads.values()].filter((upload) => upload.state === 'open' && upload.path !== path)
  return {
    files: open.filter((upload) => !drive.tree.find(upload.path)).length,
    bytes: open.reduce((sum, upload) => sum + upload.size, 0),
  }
}

function mustBeOpen({ drive, caller }: Call, upload: Upload | undefined): Upload {
  if (!upload) refuse(404, 'upload not found')
  authorize(caller, 'write', upload.path)
  if (upload.expiresAt <= drive.now()) refuse(410, 'upload expired')
  if (upload.state !== 'open') refuse(409, 'upload is not active')
  return upload
}

function presign({ drive, request, origin }: Call, upload: Upload): Reply {
  const wanted = readJson(request)['parts']
  if (!Array.isArray(wanted) || wanted.length === 0) refuse(400, 'parts must not be empty')
  if (wanted.length > 500) refuse(400, 'upload client protocol error: too many parts')
  const parts = wanted.map((entry: { part_number?: unknown }) => {
    const part = Number(entry?.part_number)
    if (!Number.isInteger(part) || part < 1 || part > upload.partCount) {
      refuse(400, `upload client protocol error: no part ${part}`)
    }
    const link = drive.links.sign({ kind: 'put', upload: upload.id, part })
    const expires_at = new Date(link.expiresAt).toISOString()
    return { number: part, url: `${origin}${link.path}`, size: sizeOfPart(upload, part), expires_at }
  })
  return json(200, { parts })
}

const sizeOfPart = (upload: Upload, part: number) => Math.min(partSize, upload.size - (part - 1) * partSize)

function complete({ drive, request }: Call, upload: Upload): Reply {
  const listed = readJson(request)['parts']
  if (!Array.isArray(listed) || listed.length === 0) refuse(400, 'parts must not be empty')
  const bytes: Buffer[] = []
  for (let number = 1; number <= upload.partCount; number += 1) {
    const part = upload.parts.get(number)
    const named = listed.find((entry: { number?: unknown }) => entry?.number === number) as
      | { etag?: string }
      | undefined
    const etag = named?.etag?.replaceAll('"', '')
    if (!part || etag !== part.etag) refuse(400, `upload client protocol error: part ${number} does not match`)
    bytes.push(part.bytes)
  }
  drive.tree.expect(upload.path, upload.expectedRevision)
  close(upload, 'completed')
  drive.tree.write(upload.path, Buffer.concat(bytes))
  return json(200, { status: 'completed' })
}

function abort({ caller }: Call, upload: Upload | undefined): Reply {
  if (!upload) refuse(404, 'upload not found')
  authorize(caller, 'delete', upload.path)
  if (upload.state === 'open') close(upload, 'aborted')
  return json(200, { status: 'ok' })
}

/** The object storage. It knows no keys, and like the real one it refuses a request that carries a key beside its presigned address. */
export function handleObject(drive: DriveState, { request, path }: Pick<Call, 'request' | 'path'>): Reply | undefined {
  if (request.method !== 'GET' && request.method !== 'PUT') return undefined
  if (request.headers['authorization'] !== undefined) return storageError(400, 'InvalidArgument')
  const link = drive.links.open(path)
  if (!link || link.expired) return storageError(403, 'AccessDenied')
  if (link.use.kind === 'get' && request.method === 'GET') return readObject(drive, link.use.object, request.headers)
  if (link.use.kind === 'put' && request.method === 'PUT') return storePart(drive, link.use, request.body)
  return storageError(403, 'SignatureDoesNotMatch')
}

function storePart(drive: DriveState, { upload: id, part }: { upload: string; part: number }, bytes: Buffer): Reply {
  const upload = drive.uploads.get(id)
  // drive9's own object storage, which a server without S3 has, forgets an upload when a later one of the same file is begun.
  if (upload?.state !== 'open') return { status: 500, headers: plainText, body: `upload not found: ${id}\n` }
  if (bytes.length !== sizeOfPart(upload, part)) return storageError(400, 'IncompleteBody')
  const etag = createHash('md5').update(bytes).digest('hex')
  upload.parts.set(part, { bytes: Buffer.from(bytes), etag })
  return { status: 200, headers: { etag: `"${etag}"` } }
}

function readObject(drive: DriveState, object: string, headers: Record<string, string>): Reply {
  const bytes = drive.objects.get(object)
  const type = { 'content-type': 'application/octet-stream', 'accept-ranges': 'bytes' }
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(headers['range'] ?? '') ?? []
  if (first === undefined) return { status: 200, headers: type, body: bytes }
  const from = Number(first)
  const to = Math.min(last ? Number(last) : bytes.length - 1, bytes.length - 1)
  if (from > to) return { status: 416, headers: { 'content-range': `bytes */${bytes.length}` } }
  const range = { 'content-range': `bytes ${from}-${to}/${bytes.length}` }
  return { status: 206, headers: { ...type, ...range }, body: bytes.subarray(from, to + 1) }
}

const plainText = { 'content-type': 'text/plain; charset=utf-8' }

function storageError(status: number, code: string): Reply {
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code></Error>`
  return { status, headers: { 'content-type': 'application/xml' }, body }
}
