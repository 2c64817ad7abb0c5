// Opens a run directory for a sandbox: a token with a short life, and a file that proves to the sandbox that its mount shows this directory.
import { HandoffError, isHandoffError } from '../domain/errors.js'
import type { Drive, DriveOperation, DriveToken, Ports } from '../domain/ports.js'
import { type RunId, shaOf } from '../domain/run.js'
import { cleanupSignal } from '../util/step-timer.js'
import { writeOnce } from './publish-run.js'
import { sha256 } from './run-store.js'

export interface OpenedRun {
  token: DriveToken
  marker: { path: string; sha256: string }
  /** Idempotent, with its own timeout. */
  revoke(): Promise<void>
}

const markerPath = '.handoff-marker'

/** Creates the directory, a token for it alone, and a marker that proves a mount. Concurrent: writing the marker creates the directory. */
export async function openRun(
  ports: Pick<Ports, 'drive' | 'emit'>,
  directory: string,
  secret: string,
  lifetimeSeconds: number,
  signal: AbortSignal,
): Promise<OpenedRun> {
  const marker = new TextEncoder().encode(`${secret}\n`)
  const [token, marked] = await Promise.allSettled([
    issue(ports, directory, ['read', 'list', 'write', 'delete'], lifetimeSeconds, signal),
    writeOnce(ports.drive, `${directory}/${markerPath}`, marker, signal),
  ])
  if (token.status === 'rejected') throw token.reason
  const revoke = makeRevoke(ports.drive, token.value)
  if (marked.status === 'rejected') {
    await revoke().catch(() => undefined)
    throw isHandoffError(marked.reason, 'conflict') ? startedBefore(directory) : marked.reason
  }
  return { token: token.value, marker: { path: markerPath, sha256: sha256(marker) }, revoke }
}

function startedBefore(directory: string): HandoffError {
  return new HandoffError('conflict', `The run directory ${directory} was started before.`, {
    next: 'Start again under another attempt name; two attempts never share a directory.',
  })
}

/** For a sandbox that may only read. */
export async function openSealed(
  ports: Pick<Ports, 'drive' | 'emit'>,
  directory: string,
  lifetimeSeconds: number,
  signal: AbortSignal,
): Promise<Pick<OpenedRun, 'token' | 'revoke'>> {
  const token = await issue(ports, directory, ['read', 'list'], lifetimeSeconds, signal)
  return { token, revoke: makeRevoke(ports.drive, token) }
}

/** How long to wait for a requested token after an abort. A token with a known id can be revoked. */
const lingerMs = 2_000

async function issue(
  { drive, emit }: Pick<Ports, 'drive' | 'emit'>,
  prefix: string,
  operations: DriveOperation[],
  lifetimeSeconds: number,
  signal: AbortSignal,
): Promise<DriveToken> {
  const subject = `handoff-${shaOf(prefix.slice(prefix.lastIndexOf('/') + 1) as RunId).slice(0, 12)}`
  const patience = new AbortController()
  let clock: NodeJS.Timeout | undefined
  const hurry = () => {
    clock = setTimeout(() => patience.abort(signal.reason), lingerMs)
  }
  if (signal.aborted) patience.abort(signal.reason)
  else signal.addEventListener('abort', hurry, { once: true })
  try {
    const token = await drive.issueToken({ prefix, operations, lifetimeSeconds, subject }, patience.signal)
    emit({ type: 'token-issued', id: token.id })
    return token
  } finally {
    signal.removeEventListener('abort', hurry)
    clearTimeout(clock)
  }
}

function makeRevoke(drive: Drive, token: DriveToken): () => Promise<void> {
  let revoking: Promise<void> | undefined
  return () => (revoking ??= drive.revokeToken(token.id, cleanupSignal()))
}
