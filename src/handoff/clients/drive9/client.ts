// Client of drive9: the run directory over plain HTTP. Only this folder knows the service's paths, headers and quirks.
//
// Quirks met here: a missing directory lists as empty; small files ignore ranges; large ones are a 302 to an address that must not be shown our key; a completed upload does not say its revision; a stat of nothing is a 404 without a body.

import { createHash } from 'node:crypto'
import { HandoffError } from '../../domain/errors.js'
import {
  type Drive,
  type DriveEntry,
  type DriveStat,
  type DriveStatus,
  type DriveToken,
  type FileDigest,
  smallFileBytes,
  type TokenRequest,
} from '../../domain/ports.js'
import { quote } from '../../domain/run.js'
import { parseHttpUrl } from '../../util/http-url.js'
import { doubled, retry } from '../../util/retry.js'
import { notDrive9, objectAddress } from './errors.js'
import { type Call, connectionOf, type DriveSettings, Lost, readJson, request } from './request.js'

export type { DriveSettings } from './request.js'

export function makeDrive(settings: DriveSettings): Drive {
  const connection = connectionOf(settings)
  const { server, times, clock } = connection

  async function stat(path: string, signal: AbortSignal): Promise<DriveStat | null> {
    const call: Call = { ...fileCall('HEAD', path), quick: true, expected: [404] }
    const { status, header } = await request(connection, call, signal)
    if (status === 404) return null
    const kind = header('x-dat9-isdir')
    if (kind === null) throw notDrive9(call, 'a reply without the headers of drive9')
    const isDirectory = kind === 'true'
    const size = isDirectory ? 0 : Number(header('content-length') ?? '0')
    return { size, revision: Number(header('x-dat9-revision') ?? '0'), isDirectory }
  }

  async function read(path: string, options: { maxBytes: number; signal: AbortSignal }): Promise<Uint8Array | null> {
    const call: Call = { ...fileCall('GET', path), quick: true, expected: [404], file: { most: options.maxBytes } }
    const { status, body } = await request(connection, call, options.signal)
    return status === 404 ? null : body
  }

  async function locate(path: string, signal: AbortSignal): Promise<string | undefined> {
    const call: Call = { ...fileCall('GET', path), quick: true, expected: [302, 303, 307, 404] }
    const { header } = await request(connection, call, signal)
    const location = header('location')
    return location === null ? undefined : objectAddress(call, `${server}${call.to}`, location)
  }

  async function readStart(path: string, address: string, bytes: number, signal: AbortSignal): Promise<Uint8Array> {
    const headers = { range: `bytes=0-${bytes - 1}` }
    const wanted = { to: address, headers, quick: true, file: { most: bytes } }
    const { body } = await request(connection, { ...fileCall('GET', path), ...wanted }, signal)
    return body.subarray(0, bytes)
  }

  async function digest(path: string, signal: AbortSignal): Promise<FileDigest | null> {
    let bytes = 0
    let hash = createHash('sha256')
    const consumer = {
      restart: () => {
        bytes = 0
        hash = createHash('sha256')
      },
      bytes: (piece: Uint8Array) => {
        bytes += piece.length
        hash.update(piece)
        release(piece)
      },
    }
    const { status } = await request(
      connection,
      { ...fileCall('GET', path), expected: [404], file: { consumer } },
      signal,
    )
    return status === 404 ? null : { bytes, sha256: hash.digest('hex') }
  }

  async function list(path: string, signal: AbortSignal): Promise<DriveEntry[]> {
    const call: Call = { ...fileCall('GET', path, '?list=1'), expected: [404] }
    const { status, body } = await request(connection, call, signal)
    if (status === 404) return []
    const { entries } = readJson(call, body)
    if (!Array.isArray(entries)) throw notDrive9(call, 'a list without entries')
    return entries.map((entry) => readEntry(call, entry as Record<string, unknown>))
  }

  async function digestSmall(paths: string[], signal: AbortSignal): Promise<(FileDigest | null)[]> {
    for (const path of paths) encodePath(path)
    const call: Call = { method: 'POST', path: '/v1/fs:batch-read-small', json: { paths, max_bytes: smallFileBytes } }
    const { results } = readJson(call, (await request(connection, call, signal)).body)
    if (!Array.isArray(results) || results.length !== paths.length)
      throw notDrive9(call, 'other files than were asked for')
    return results.map((result: { status?: unknown; data?: unknown }) => {
      if (result?.status !== 200 || typeof result.data !== 'string') return null
      const bytes = Buffer.from(result.data, 'base64')
      return { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
    })
  }

  async function remove(
    path: string,
    { recursive, atRevision, signal }: { recursive: boolean; atRevision?: number; signal: AbortSignal },
  ): Promise<boolean> {
    if (atRevision !== undefined) return removeAt(path, atRevision, signal)
    const call = { ...fileCall('DELETE', path, recursive ? '?recursive=1' : ''), quick: !recursive, expected: [404] }
    const { status, afterLoss } = await request(connection, call, signal)
    // Gone after a try whose answer was lost: that try has done it.
    return status !== 404 || afterLoss
  }

  /** Looks before each attempt, also where the service asks it to wait. */
  function removeAt(path: string, revision: number, signal: AbortSignal): Promise<boolean> {
    const call: Call = { ...fileCall('DELETE', path), quick: true, expected: [404], repeat: 'never' }
    const attempt = async (number: number) => {
      const there = await stat(path, signal)
      // Gone after an attempt whose answer was lost: that attempt has done it.
      if (there === null) return number > 1
      if (there.revision !== revision) return false
      return (await request(connection, { ...call, attempt: number }, signal)).status !== 404
    }
    const pauseAfter = (error: unknown, attempts: number) => {
      if (!(error instanceof Lost)) throw error
      if (attempts >= times.tries) throw error.error
      return { milliseconds: doubled(times.pauseMs, attempts) }
    }
    return retry(attempt, pauseAfter, { clock, signal, doing: `removing ${path} from drive9` })
  }

  async function move(from: string, to: string, signal: AbortSignal): Promise<boolean> {
    encodePath(from)
    const headers = {
      'x-dat9-rename-source': Buffer.from(from).toString('base64url'),
      'x-dat9-path-encoding': 'base64url',
    }
    const call: Call = { ...fileCall('POST', to, '?rename=1'), quick: true, headers, expected: [404] }
    const { status, afterLoss } = await request(connection, call, signal)
    // Gone after a try whose answer was lost: that try has moved it.
    return status !== 404 || afterLoss
  }

  async function issueToken(asked: TokenRequest, signal: AbortSignal): Promise<DriveToken> {
    encodePath(asked.prefix)
    const json = {
      subject: asked.subject.slice(0, 64),
      ttl_seconds: Math.ceil(asked.lifetimeSeconds),
      scopes: [{ prefix: asked.prefix, ops: asked.operations }],
    }
    const call: Call = { method: 'POST', path: '/v1/tokens', json, repeat: 'after-a-wait', againWhenClosed: true }
    const { body } = await request(connection, call, signal).catch((error: unknown) => {
      // A token whose secret was lost expires by itself, so it is not retried here.
      throw error instanceof Lost ? error.error : error
    })
    const { token, token_id: id, expires_at: expiresAt } = readJson(call, body)
    if (typeof token !== 'string' || typeof id !== 'string' || typeof expiresAt !== 'string') {
      throw notDrive9(call, 'a reply without a token')
    }
    return { id, secret: token, expiresAt }
  }

  async function revokeToken(id: string, signal: AbortSignal): Promise<void> {
    const path = `/v1/tokens/${encodeURIComponent(id)}`
    await request(connection, { method: 'DELETE', path, quick: true, expected: [404] }, signal)
  }

  async function status(signal: AbortSignal): Promise<DriveStatus> {
    const call: Call = { method: 'GET', path: '/v1/status', expected: [503] }
    const answer = await request(connection, call, signal)
    if (answer.status === 503) return { ready: false }
    const { status: state, kind, max_upload_bytes: most } = readJson(call, answer.body)
    return {
      ready: state === 'active',
      ...(typeof kind === 'string' ? { kind } : {}),
      ...(typeof most === 'number' ? { largestFileBytes: most } : {}),
    }
  }

  return {
    server,
    hosts: [...new Set([hostOf(server), ...(settings.hosts ?? [])])],
    status,
    read,
    digest,
    stat,
    digestSmall,
    locate,
    readStart,
    list,
    write: async (path, bytes, options) => {
      const put = fileCall('PUT', path)
      const { writeFile } = await import('./upload.js')
      return writeFile({ connection, stat, digest, put, bytes, ...options })
    },
    remove,
    move,
    issueToken,
    revokeToken,
  }
}

/**
 * Frees the memory of a piece that has no other user, which the garbage collector does tens of megabytes later. A piece of a larger buffer may
 * have neighbours in use.
 */
function release({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}

function hostOf(server: string): string {
  const url = parseHttpUrl(server)
  if (url) return url.hostname
  throw new HandoffError('invalid-input', `${quote(server)} is not the address of a drive9 service.`, {
    next: 'Set DRIVE9_SERVER to an address that begins with https:// (or http:// on this machine).',
  })
}

const fileCall = (method: string, path: string, query = ''): Call => ({
  method,
  path: `${path}${query}`,
  to: `/v1/fs${encodePath(path)}${query}`,
})

// Line feed, tab and carriage return are let through by the service; all other control characters and the backslash are not.
const forbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\\]/

/** Encodes each name of a path; a path that could lead elsewhere, or that the service cannot keep, is refused before anything is sent. */
function encodePath(path: string): string {
  const names = path.split('/').slice(1)
  const dots = names.some((name) => name === '.' || name === '..' || (name === '' && path !== '/'))
  if (!path.startsWith('/') || dots || forbidden.test(path) || !path.isWellFormed()) {
    throw new HandoffError('invalid-input', `${quote(path)} is not a path that drive9 can keep.`)
  }
  return `/${names.map(encodeURIComponent).join('/')}`
}

function readEntry(call: Call, entry: Record<string, unknown>): DriveEntry {
  const { name, size, isDir, revision, mtime } = entry ?? {}
  if (typeof name !== 'string' || name === '' || name.includes('/')) throw notDrive9(call, 'a list with a strange name')
  return {
    name,
    size: typeof size === 'number' ? size : 0,
    isDirectory: isDir === true,
    revision: typeof revision === 'number' ? revision : 0,
    ...(typeof mtime === 'number' ? { modifiedAt: new Date(mtime * 1000).toISOString() } : {}),
  }
}
