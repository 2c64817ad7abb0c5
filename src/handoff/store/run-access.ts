// Opens a run directory for a sandbox: a token with a short life, and a file that proves to the sandbox that its mount shows this directory.
import { HandoffError, ignoreFailure, isHandoffError } from '../domain/errors.js'
import type { Drive, DriveOperation, DriveToken, Ports } from '../domain/ports.js'
import { type RunId, shaOf, stageOf } from '../domain/run.js'
import { cleanupSignal } from '../util/abort.js'
import { writeOnce } from './publish-run.js'
import { sha256 } from './run-store.js'

/** Its token is revoked when it is disposed of. */
export interface OpenedRun extends AsyncDisposable {
  token: DriveToken
  /** The directory that the token opens. */
  stage: string
  marker: { path: string; sha256: string }
  /** Idempotent, with its own timeout. */
  revoke(): Promise<void>
}

type SealedAccess = AsyncDisposable & Pick<OpenedRun, 'token' | 'revoke'>

const markerPath = '.handoff-marker'

/**
 * Claims the run directory for one attempt, and opens its stage with a token and a marker that proves a mount. Answers, the summary and the seal are
 * beside the stage, where the token does not reach.
 */
export async function openRun(
  ports: Pick<Ports, 'drive' | 'emit'>,
  directory: string,
  secret: string,
  lifetimeSeconds: number,
  signal: AbortSignal,
): Promise<OpenedRun> {
  const { drive } = ports
  const marker = new TextEncoder().encode(`${secret}\n`)
  const stage = stageOf(directory)
  const [token, claimed] = await Promise.allSettled([
    issue(ports, directory, stage, ['read', 'list', 'write', 'delete'], lifetimeSeconds, signal),
    writeOnce(drive, `${directory}/${markerPath}`, marker, signal),
  ])
  if (token.status === 'rejected') throw token.reason
  const access = revokedWhenDisposed(drive, token.value)
  try {
    if (claimed.status === 'rejected') throw claimed.reason
    // Written when the claim is certain, so that an attempt that comes too late does not replace the marker of the first.
    await drive.write(`${stage}/${markerPath}`, marker, { signal })
  } catch (error) {
    await access.revoke().catch(ignoreFailure)
    throw isHandoffError(error, 'conflict') ? startedBefore(directory) : error
  }
  return { ...access, stage, marker: { path: markerPath, sha256: sha256(marker) } }
}

function startedBefore(directory: string): HandoffError {
  return new HandoffError('conflict', `The run directory ${directory} was started before.`, {
    next: 'Start again under another attempt name; two attempts never share a directory.',
  })
}

/** Names of unexpected files that are reported, and folders that are looked into for them. */
const most = { names: 20, folders: 50 }

/**
 * Moves what the sandbox reported out of the stage, so that no token of a sandbox reaches it when it is verified. Call it when the sandbox is gone. Returns
 * how to remove the stage, which resolves with the files that were not reported.
 */
export async function takeFromStage(
  drive: Drive,
  directory: string,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<() => Promise<string[]>> {
  const stage = stageOf(directory)
  await Promise.all(paths.map((path) => drive.move(`${stage}/${path}`, `${directory}/${path}`, signal)))
  return async () => {
    const left = await listFiles(drive, stage, signal)
    await drive.remove(stage, { recursive: true, signal })
    return left.filter((path) => path !== markerPath && !isTemporaryName(path))
  }
}

async function listFiles(drive: Drive, top: string, signal: AbortSignal): Promise<string[]> {
  const found: string[] = []
  const folders = ['']
  for (let looked = 0; looked < folders.length && looked < most.folders && found.length <= most.names; looked += 1) {
    for (const { name, isDirectory } of await drive.list(`${top}${folders[looked]}`, signal)) {
      const path = `${folders[looked]}/${name}`
      if (isDirectory) folders.push(path)
      else found.push(path.slice(1))
    }
  }
  return found
}

/** A request that was delivered twice leaves the temporary file of a copy. */
const isTemporaryName = (path: string) => /(^|\/)\.handoff-\d+\.tmp$/.test(path)

/** For a sandbox that may only read. */
export async function openSealed(
  ports: Pick<Ports, 'drive' | 'emit'>,
  directory: string,
  lifetimeSeconds: number,
  signal: AbortSignal,
): Promise<SealedAccess> {
  const token = await issue(ports, directory, directory, ['read', 'list'], lifetimeSeconds, signal)
  return revokedWhenDisposed(ports.drive, token)
}

/** How long to wait for a requested token after an abort. A token with a known id can be revoked. */
const lingerMs = 2_000

async function issue(
  { drive, emit }: Pick<Ports, 'drive' | 'emit'>,
  directory: string,
  prefix: string,
  operations: DriveOperation[],
  lifetimeSeconds: number,
  signal: AbortSignal,
): Promise<DriveToken> {
  const subject = `handoff-${shaOf(directory.slice(directory.lastIndexOf('/') + 1) as RunId).slice(0, 12)}`
  const patience = new AbortController()
  let clock: NodeJS.Timeout | undefined
  const hurry = () => {
    clock = setTimeout(() => patience.abort(signal.reason), lingerMs)
  }
  if (signal.aborted) patience.abort(signal.reason)
  else signal.addEventListener('abort', hurry)
  try {
    const token = await drive.issueToken({ prefix, operations, lifetimeSeconds, subject }, patience.signal)
    emit({ type: 'token-issued', id: token.id })
    return token
  } finally {
    signal.removeEventListener('abort', hurry)
    clearTimeout(clock)
  }
}

function revokedWhenDisposed(drive: Drive, token: DriveToken): SealedAccess {
  let revoking: Promise<void> | undefined
  const revoke = () => (revoking ??= drive.revokeToken(token.id, cleanupSignal()))
  return { token, revoke, [Symbol.asyncDispose]: revoke }
}
