// What the handlers of the local drive9 share, and the request as they see it.
import type { RecordedRequest } from '../../faulty-server.js'
import type { Tree } from './file-tree.js'
import type { Caller, Keys } from './keys.js'
import type { Objects } from './object-storage.js'
import { refuse } from './refusal.js'

export interface DriveState {
  tree: Tree
  objects: Objects
  keys: Keys
  uploads: Uploads
  links: Links
  /** By their ids. */
  journals: Map<string, StoredJournal>
  hasJournals: boolean
  now: () => number
  /** From this size on a file lives in the object storage: read through a redirect, written through an upload. */
  inlineThreshold: number
  maxUploadBytes: number
}

export interface StoredEntry {
  seq: number
  prev_hash: string
  entry_hash: string
  [field: string]: unknown
}

export interface StoredJournal {
  title: string
  genesis: string
  entries: StoredEntry[]
  /** By idempotency key: the body, and what was answered. */
  appends: Map<string, { body: string; reply: Record<string, unknown> }>
}

export interface Upload {
  id: string
  path: string
  size: number
  partCount: number
  expectedRevision: number | undefined
  expiresAt: number
  state: 'open' | 'completed' | 'aborted'
  parts: Map<number, { bytes: Buffer; etag: string }>
}

type Uploads = Map<string, Upload>

export interface Call {
  drive: DriveState
  request: RecordedRequest
  /** The path of the address, still percent-encoded, and its query. */
  path: string
  query: URLSearchParams
  caller: Caller
  /** Where the caller reached us; presigned addresses stand on it. */
  origin: string
}

/** Presigned URLs: each allows one operation on one object for some minutes, without a key. */
export interface Links {
  sign(use: LinkUse): { path: string; expiresAt: number }
  open(path: string): { use: LinkUse; expired: boolean } | undefined
}

type LinkUse = { kind: 'get'; object: string } | { kind: 'put'; upload: string; part: number }

export function readJson(request: RecordedRequest): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(request.body.toString('utf8'))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // Said below, as for a body that is JSON but not an object.
  }
  return refuse(400, 'invalid JSON')
}
