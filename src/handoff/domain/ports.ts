// The interfaces of the outside services. Every implementation of one passes the same suite in test/contract.
//
// Every call takes an AbortSignal and rejects with a HandoffError, never with an SDK's error or a secret in a message.

import type { HandoffError } from './errors.js'
import type { WantedReply } from './model-limits.js'
import type { RunEvent } from './run-events.js'
import type { Usage } from './usage.js'

export interface Ports {
  sandboxes: Sandboxes
  drive: Drive
  model: Model
  git: GitHost
  clock: Clock
  /** Time-ordered, unique, lowercase letters and digits. */
  uniqueId: () => string
  /** Called with each event. Must return at once and must not throw. */
  emit: (event: RunEvent) => void
}

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Resolves after this many milliseconds; rejects with `abortError` as soon as the signal is aborted. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>
}

// ── sandboxes ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface SandboxRequest {
  /** Metadata of the sandbox, by which an orphan can be found. */
  metadata: Record<string, string>
  /** The service kills the sandbox after this time, even if this process dies. */
  lifetimeMs: number
  /** The only hosts that the sandbox may reach, if the account supports it. */
  egress: string[]
  /** Headers that E2B adds outside the sandbox to requests for a host, if the account supports it. */
  injectHeaders?: { host: string; headers: Record<string, string> }[]
}

export interface Sandboxes {
  /** One round trip (a sandbox of `base` needs more to be prepared). A refused option is given up, once, with a notice. */
  open(request: SandboxRequest, signal: AbortSignal): Promise<Sandbox>
  /** Sandboxes with all of this metadata. */
  find(metadata: Record<string, string>, signal: AbortSignal): Promise<FoundSandbox[]>
  /** Idempotent: false if it did not exist. */
  kill(id: string, signal: AbortSignal): Promise<boolean>
  /** The service reports that a sandbox ended. If this process still uses it, its commands fail at once; false otherwise. */
  endedOutside(id: string, reason: string): Promise<boolean>
  /** Loads the code that the first call needs. Sends no request. */
  warm?(): Promise<void>
}

export interface FoundSandbox {
  id: string
  startedAt: string
  /** When the service kills it, unless its owner extends the timeout. */
  endsAt: string
  metadata: Record<string, string>
}

export interface Sandbox {
  id: string
  template: string
  /** What the account supports. */
  egressLimited: boolean
  headersInjected: boolean
  /** Runs one command to its end; one round trip. `onOutput` gets standard output in order, as it comes. A non-zero exit is not an error. */
  run(command: string, options: RunOptions): Promise<{ exitCode: number; stderrTail: string }>
  /** From now on the sandbox reaches these hosts only, and no header is added to its requests, as far as the account supports it. */
  restrictNetwork(egress: string[], signal: AbortSignal): Promise<void>
  /** Idempotent, and safe while a command runs. Resolves when the sandbox is known to be gone. */
  kill(): Promise<void>
}

export interface RunOptions {
  /** Secrets and parameters; never part of the command's text. */
  environment: Record<string, string>
  timeoutMs: number
  onOutput: (text: string) => void
  signal: AbortSignal
}

// ── the durable directory ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface Drive {
  status(signal: AbortSignal): Promise<DriveStatus>
  /** Null if the file does not exist. Rejects files over `maxBytes`. */
  read(path: string, options: { maxBytes: number; signal: AbortSignal }): Promise<Uint8Array | null>
  /** Hashes a file of any size without keeping it in memory. Null if it does not exist. */
  digest(path: string, signal: AbortSignal): Promise<FileDigest | null>
  /** Of up to `smallFilesAtOnce` files below `smallFileBytes`, in one request. Null for each that does not exist or is not small. */
  digestSmall(paths: string[], signal: AbortSignal): Promise<(FileDigest | null)[]>
  /** An address that gives ranges of a large file without a key, for some minutes. Undefined for a file that the service gives itself. */
  locate(path: string, signal: AbortSignal): Promise<string | undefined>
  /** The first bytes of the file at an address that `locate` gave. */
  readStart(path: string, address: string, bytes: number, signal: AbortSignal): Promise<Uint8Array>
  /** Null if nothing exists at the path. */
  stat(path: string, signal: AbortSignal): Promise<DriveStat | null>
  /** A directory that does not exist is listed as empty, as drive9 does it. */
  list(path: string, signal: AbortSignal): Promise<DriveEntry[]>
  /**
   * Any size. `expectedRevision` 0 means it must not exist yet, n that it must still be at n; a miss rejects with `conflict`. Without it the
   * last writer wins. After a reply that was lost, the file is read back: the same bytes there means written.
   */
  write(
    path: string,
    bytes: Uint8Array,
    options: { expectedRevision?: number; signal: AbortSignal },
  ): Promise<{ revision: number }>
  /**
   * Idempotent: false if it did not exist. With `atRevision` the file is looked at before each try, and at another revision it stays. drive9 has no
   * conditional delete, so a file that is written between the look and the deletion is deleted.
   */
  remove(path: string, options: { recursive: boolean; atRevision?: number; signal: AbortSignal }): Promise<boolean>
  /** Moves a file, or a directory with all in it, and creates the folders on the way. Idempotent: false if nothing was there. */
  move(from: string, to: string, signal: AbortSignal): Promise<boolean>
  /** Issues a token for one directory that expires. */
  issueToken(request: TokenRequest, signal: AbortSignal): Promise<DriveToken>
  /** Idempotent. */
  revokeToken(id: string, signal: AbortSignal): Promise<void>
  /** The address of the service for a sandbox, and the hosts that the sandbox must reach. */
  readonly server: string
  readonly hosts: string[]
}

export interface DriveStatus {
  ready: boolean
  kind?: string
  /** Absent where the server names no limit. */
  largestFileBytes?: number
}

export interface FileDigest {
  bytes: number
  sha256: string
}

/** From this size on drive9 keeps a file in its object storage, and one request reads one file. */
export const smallFileBytes = 50_000
export const smallFilesAtOnce = 128

export interface DriveStat {
  size: number
  revision: number
  isDirectory: boolean
}

export interface DriveEntry {
  name: string
  size: number
  isDirectory: boolean
  revision: number
  modifiedAt?: string | undefined
}

export type DriveOperation = 'read' | 'list' | 'write' | 'delete'

export interface TokenRequest {
  prefix: string
  operations: DriveOperation[]
  lifetimeSeconds: number
  subject: string
}

export interface DriveToken {
  id: string
  secret: string
  expiresAt: string
}

// ── the journal ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** An append-only log that the drive's server chains by hashes. A server may have none. */
export interface Journal {
  /** Appends these entries once, however often it is called with this key. False if the server has no journals. */
  append(
    journal: { id: string; title: string },
    key: string,
    entries: NewEntry[],
    signal: AbortSignal,
  ): Promise<boolean>
  /** From the oldest. */
  entries(id: string, signal: AbortSignal): AsyncIterable<JournalEntry>
  /** What the server says of the chain; undefined if there is no such journal. */
  verify(id: string, signal: AbortSignal): Promise<{ ok: boolean; entries: number; headHash: string } | undefined>
}

export interface NewEntry {
  type: string
  actor?: { type: string; id: string }
  /** `type:id` of what the entry is about. */
  subjects: string[]
  summary: Record<string, unknown>
}

export interface JournalEntry {
  seq: number
  type: string
  at: string
  actor: string
  summary: Record<string, unknown>
  previousHash: string
  hash: string
}

// ── the model ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface ModelRequest extends WantedReply {
  /** Which of our prompts this is, for events and the record: `summary`, `part`, `answer`, `terms`. */
  purpose: string
  messages: { role: 'system' | 'user' | 'assistant'; content: string }[]
  /** Called with each piece of text as it comes. When it is absent the reply may be asked for in one piece. */
  onText?: ((piece: string) => void) | undefined
  /** The caller's `traceparent`, for the service's own records. */
  trace?: string
  signal: AbortSignal
}

export interface ModelReply {
  text: string
  /** True if the text is incomplete: a limit or a filter cut it, or the service did not report its end. */
  truncated: boolean
  /** Why the text is missing or short, and what to do about it. */
  problem?: HandoffError
  /** True if a retry with `wide` may return the whole text: thinking used too much of the limit. */
  mayWiden?: boolean
  usage: Usage
}

export interface Model {
  readonly name: string
  /** The host of the service's address, for the record. */
  readonly host: string
  /** Tokens in one request, input and output together, that the model takes. */
  readonly contextTokens: number
  /** Tokens that such a reply may have: its text, and the thinking before it. */
  replyTokens(wanted: WantedReply): number
  /** Tokens that a reply is expected to think, for estimates. */
  readonly expectedThinking: number
  /**
   * Retries where it is safe, within the signal's time. A reply without text resolves, with its problem: it is paid for. Rejects with `model`,
   * `model-limit`, `timeout` or `cancelled`.
   */
  complete(request: ModelRequest): Promise<ModelReply>
  /** About as many tokens as the model counts; with a margin where its vocabulary is not known. */
  estimateTokens(text: string): number
  /** Rejects when the service refuses the key or does not have the model. Asks once; a failure is asked for again. Free of charge. */
  check?(signal: AbortSignal): Promise<void>
  /** Loads the code that the first call needs. Sends no request. */
  warm?(): Promise<void>
}

// ── the git host ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface GitHost {
  /**
   * What these refs point to now, in one request; a ref that is not there is absent from the answer. Full names, or `HEAD`; where HEAD is
   * asked for and stands for a branch, the branch is in the answer too. An annotated tag counts as the commit it stands for.
   */
  heads(cloneUrl: string, refs: string[], signal: AbortSignal): Promise<Map<string, string>>
}
