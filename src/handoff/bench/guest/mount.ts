// The durable directory inside the sandbox: mount it, believe it only after the marker was read through it, store into it, drain, let go.
//
// What drive9 does not tell: a failed mount leaves a plain local directory behind, and `umount` returns 0 with files lost. So the marker
// proves the mount, every file is copied, synced and renamed with its own exit checked, and `drain` must say ok.
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { MountTask } from '../../library/records.js'
import { type Finished, run } from './programs.js'
import { GuestError, say } from './speak.js'

export interface Mount {
  path: string
  /** Stores a finished local file and says so. */
  store(local: string, relative: string): Promise<void>
  drain(): Promise<void>
  release(): Promise<void>
}

export async function mount(task: MountTask, home: string, token: string, readOnly: boolean): Promise<Mount> {
  const path = join(home, 'run')
  const environment = { DRIVE9_API_KEY: token }
  const drive9 = (args: string[], timeoutMs = 180_000) => run('drive9', args, home, { environment, timeoutMs })
  await mkdir(path, { recursive: true })

  const mounted = await drive9([
    'mount',
    '--profile=none',
    '--server',
    task.server,
    ...(readOnly ? ['--read-only'] : []),
    `:${task.remote}`,
    path,
  ])
  expectSuccess(mounted, 'mount-failed', 'drive9 did not mount the run directory')
  // Who only reads believes what hashes right; who writes wants to know at once that somebody is there to take it.
  if (!readOnly) expectSuccess(await drive9(['mount', 'health', path]), 'mount-failed', 'the mount is not healthy')
  await believe(task, path)

  return {
    path,
    store: (local, relative) => store(local, path, relative),
    async drain() {
      const drained = await drive9(['mount', 'drain', '--timeout', '120s', '--json', path])
      if (drained.exitCode !== 0 || !saysOk(drained.stdout)) {
        throw new GuestError(
          'not-drained',
          `drive9 could not bring every file to its server: ${drainProblem(drained)}.`,
        )
      }
    },
    async release() {
      const released = await drive9(['umount', '--timeout', '60s', path])
      // What was stored is proven elsewhere (drain, and the host's reading back); a mount that lingers dies with the machine.
      if (released.exitCode !== 0)
        say({ type: 'notice', text: 'drive9 did not unmount cleanly; the machine ends anyway.' })
    },
  }
}

/** A dead mount is a plain directory; only the right one holds the marker. */
async function believe(task: MountTask, path: string): Promise<void> {
  const bytes = await readFile(join(path, task.marker.path)).catch(() => undefined)
  if (bytes === undefined || sha256(bytes) !== task.marker.sha256) {
    throw new GuestError(
      'mount-failed',
      `the mount does not show the run directory: ${task.marker.path} cannot be read through it`,
    )
  }
}

async function store(local: string, root: string, relative: string): Promise<void> {
  const target = join(root, relative)
  const hash = await hashFile(local)
  try {
    await mkdir(dirname(target), { recursive: true })
    await copyIn(local, target)
  } catch (error) {
    throw new GuestError('store-failed', `${relative} could not be stored: ${(error as Error).message}`)
  }
  say({ type: 'stored', path: relative, ...hash })
}

/** Copy, sync, rename: a reader never sees half a file, and an error has three chances to show. */
export async function copyIn(local: string, target: string): Promise<void> {
  const temporary = `${target}.tmp`
  await copyFile(local, temporary, constants.COPYFILE_FICLONE)
  const handle = await open(temporary, 'r+')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(temporary, target)
}

/** Hashes a local file without keeping it. */
export async function hashFile(path: string): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256')
  let bytes = 0
  const handle = await open(path)
  try {
    for await (const chunk of handle.createReadStream({ highWaterMark: 1 << 20, autoClose: false })) {
      hash.update(chunk as Buffer)
      bytes += (chunk as Buffer).length
    }
  } finally {
    await handle.close()
  }
  return { bytes, sha256: hash.digest('hex') }
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/**
 * Brings an artifact to the local disk and believes it only when it hashes to what the handoff records. Large files come by `drive9 fs cp`:
 * through the mount the same bytes take several times as long.
 */
export async function fetchArtifact(
  task: MountTask,
  home: string,
  token: string,
  artifact: { path: string; bytes: number; sha256: string },
  local: string,
): Promise<void> {
  const environment = { DRIVE9_API_KEY: token, DRIVE9_SERVER: task.server }
  await rm(local, { force: true })
  const copied = await run('drive9', ['fs', 'cp', `:${task.remote}/${artifact.path}`, local], home, {
    environment,
    timeoutMs: 180_000,
  })
  expectSuccess(copied, 'mount-failed', `${artifact.path} could not be copied from the run directory`)
  const found = await hashFile(local)
  if (found.bytes === artifact.bytes && found.sha256 === artifact.sha256) return
  throw new GuestError('corrupt', `${artifact.path} does not hash to what handoff.json records`)
}

function expectSuccess(finished: Finished, failure: 'mount-failed', what: string): void {
  if (finished.exitCode !== 0)
    throw new GuestError(failure, `${what} (exit ${finished.exitCode}): ${lastLine(finished.stderr)}`)
}

/** The last words of a program. The host removes every secret it knows before anyone reads them. */
export function lastLine(text: string): string {
  return (
    text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
      .at(-1)
      ?.slice(0, 300) ?? 'it said nothing'
  )
}

function saysOk(stdout: string): boolean {
  return drainReport(stdout)?.['ok'] === true
}

function drainReport(stdout: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(stdout)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function drainProblem(finished: Finished): string {
  const report = drainReport(finished.stdout)
  const parts = [report?.['error_kind'], report?.['error'], report?.['failed_path']].filter(
    (part) => typeof part === 'string' && part !== '',
  )
  return parts.length > 0 ? parts.join(', ').slice(0, 300) : `exit ${finished.exitCode}, ${lastLine(finished.stderr)}`
}
