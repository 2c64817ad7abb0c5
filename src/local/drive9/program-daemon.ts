// The process behind a mount: it lives until it is unmounted, told to stop, or its directory is gone (a sandbox that was destroyed).
import { randomUUID, timingSafeEqual } from 'node:crypto'
import { appendFileSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { Exit } from './program-arguments.js'
import type { Credentials } from './program-credentials.js'
import { type DrainReport, drain } from './program-drain.js'
import { keepFailed, restoreFailed } from './program-failed.js'
import { localOnly } from './program-index.js'
import { type Mirror, makeMirror } from './program-mirror.js'
import { birthOf, clearExit, type Places, writeExit, writeState } from './program-places.js'
import { makeQueue, type Queue } from './program-queue.js'
import { openRemote, type Remote, type RemoteEntry, RemoteError } from './program-remote.js'
import { watchFolders } from './program-watch.js'

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

export interface Mounted {
  /** The exit code, when it is over. */
  ended: Promise<number>
}

export async function startMount(settings: MountSettings, places: Places): Promise<Mounted | StartFailure> {
  mkdirSync(dirname(places.log), { recursive: true })
  const log = (text: string) => appendFileSync(places.log, `${new Date().toISOString()} ${text}\n`, { mode: 0o600 })
  const remote = openRemote(settings)
  try {
    return await bringUp(settings, places, remote, log)
  } catch (error) {
    remote.close()
    if (!(error instanceof RemoteError)) throw error
    log(`mount failed: ${error.message}`)
    return failureOf(error)
  }
}

function failureOf({ status, message }: RemoteError): StartFailure {
  if (status === 404) return { code: 5, kind: 'missing', message }
  return { code: 6, kind: status === 0 ? 'unreachable' : 'refused', message }
}

async function bringUp(
  settings: MountSettings,
  places: Places,
  remote: Remote,
  log: (text: string) => void,
): Promise<Mounted> {
  const { top, roundTrip } = await askForRoot(remote, settings.remoteRoot)
  const isLocal = localOnly(settings.profile, settings.localOnly, settings.remoteOnly)
  const common = { directory: places.mountpoint, remoteRoot: settings.remoteRoot, remote, log }
  const { durability } = settings
  const strict = durability === 'auto' ? roundTrip <= 10 : durability !== 'interactive'
  let later: () => void = () => undefined
  const { readOnly } = settings
  const mirror = makeMirror({ ...common, readOnly, isLocal, later: () => later() }, () => queue)
  const onUnauthorized = () => void mirror.breakAll()
  const queue = makeQueue({ ...common, workers: settings.workers, scale: settings.scale, strict, onUnauthorized })
  await mirror.populate(top)
  if (!settings.readOnly) await restoreFailed(places, settings.remoteRoot, mirror, queue)
  const onLater = (call: () => void) => {
    later = call
  }
  return serveMount(settings, places, { mirror, queue, remote, log, onLater })
}

/** Two questions side by side; the slower answer is taken for the distance to the server. */
async function askForRoot(remote: Remote, root: string): Promise<{ top: RemoteEntry[]; roundTrip: number }> {
  const start = performance.now()
  const [stat, top] = await Promise.allSettled([remote.stat(root), remote.list(root)])
  // A refused list says why; a refused stat has no body to say it in.
  if (top.status === 'rejected') throw top.reason
  if (stat.status === 'rejected') throw stat.reason
  if (!stat.value.isDirectory) throw new RemoteError(404, `${root} is not a directory`)
  return { top: top.value, roundTrip: performance.now() - start }
}

interface Parts {
  mirror: Mirror
  queue: Queue
  remote: Remote
  log: (text: string) => void
  onLater: (call: () => void) => void
}

async function serveMount(settings: MountSettings, places: Places, parts: Parts): Promise<Mounted> {
  const { mirror, queue, remote, log, onLater } = parts
  const directory = places.mountpoint
  const startedAt = new Date().toISOString()
  const secret = randomUUID()
  let end: (code: number) => void = () => undefined
  const ended = new Promise<number>((resolve) => {
    end = resolve
  })
  let leaving: Promise<void> | undefined

  const watching = watchFolders(directory, () => {
    if (!leaving) void mirror.reconcile(false).catch((error: unknown) => log(`reconcile: ${String(error)}`))
  })
  onLater(watching.poke)
  const expiry = expiresIn(settings.key)
  let expiryTimer = expiry === undefined ? undefined : setTimeout(expire, expiry)
  async function expire(): Promise<void> {
    // The server's clock may be behind ours.
    if (!(await mirror.breakAll())) expiryTimer = setTimeout(expire, 500)
  }
  const presence = setInterval(() => {
    if (!isThere(directory, inode)) void stop('the directory is gone')
  }, 500)
  const inode = statSync(directory).ino

  const control = await listen(secret, async (request) => {
    if (request.op === 'drain') return drain({ mirror, queue, mountpoint: directory }, request.timeout ?? 30_000)
    if (request.op === 'umount') {
      await leave(request.timeout ?? 60_000)
      return { ok: true }
    }
    return { ok: true, mount_point: directory, op: 'status', pid: process.pid, started_at: startedAt }
  })

  function leave(timeout: number): Promise<void> {
    leaving ??= (async () => {
      const report = await drain({ mirror, queue, mountpoint: directory }, Math.max(timeout, 1))
      await finish(report)
    })()
    return leaving
  }

  async function finish(report: DrainReport): Promise<void> {
    const { commit_queue_pending: files, commit_queue_bytes: bytes } = report.pending
    const forced = files > 0
    queue.abandon()
    writeExit(places, {
      reason: 'signal',
      ...(forced ? { detail: 'force quit after second signal' } : {}),
      code: forced ? 1 : 0,
      pid: process.pid,
      pending_files: files,
      pending_bytes: bytes,
      at: new Date().toISOString(),
    })
    await keepFailed(places, settings.remoteRoot, mirror)
    watching.close()
    for (const name of readdirSync(directory)) await rm(join(directory, name), { recursive: true, force: true })
    await stop('unmounted', forced ? 1 : 0)
  }

  async function stop(why: string, code = 0): Promise<void> {
    log(`mount ends: ${why}`)
    clearInterval(presence)
    clearTimeout(expiryTimer)
    watching.close()
    remote.close()
    await rm(places.state, { force: true })
    // The answer to whoever asked for the end goes out first.
    setImmediate(() => {
      control.close()
      end(code)
    })
  }

  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (leaving) process.exit(1)
      void leave(settings.stopTimeout)
    })
  }

  clearExit(places)
  writeState(places, {
    pid: process.pid,
    creation_time: birthOf(process.pid) ?? 0,
    component: 'drive9',
    mount_kind: 'fuse',
    mount_point: directory,
    remote_root: settings.remoteRoot,
    server: settings.server,
    profile: settings.profile,
    credential_kind: 'api_key',
    api_key: settings.key,
    started_at: startedAt,
    log_path: places.log,
    supervise: settings.supervised,
    control_port: control.port,
    control_secret: secret,
  })
  log(`mounted ${settings.remoteRoot} of ${settings.server}`)
  return { ended }
}

function isThere(directory: string, inode: number): boolean {
  try {
    return statSync(directory).ino === inode
  } catch {
    return false
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

export interface ControlRequest {
  op: 'status' | 'drain' | 'umount'
  timeout?: number
}

/** One JSON line in, one out. Whoever cannot read the state file does not know the secret. */
async function listen(
  secret: string,
  answer: (request: ControlRequest) => Promise<object>,
): Promise<{ port: number; close(): void }> {
  const server: Server = createServer((socket: Socket) => {
    let text = ''
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => {
      text += chunk.toString('utf8')
      if (text.includes('\n')) void respond(text, socket)
    })
  })
  async function respond(line: string, socket: Socket): Promise<void> {
    const request = JSON.parse(line) as ControlRequest & { secret?: string }
    if (!same(request.secret ?? '', secret)) return void socket.destroy()
    socket.end(`${JSON.stringify(await answer(request))}\n`)
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Exit(4, 'no control port')
  return { port: address.port, close: () => server.close() }
}

function same(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
