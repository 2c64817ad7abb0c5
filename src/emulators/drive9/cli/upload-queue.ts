// The pool that uploads, with the real program's rules of when to give up.
//
// Five tries with 0.2, 0.4, 0.8 and 1.6 seconds between them; then the file is a conflict and is never tried again, not even by the next
// mount with the same cache. A 409 gets one try only: same bytes there is success, other bytes there are overwritten, nothing there is
// created once more; whatever fails then is final.
import { type FileHandle, open, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { type Remote, RemoteError, type Source } from './api-client.js'
import { type Found, type Known, look } from './directory-index.js'
import { errorNumber } from './error-numbers.js'

interface QueueOptions {
  directory: string
  remoteRoot: string
  remote: Remote
  workers: number
  scale: number
  /** True when uploads happen inside `close`, which spoils large files whose mode is not 0644. */
  strict: boolean
  log: (text: string) => void
  /** Called when the server rejects the key (401). */
  onUnauthorized: () => void
}

export interface Queue {
  add(entry: Known): void
  /** Ends when nothing is queued or under way for this entry. */
  settle(entry: Known): Promise<void>
  /** True when everything was dealt with before the time was over. */
  idle(milliseconds: number): Promise<boolean>
  counts(): { waiting: number; underWay: number; bytes: number; firstPath: string }
  /** Stops where it is; what is not uploaded stays so. */
  abandon(): void
}

const tries = 5
const firstPause = 200
const large = 10 * 1024 * 1024
/** A file system's clock ticks this coarsely at most: two changes within one tick leave a file with the same time. */
const clockTick = 20

export function makeQueue(options: QueueOptions): Queue {
  const { directory, remote, scale, log } = options
  const waiting: Known[] = []
  const underWay = new Map<Known, Promise<void>>()
  const again = new Set<Known>()
  const watchers = new Set<() => void>()
  let abandoned = false

  const remotePath = (entry: Known) => `${options.remoteRoot.replace(/\/$/, '')}/${entry.path}`

  function start(): void {
    while (!abandoned && underWay.size < options.workers && waiting.length > 0) {
      const entry = waiting.shift()
      if (!entry || entry.gone) continue
      underWay.set(entry, run(entry))
    }
    for (const watcher of [...watchers]) watcher()
  }

  async function run(entry: Known): Promise<void> {
    try {
      await commit(entry)
    } finally {
      underWay.delete(entry)
      if (again.delete(entry) && !entry.gone && !abandoned) {
        entry.state = 'pending'
        waiting.push(entry)
      }
      start()
    }
  }

  async function commit(entry: Known): Promise<void> {
    let error: unknown
    for (let attempt = 0; attempt < tries; attempt += 1) {
      if (attempt > 0) await pause(firstPause * 2 ** (attempt - 1) * scale)
      if (entry.gone || abandoned) return
      error = await upload(entry, entry.revision).catch((failure: unknown) => failure)
      if (error === undefined || isGone(error)) return
      if (error instanceof RemoteError && error.status === 409) return resolveConflict(entry)
      note(entry, `upload attempt ${attempt + 1}/${tries} failed`, error)
    }
    giveUp(entry, error, ` after ${tries} retries: ${textOf(error)}`)
  }

  function note(entry: Known, what: string, error: unknown): void {
    log(`commit queue: ${what} for /${entry.path}: ${textOf(error)}`)
    if (error instanceof RemoteError && error.status === 401) options.onUnauthorized()
  }

  function giveUp(entry: Known, error: unknown, why = ''): void {
    entry.state = 'conflict'
    entry.refused = errorNumber(error)
    log(`commit queue: giving up on /${entry.path}${why}`)
  }

  async function resolveConflict(entry: Known): Promise<void> {
    try {
      const there = await remote.stat(remotePath(entry)).catch(nothingThere)
      if (!there) return await upload(entry, 0)
      const ours = await localBytes(entry)
      if (ours.equals(await remote.read(remotePath(entry)))) return settleAs(entry, there.revision)
      // The real program does not hold large files in memory to overwrite them: for those a difference is final.
      if (entry.size >= large) return giveUp(entry, undefined)
      log(`commit queue: last writer wins for /${entry.path} over revision ${there.revision}`)
      await upload(entry, there.revision)
    } catch (error) {
      if (isGone(error)) return
      note(entry, 'auto-resolve failed', error)
      giveUp(entry, error)
    }
  }

  const localBytes = async (entry: Known) =>
    entry.kind === 'symlink'
      ? Buffer.from(await readlink(join(directory, entry.path)))
      : readFile(join(directory, entry.path))

  async function upload(entry: Known, expectedRevision: number): Promise<void> {
    if (entry.path.includes('\uFFFD')) throw new RemoteError(400, 'path contains invalid UTF-8')
    if (entry.kind === 'symlink') return uploadLink(entry, expectedRevision)
    await clockMovedOn(entry)
    const before = await look(directory, entry.path)
    if (!before) throw Object.assign(new Error('gone'), { code: 'ENOENT' })
    const revision = await send(entry, before, expectedRevision)
    const after = await look(directory, entry.path)
    if (after && (after.modified !== before.modified || after.size !== before.size)) again.add(entry)
    const { size, modified, inode, mode } = before
    Object.assign(entry, { size, modified, inode, mode, revision: revision ?? expectedRevision + 1, state: 'remote' })
    if (mode !== 0o644) await keepMode(entry)
  }

  async function send(entry: Known, found: Found, expectedRevision: number): Promise<number | undefined> {
    const file = await open(join(directory, entry.path))
    const spoiled = options.strict && found.size >= large && found.mode !== 0o644
    const timeout = timeoutFor(found.size) * Math.max(scale, 1 / 4)
    try {
      const source = { size: found.size, timeout, readPart: readingFrom(file, spoiled) }
      return await remote.write(remotePath(entry), source, expectedRevision)
    } finally {
      await file.close()
    }
  }

  async function uploadLink(entry: Known, expectedRevision: number): Promise<void> {
    if (expectedRevision > 0) await remote.remove(remotePath(entry), false)
    await remote.link(remotePath(entry), await readlink(join(directory, entry.path)))
    settleAs(entry, 1)
  }

  function settleAs(entry: Known, revision: number): void {
    entry.revision = revision
    entry.state = 'remote'
  }

  /** Only an owner's key may change modes. With a token the mode is lost, and nothing but the log says so. */
  async function keepMode(entry: Known): Promise<void> {
    await remote.changeMode(remotePath(entry), entry.mode).catch((error: unknown) => note(entry, 'chmod failed', error))
  }

  function idle(milliseconds: number): Promise<boolean> {
    const quiet = () => underWay.size === 0 && (abandoned || waiting.length === 0)
    if (quiet()) return Promise.resolve(true)
    return new Promise((resolve) => {
      const end = (result: boolean) => {
        clearTimeout(timer)
        watchers.delete(check)
        resolve(result)
      }
      const check = () => quiet() && end(true)
      const timer = setTimeout(() => end(false), milliseconds)
      watchers.add(check)
    })
  }

  return {
    add(entry) {
      entry.state = 'pending'
      if (underWay.has(entry)) again.add(entry)
      else if (!waiting.includes(entry)) waiting.push(entry)
      start()
    },
    async settle(entry) {
      for (let running = true; running; running = underWay.has(entry) || waiting.includes(entry)) {
        again.delete(entry)
        if (waiting.includes(entry)) waiting.splice(waiting.indexOf(entry), 1)
        await underWay.get(entry)
      }
    },
    idle,
    counts() {
      const open = [...underWay.keys(), ...waiting]
      const bytes = open.reduce((sum, entry) => sum + entry.size, 0)
      return { waiting: waiting.length, underWay: underWay.size, bytes, firstPath: open[0] ? `/${open[0].path}` : '' }
    },
    abandon() {
      abandoned = true
      start()
    },
  }
}

/** Reads a file stretch by stretch. `spoiled` is the real program's defect: the right number of bytes, the first stretch of them zero. */
function readingFrom(file: FileHandle, spoiled: boolean): Source['readPart'] {
  return async (offset, length) => {
    const bytes = Buffer.alloc(length)
    if (!spoiled || offset > 0) await file.read(bytes, 0, length, offset)
    return bytes
  }
}

/** Only what was last changed some ticks ago is read: then a change after the reading always shows in the file's time. */
async function clockMovedOn(entry: Known): Promise<void> {
  const age = Date.now() - Number(entry.modified / 1_000_000n)
  if (age < clockTick) await pause(Math.min(clockTick - age, clockTick))
}

/** A minute, or what five megabytes a second need; never more than fifteen minutes. */
const timeoutFor = (size: number) => Math.min(Math.max(60_000, (size / (5 * 1024 * 1024)) * 1000), 900_000)

const textOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

const isGone = (error: unknown) => (error as NodeJS.ErrnoException).code === 'ENOENT'

function nothingThere(error: unknown): undefined {
  if (error instanceof RemoteError && error.status === 404) return undefined
  throw error
}

const pause = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds))
