// Client of drive9: the run directory over plain HTTP. Only this folder knows the service's paths, headers and quirks.
//
// Quirks met here: a missing directory lists as empty; small files ignore ranges; large ones are a 302 to an address that must not be shown our key; a completed upload does not say its revision; a stat of nothing is a 404 without a body.

import { createHash } from 'node:crypto'
import { HandoffError } from '../../domain/errors.js'
import type { Clock } from '../../domain/ports.js'
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
import { withoutTrailingSlashes } from '../../util/text.js'
import { systemClock } from '../system-clock.js'
import { notDrive9 } from './errors.js'
import type { Call } from './exchange.js'
import { type DriveTimes, defaultTimes, Lost } from './exchange.js'
import { type Send, send } from './http.js'
import { forAttempt, makeCaller, readJson } from './request.js'
import type { Ground } from './upload.js'

export interface DriveSettings {
  /** `https://api.drive9.ai`, or wherever the service is. */
  server: string
  /** The owner's key, or a token that opens a part. */
  key: string
  /** Hosts of the object storage that large files come from and go to; a sandbox must be let through to them. */
  hosts?: string[]
  times?: Partial<DriveTimes>
  clock?: Clock
  /** How a request is sent; by Node's own HTTP client if absent. */
  send?: Send
}

export function makeDrive(settings: DriveSettings): Drive {
  const server = withoutTrailingSlashes(settings.server)
  const times = { ...defaultTimes, ...settings.times }
  const clock = settings.clock ?? systemClock
  const caller = makeCaller(settings.key, times, clock, settings.send ?? send)
  const address = (path: string) => `${server}${path}`
  const file = (path: string, query = '') => address(`/v1/fs${encodePath(path)}${query}`)

  const call = (method: string, path: string, query = ''): Call => {
    return { method, path: `${path}${query}`, url: file(path, query), withKey: true, idempotent: true }
  }

  /** For what the service answers at once, however large the file or the directory is. */
  const small = (asked: Call): Call => ({ ...asked, smallAnswerMs: times.smallAnswerMs })

  async function stat(path: string, signal: AbortSignal): Promise<DriveStat | null> {
    const asked = small(call('HEAD', path))
    const { status, header } = await caller.ask({ ...asked, expected: [404] }, signal)
    if (status === 404) return null
    const kind = header('x-dat9-isdir')
    if (kind === null) throw notDrive9(asked, 'a reply without the headers of drive9')
    const number = (name: string) => Number(header(name) ?? '0')
    const isDirectory = kind === 'true'
    return { size: isDirectory ? 0 : number('content-length'), revision: number('x-dat9-revision'), isDirectory }
  }

  async function read(path: string, options: { maxBytes: number; signal: AbortSignal }): Promise<Uint8Array | null> {
    let pieces: Uint8Array[] = []
    const found = await caller.stream(small(call('GET', path)), options.signal, {
      most: options.maxBytes,
      restart: () => {
        pieces = []
      },
      bytes: (piece) => pieces.push(piece),
    })
    return found ? Buffer.concat(pieces) : null
  }

  async function digest(path: string, signal: AbortSignal): Promise<FileDigest | null> {
    let bytes = 0
    let hash = createHash('sha256')
    const found = await caller.stream(call('GET', path), signal, {
      restart: () => {
        bytes = 0
        hash = createHash('sha256')
      },
      bytes: (piece) => {
        bytes += piece.length
        hash.update(piece)
        release(piece)
      },
    })
    return found ? { bytes, sha256: hash.digest('hex') } : null
  }

  async function list(path: string, signal: AbortSignal): Promise<DriveEntry[]> {
    const asked = call('GET', path, '?list=1')
    const { status, body } = await caller.ask({ ...asked, expected: [404] }, signal)
    if (status === 404) return []
    const { entries } = readJson(asked, body)
    if (!Array.isArray(entries)) throw notDrive9(asked, 'a list without entries')
    return entries.map((entry) => readEntry(asked, entry as Record<string, unknown>))
  }

  async function digestSmall(paths: string[], signal: AbortSignal): Promise<(FileDigest | null)[]> {
    const named = { method: 'POST', path: '/v1/fs:batch-read-small' }
    for (const path of paths) encodePath(path)
    const body = new TextEncoder().encode(JSON.stringify({ paths, max_bytes: smallFileBytes }))
    const headers = { 'content-type': 'application/json' }
    const asked = { ...named, url: address(named.path), withKey: true, idempotent: true, headers, body }
    const { results } = readJson(named, (await caller.ask(asked, signal)).body)
    if (!Array.isArray(results) || results.length !== paths.length)
      throw notDrive9(named, 'other files than were asked for')
    return results.map((result: { status?: unknown; data?: unknown }) => {
      if (result?.status !== 200 || typeof result.data !== 'string') return null
      const bytes = Buffer.from(result.data, 'base64')
      return { bytes: bytes.length, sha256: sha256(bytes) }
    })
  }

  async function remove(
    path: string,
    options: { recursive: boolean; atRevision?: number; signal: AbortSignal },
  ): Promise<boolean> {
    if (options.atRevision !== undefined) return removeAt(path, options.atRevision, options.signal)
    const asked = options.recursive ? call('DELETE', path, '?recursive=1') : small(call('DELETE', path))
    const { status, afterLoss } = await caller.ask({ ...asked, expected: [404] }, options.signal)
    // Gone after a try whose answer was lost: that try has done it.
    return status !== 404 || afterLoss
  }

  function removeAt(path: string, revision: number, signal: AbortSignal): Promise<boolean> {
    const asked = { ...small(call('DELETE', path)), expected: [404], idempotent: false, once: true }
    const attempt = async (number: number) => {
      const there = await stat(path, signal)
      // Gone after an attempt whose answer was lost: that attempt has done it.
      if (there === null) return number > 1
      if (there.revision !== revision) return false
      return (await caller.ask(forAttempt(asked, number), signal)).status !== 404
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
    const asked = { ...small(call('POST', to, '?rename=1')), headers, expected: [404] }
    const { status, afterLoss } = await caller.ask(asked, signal)
    // Gone after a try whose answer was lost: that try has moved it.
    return status !== 404 || afterLoss
  }

  async function issueToken(request: TokenRequest, signal: AbortSignal): Promise<DriveToken> {
    const named = { method: 'POST', path: '/v1/tokens' }
    encodePath(request.prefix)
    const value = {
      subject: request.subject.slice(0, 64),
      ttl_seconds: Math.ceil(request.lifetimeSeconds),
      scopes: [{ prefix: request.prefix, ops: request.operations }],
    }
    const body = new TextEncoder().encode(JSON.stringify(value))
    const headers = { 'content-type': 'application/json' }
    const asked: Call = {
      ...named,
      url: address(named.path),
      withKey: true,
      idempotent: false,
      againWhenClosed: true,
      headers,
      body,
    }
    const answer = await caller.ask(asked, signal).catch((error: unknown) => {
      // A token whose secret was lost expires by itself, so it is not retried here.
      throw error instanceof Lost ? error.error : error
    })
    const { token, token_id: id, expires_at: expiresAt } = readJson(named, answer.body)
    if (typeof token !== 'string' || typeof id !== 'string' || typeof expiresAt !== 'string') {
      throw notDrive9(named, 'a reply without a token')
    }
    return { id, secret: token, expiresAt }
  }

  async function revokeToken(id: string, signal: AbortSignal): Promise<void> {
    const path = `/v1/tokens/${encodeURIComponent(id)}`
    const asked = small({ method: 'DELETE', path, url: address(path), withKey: true, idempotent: true })
    await caller.ask({ ...asked, expected: [404] }, signal)
  }

  async function status(signal: AbortSignal): Promise<DriveStatus> {
    const asked = { method: 'GET', path: '/v1/status', url: address('/v1/status'), withKey: true, idempotent: true }
    const answer = await caller.ask({ ...asked, expected: [503] }, signal)
    if (answer.status === 503) return { ready: false }
    const { status: state, kind, max_upload_bytes: most } = readJson(asked, answer.body)
    return {
      ready: state === 'active',
      ...(typeof kind === 'string' ? { kind } : {}),
      ...(typeof most === 'number' ? { largestFileBytes: most } : {}),
    }
  }

  const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
  const ground: Ground = { caller, address, file, stat, digest, sha256, times, clock }

  return {
    server,
    hosts: [...new Set([hostOf(server), ...(settings.hosts ?? [])])],
    status,
    read,
    digest,
    stat,
    digestSmall,
    list,
    write: async (path, bytes, options) => {
      encodePath(path)
      const { writeFile } = await import('./upload.js')
      return writeFile(ground, path, bytes, options)
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
