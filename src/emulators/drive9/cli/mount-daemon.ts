// The process behind a mount. It runs until it is unmounted or stopped, or until its directory disappears with a destroyed sandbox.
import { randomUUID } from 'node:crypto'
import { appendFileSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { openRemote, type Remote, type RemoteEntry, RemoteError } from './api-client.js'
import { type ControlRequest, listen } from './control-server.js'
import type { Credentials } from './credentials.js'
import { localOnly } from './directory-index.js'
import { type DrainReport, drain } from './drain.js'
import { errorNumber } from './error-numbers.js'
import { keepFailed, restoreFailed } from './failed-uploads.js'
import { type Mirror, makeMirror } from './mirror.js'
import {
  birthOf,
  clearExit,
  type ExitRecord,
  type MountState,
  type Places,
  writeExit,
  writeState,
} from './mount-files.js'
import { makeQueue, type Queue } from './upload-queue.js'
import { watchFolders } from './watch-folders.js'

export interface MountSettings extends Credentials {
  remoteRoot: string
  profile: string
  localOnly: string[]
  remoteOnly: string[]
  readOnly: boolean
  supervised: boolean
  durability: string
  workers: number
  stopTimeout: number
  scale: number
}

/** Why a mount did not start. The codes are the real program's: 5 will not get better by itself, 6 may. */
export interface StartFailure {
  code: 5 | 6
  kind: 'missing' | 'refused' | 'unreachable'
  message: string
}

interface Mounted {
  /** The exit code, when it is over. */
  ended: Promise<number>
}

export async function startMount(settings: MountSettings, places: Places): Promise<Mounted | StartFailure> {
  const log = openLog(places.log)
  const remote = openRemote(settings)
  try {
    return await bringUp(settings, places, remote, log)
  } catch (error) {
    remote.close()
    await clear(places.mountpoint)
    log(`mount failed: ${error instanceof Error ? error.message : String(error)}`)
    if (error instanceof RemoteError) return failureOf(error)
    throw error
  }
}

/** Where the truth is. That it cannot be written (the machine is being taken away) must not stop anything. */
function openLog(file: string): (text: string) => void {
  mkdirSync(dirname(file), { recursive: true })
  return (text) => {
    try {
      appendFileSync(file, `${new Date().toISOString()} ${text}\n`, { mode: 0o600 })
    } catch {
      // The log directory is gone, so the line has no reader.
    }
  }
}

async function clear(directory: string): Promise<void> {
  for (const name of readdirSync(directory)) await rm(join(directory, name), { recursive: true, force: true })
}

function failureOf({ status, message }: RemoteError): StartFailure {
  if (status === 404) return { code: 5, kind: 'missing', message }
  return { code: 6, kind: status === 0 ? 'unreachable' : 'refused', message }
}

async function bringUp(settings: MountSettings, places: Places, remote: Remote, log: Log): Promise<Mounted> {
  const { remoteRoot, durability, readOnly, workers, scale } = settings
  const { top, roundTrip } = await askForRoot(remote, remoteRoot)
  const isLocal = localOnly(settings.profile, settings.localOnly, settings.remoteOnly)
  const common = { directory: places.mountpoint, remoteRoot, remote, log }
  const strict = durability === 'auto' ? roundTrip <= 10 : durability !== 'interactive'
  const wishes: Wishes = { later: () => undefined }
  const mirror = makeMirror({ ...common, readOnly, isLocal, later: () => wishes.later() }, () => queue)
  const onUnauthorized = () => void mirror.breakAll().catch((error: unknown) => log(String(error)))
  const queue = makeQueue({ ...common, workers, scale, strict, onUnauthorized })
  await mirror.populate(top)
  if (!readOnly) await restoreFailed(places, remoteRoot, mirror, queue)
  return serveMount(settings, places, { mirror, queue, remote, log, wishes, strict })
}

type Log = (text: string) => void

/** What the mirror wants of who watches the directory, who is there only after it. */
interface Wishes {
  later: () => void
}

/** Two questions side by side; the slower answer is taken for the distance to the server. */
async function askForRoot(remote: Remote, root: string): Promise<{ top: RemoteEntry[]; roundTrip: number }> {
  const start = performance.now()
  const [stat, top] = await Promise.allSettled([remote.stat(root), remote.list(root)])
  const named = (reason: unknown, what: string) =>
    reason instanceof RemoteError ? new RemoteError(reason.status, `remote ${what}: ${reason.message}`) : reason
  // A refused list says why; a refused stat has no body to say it in.
  if (top.status === 'rejected') throw named(top.reason, `root "${root}"`)
  if (stat.status === 'rejected') throw named(stat.reason, `source "${root}" does not exist`)
  if (!stat.value.isDirectory) throw new RemoteError(404, `remote root "${root}" is not a directory`)
  return { top: top.value, roundTrip: performance.now() - start }
}

interface Parts {
  mirror: Mirror
  queue: Queue
  remote: Remote
  log: Log
  wishes: Wishes
  /** `fsync` uploads. */
  strict: boolean
}

async function serveMount(settings: MountSettings, places: Places, parts: Parts): Promise<Mounted> {
  const { mirror, queue, remote, log, wishes } = parts
  const directory = places.mountpoint
  const noted = (work: Promise<unknown>) => void work.catch((error: unknown) => log(String(error)))
  let end: (code: number) => void = () => undefined
  const ended = new Promise<number>((resolve) => {
    end = resolve
  })
  let leaving: Promise<void> | undefined

  const watching = watchFolders(directory, () => {
    if (!leaving) noted(mirror.reconcile(false))
  })
  wishes.later = watching.poke
  const inode = statSync(directory).ino
  const presence = setInterval(() => {
    if (!isThere(directory, inode)) noted(stop('the directory is gone', 0))
  }, 500)
  const expiry = atExpiry(settings.key, mirror)
  const state = newState(settings, places)
  const control = await listen(state.control_secret, answer)

  async function answer(request: ControlRequest): Promise<object> {
    const { op } = request
    if (op === 'drain') return drain({ mirror, queue, mountpoint: directory }, request.timeout ?? 30_000)
    if (op === 'umount') await leave(request.timeout ?? 60_000)
    if ('path' in request) return passToServer(request, settings.remoteRoot, parts)
    return { ok: true, mount_point: directory, op, pid: process.pid, started_at: state.started_at }
  }

  function leave(timeout: number): Promise<void> {
    leaving ??= drain({ mirror, queue, mountpoint: directory }, Math.max(timeout, 1)).then(finish)
    return leaving
  }

  async function finish(report: DrainReport): Promise<void> {
    queue.abandon()
    const record = exitRecordOf(report)
    writeExit(places, record)
    await keepFailed(places, settings.remoteRoot, mirror)
    watching.close()
    await clear(directory)
    await stop('unmounted', record.code)
  }

  async function stop(why: string, code: number): Promise<void> {
    log(`mount ends: ${why}`)
    clearInterval(presence)
    expiry.close()
    watching.close()
    remote.close()
    await rm(places.state, { force: true })
    control.close(() => end(code))
  }

  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (leaving) process.exit(1)
      noted(leave(settings.stopTimeout))
    })
  }
  clearExit(places)
  writeState(places, { ...state, control_port: control.port })
  log(`mounted ${settings.remoteRoot} of ${settings.server}`)
  return { ended }
}

/** Empty, or with the error number that the real mount returns. */
async function passToServer(
  { op, path, target = '' }: Extract<ControlRequest, { path: string }>,
  remoteRoot: string,
  { mirror, queue, remote, strict }: Parts,
): Promise<{ error?: string }> {
  const there = `${remoteRoot.replace(/\/$/, '')}/${path}`
  if (op === 'mkdir') return errorOf(remote.makeDirectory(there))
  if (op === 'symlink') return errorOf(remote.link(there, target))
  if (!strict) return {}
  await mirror.reconcile(true)
  const entry = mirror.index.get(path)
  await queue.idle(60_000)
  return entry?.state === 'conflict' ? { error: entry.refused ?? 'EIO' } : {}
}

const errorOf = (work: Promise<void>): Promise<{ error?: string }> =>
  work.then(
    () => ({}),
    (error: unknown) => ({ error: errorNumber(error) }),
  )

function newState(settings: MountSettings, places: Places): MountState {
  return {
    pid: process.pid,
    creation_time: birthOf(process.pid) ?? 0,
    component: 'drive9',
    mount_kind: 'fuse',
    mount_point: places.mountpoint,
    remote_root: settings.remoteRoot,
    server: settings.server,
    profile: settings.profile,
    credential_kind: 'api_key',
    api_key: settings.key,
    started_at: new Date().toISOString(),
    log_path: places.log,
    supervise: settings.supervised,
    control_port: 0,
    control_secret: randomUUID(),
  }
}

/** Files that were given up are not counted: the real program does not count them either. */
function exitRecordOf({ pending }: DrainReport): ExitRecord {
  const forced = pending.commit_queue_pending > 0
  return {
    reason: 'signal',
    ...(forced ? { detail: 'force quit after second signal' } : {}),
    code: forced ? 1 : 0,
    pid: process.pid,
    pending_files: pending.commit_queue_pending,
    pending_bytes: pending.commit_queue_bytes,
    at: new Date().toISOString(),
  }
}

function isThere(directory: string, inode: number): boolean {
  try {
    return statSync(directory).ino === inode
  } catch {
    return false
  }
}

/** Breaks the mount when its token ends, without being asked. The server's clock may be behind ours. */
function atExpiry(key: string, mirror: Mirror): { close(): void } {
  const left = expiresIn(key)
  let timer = left === undefined ? undefined : setTimeout(look, left)
  let closed = false
  async function look(): Promise<void> {
    const broken = await mirror.breakAll().catch(() => false)
    if (!broken && !closed) timer = setTimeout(look, 500)
  }
  return {
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}

/** Milliseconds until a scoped token is over; undefined for a key without an end, or one that cannot be read. */
function expiresIn(key: string): number | undefined {
  try {
    const jwt = Buffer.from(key.replace(/^drive9_/, ''), 'base64url').toString('utf8')
    const claims = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString('utf8')) as { exp?: number }
    if (typeof claims.exp !== 'number') return undefined
    const left = claims.exp * 1000 - Date.now()
    // Longer than a timer can be set for is longer than a sandbox lives.
    return left < 2 ** 31 - 1000 ? Math.max(left, 0) : undefined
  } catch {
    return undefined
  }
}
