// A drive9 on loopback: the service's HTTP API as far as the host's client, the `drive9` program and a curious user use it.
//
//   main.ts            routes, authentication, and what tests and the demo may inspect and break
//   files.ts           /v1/fs: one path          batch.ts    /v1/fs:batch-…: many paths
//   uploads.ts         /v2/uploads and /s3       keys.ts     the owner's key and scoped tokens
//   journals.ts        /v1/journals
//   file-tree.ts       files, directories and their revisions; object-storage.ts their bytes
//
// What it does not know it answers with 404 or 405 and keeps in `unexpected`, so that a test can insist that nothing else was asked.
import { mkdirSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { freshId, json, type LocalServer, type RecordedRequest, type Reply, startServer } from '../../faulty-server.js'
import { handleBatch } from './batch.js'
import { makeTree, type Quota } from './file-tree.js'
import { handleFile } from './files.js'
import { handleJournals } from './journals.js'
import { type IssuedToken, makeKeys, readTokenRequest } from './keys.js'
import { fileObjects, fileTable, lateRemoval, memoryObjects, noTable } from './object-storage.js'
import { canonicalPath } from './paths.js'
import { Refusal, refusalReply, refuse } from './refusal.js'
import { type Call, type DriveState, readJson, type StoredJournal } from './request-context.js'
import { handleObject, handleUpload, makeLinks } from './uploads.js'

export interface DriveOptions {
  /** A key of ours when absent; the one of the directory when that has been opened before. */
  ownerKey?: string
  quota?: Quota
  /** So many requests with a key are answered 503 with `Retry-After: 1` first, as by a service that is still being set up. */
  provisioning?: number
  /** Files and revisions are kept here and found again by the next process; in memory when absent. */
  directory?: string
  port?: number
  maxUploadBytes?: number
  /** False for a server of before there were journals. */
  journals?: false
  now?: () => number
}

export interface LocalDrive extends LocalServer {
  readonly ownerKey: string
  /** Requests for something this drive9 does not have. */
  readonly unexpected: RecordedRequest[]
  /** Everything below a path, names in order, directories first. */
  tree(path?: string): { path: string; size: number; isDirectory: boolean }[]
  /** All stored bytes, including those of unfinished uploads. For scans. */
  readAll(): { path: string; bytes: Buffer }[]
  /** Undefined when there is no such file. */
  readFile(path: string): Buffer | undefined
  /** Writes without checks, as another client with an owner key. */
  write(path: string, bytes: Uint8Array | string): void
  remove(path: string): void
  issuedTokens(): IssuedToken[]
  /** By their ids. */
  journals: ReadonlyMap<string, StoredJournal>
  expireToken(id: string): void
  setQuota(quota: Quota): void
  setProvisioning(requests: number): void
}

/** Bodies above this are dropped from the record once they are stored: the bytes are in the tree. */
const recordedBodyBytes = 1024 * 1024

export async function startDrive(options: DriveOptions = {}): Promise<LocalDrive> {
  const drive = openDrive(options)
  const unexpected: RecordedRequest[] = []
  let provisioning = options.provisioning ?? 0

  function answer(request: RecordedRequest, response: ServerResponse): Reply {
    const [path = '', search = ''] = splitOnce(request.path, '?')
    try {
      const reply = path.startsWith('/s3/')
        ? handleObject(drive, { request, path })
        : business(request, response, path, search)
      return reply ?? unknown(request, path)
    } catch (error) {
      if (error instanceof Refusal) return refusalReply(error)
      throw error
    }
  }

  function business(
    request: RecordedRequest,
    response: ServerResponse,
    path: string,
    search: string,
  ): Reply | undefined {
    if (path === '/healthz' && request.method === 'GET') return json(200, { status: 'ok' })
    const caller = drive.keys.caller(keyOf(request))
    if (!caller) refuse(401, 'invalid API key')
    if (provisioning > 0) {
      provisioning -= 1
      refuse(503, 'tenant is provisioning', { 'retry-after': '1' })
    }
    const origin = `http://${request.headers['host'] ?? ''}`
    return route({ drive, request, path, query: new URLSearchParams(search), caller, origin }, response)
  }

  function unknown(request: RecordedRequest, path: string): Reply {
    unexpected.push(request)
    if (path.startsWith('/v1/fs/') && request.method === 'POST') return json(400, { error: 'unknown POST action' })
    return knownPaths.test(path) ? json(405, { error: 'method not allowed' }) : json(404, { error: 'not found' })
  }

  const server = await startServer(
    'drive9',
    (request, response) => {
      const reply = answer(request, response)
      if (request.body.length > recordedBodyBytes) request.body = Buffer.alloc(0)
      const headers = { ...reply.headers, 'x-trace-id': freshId() }
      return request.method === 'HEAD' ? { ...reply, headers, body: '' } : { ...reply, headers }
    },
    options.port === undefined ? {} : { port: options.port },
  )

  return {
    ...server,
    ownerKey: drive.keys.ownerKey,
    unexpected,
    tree: (path = '/') => describeTree(drive, canonicalPath(path)),
    readAll: () => everyByte(drive),
    readFile: (path) => {
      const node = drive.tree.find(canonicalPath(path))
      return node?.kind === 'file' ? drive.objects.get(node.object) : undefined
    },
    write: (path, bytes) => {
      drive.tree.write(canonicalPath(path), typeof bytes === 'string' ? Buffer.from(bytes) : bytes)
    },
    remove: (path) => drive.tree.remove(canonicalPath(path), { recursive: true, kind: '' }),
    journals: drive.journals,
    issuedTokens: () => drive.keys.issued(),
    expireToken: (id) => drive.keys.expire(id),
    setQuota: (quota) => drive.tree.setQuota(quota),
    setProvisioning: (requests) => {
      provisioning = requests
    },
  }
}

function openDrive(options: DriveOptions): DriveState {
  const now = options.now ?? Date.now
  if (options.directory !== undefined) mkdirSync(options.directory, { recursive: true })
  const table = options.directory === undefined ? noTable : fileTable(options.directory)
  const objects = lateRemoval(options.directory === undefined ? memoryObjects() : fileObjects(options.directory))
  return {
    tree: makeTree(objects, table, now, options.quota ?? {}),
    objects,
    keys: makeKeys(table, now, options.ownerKey),
    uploads: new Map(),
    links: makeLinks(now),
    now,
    inlineThreshold: 50_000,
    maxUploadBytes: options.maxUploadBytes ?? 10 * 1024 ** 3,
    journals: new Map(),
    hasJournals: options.journals ?? true,
  }
}

const knownPaths =
  /^\/(healthz|s3\/.*|v1\/(status|events|tokens|tokens\/.*|fs|fs\/.*|fs:batch-(stat|read-small))|v2\/uploads\/.*)$/

function keyOf(request: RecordedRequest): string {
  const [, bearer] = /^Bearer (.+)$/.exec(request.headers['authorization'] ?? '') ?? []
  const key = bearer ?? request.headers['x-api-key']
  return key ?? refuse(401, 'missing or malformed Authorization header')
}

function route(call: Call, _response: ServerResponse): Reply | undefined {
  const { path, request, drive, caller } = call
  if (path === '/v1/status' && request.method === 'GET') {
    const { maxUploadBytes: max_upload_bytes, inlineThreshold: inline_threshold } = drive
    return json(200, { status: 'active', kind: 'live', max_upload_bytes, inline_threshold })
  }
  if (path === '/v1/tokens' || path.startsWith('/v1/tokens/')) return handleTokens(call)
  if (!caller.owner && !openToScopedTokens(call)) refuse(403, 'scoped token cannot access endpoint')
  if (path.startsWith('/v1/journals'))
    return drive.hasJournals ? handleJournals(call) : json(404, { error: 'not found' })
  if (path.startsWith('/v1/fs:')) return handleBatch(call)
  if (path === '/v1/fs' || path.startsWith('/v1/fs/')) return handleFile(call)
  if (path.startsWith('/v2/uploads/')) return handleUpload(call)
  return undefined
}

/** The only things a scoped token reaches at all, prefixes and operations apart; every combination not named here is denied. */
function openToScopedTokens({ path, query, request: { method } }: Call): boolean {
  const asked = [...query.keys()]
  const only = (...allowed: string[]) => asked.every((key) => allowed.includes(key))
  if (path.startsWith('/v2/uploads/') || path.startsWith('/v1/fs:batch-')) return method === 'POST'
  if (!path.startsWith('/v1/fs/')) return false
  if (method === 'HEAD') return true
  if (method === 'GET') return only() || only('stat') || only('list')
  if (method === 'PUT') return only()
  if (method === 'DELETE') return only('recursive', 'kind')
  const actions = ['copy', 'rename', 'mkdir', 'create', 'symlink']
  return method === 'POST' && asked.filter((key) => actions.includes(key)).length === 1 && only(...actions, 'mode')
}

function handleTokens({ drive, caller, path, request }: Call): Reply | undefined {
  if (!caller.owner) refuse(403, 'scoped token cannot manage tokens')
  const gone = () => refuse(404, 'token not found or already revoked')
  if (path === '/v1/tokens' && request.method === 'POST') {
    const { subject, seconds, scopes } = readTokenRequest(readJson(request))
    const { token, secret } = drive.keys.issue(subject, seconds, scopes)
    const expires_at = new Date(token.expiresAt).toISOString()
    return json(201, { token: secret, token_id: token.id, subject, scope_kind: 'fs_scoped', expires_at, scopes })
  }
  if (path === '/v1/tokens/revoke' && request.method === 'POST') {
    const secret = String(readJson(request)['api_key'] ?? '').trim()
    if (secret === '') refuse(400, 'api_key is required')
    return drive.keys.revokeSecret(secret) ? json(200, { status: 'ok' }) : gone()
  }
  if (request.method !== 'DELETE' || path === '/v1/tokens') return undefined
  return drive.keys.revoke(path.slice('/v1/tokens/'.length)) ? json(200, { status: 'ok' }) : gone()
}

function describeTree(drive: DriveState, from: string): { path: string; size: number; isDirectory: boolean }[] {
  return [...drive.tree.walk(from)].map(({ path, node }) => ({
    path,
    size: node.kind === 'file' ? node.size : 0,
    isDirectory: node.kind === 'directory',
  }))
}

function everyByte(drive: DriveState): { path: string; bytes: Buffer }[] {
  const stored: { path: string; bytes: Buffer }[] = []
  for (const { path, node } of drive.tree.walk()) {
    if (node.kind === 'file') stored.push({ path, bytes: drive.objects.get(node.object) })
  }
  for (const upload of drive.uploads.values()) {
    for (const [part, { bytes }] of upload.parts) stored.push({ path: `upload of ${upload.path}, part ${part}`, bytes })
  }
  return stored
}

function splitOnce(text: string, mark: string): [string, string] {
  const index = text.indexOf(mark)
  return index < 0 ? [text, ''] : [text.slice(0, index), text.slice(index + 1)]
}
