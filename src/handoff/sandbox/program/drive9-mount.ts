// The run directory inside the sandbox: mount it, verify the marker through it, store files, drain, unmount.
//
// drive9 hides two failures: a failed mount leaves a plain local directory, and `umount` returns 0 although files are lost. So the marker proves
// the mount, each file is copied, synced and renamed with its own check, and `drain` must report ok.

import { createHash } from 'node:crypto'
import { type FileHandle, mkdir, open, readFile, rename, rm, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { MountTask } from '../../domain/sandbox-protocol.js'
import { parseJson } from '../../util/decode.js'
import {
  createDriveError,
  findFailureReason,
  isRefusal,
  lastReason,
  type MountedDrive,
  readLogReason,
} from './drive-failure.js'
import { emit, ProgramError } from './emit-record.js'
import { type CommandResult, runCommand } from './spawn.js'
import { openUntrusted } from './untrusted-file.js'

export interface Mount {
  /** Stores a finished local file of the untrusted account and emits a record. */
  store(local: string, relative: string): Promise<void>
  /** The same without a record. */
  put(local: string, relative: string): Promise<void>
  link(target: string, relative: string): Promise<void>
  drain(): Promise<void>
  release(): Promise<void>
}

/** With `begun` the mount is read-only, and its first attempt is under way. */
export async function mount(
  task: MountTask,
  home: string,
  token: string,
  begun?: Promise<CommandResult>,
): Promise<Mount> {
  const path = join(home, 'run')
  const environment = { DRIVE9_API_KEY: token, DRIVE9_SERVER: task.server }
  const drive9 = (args: string[], timeoutMs = 180_000) => runCommand('drive9', args, home, { environment, timeoutMs })
  await mkdir(path, { recursive: true })
  const log = await startMount(task, path, drive9, begun)
  // A reader checks every file by its hash. A writer must know at once that the mount accepts files.
  if (!begun) {
    const healthy = await drive9(['mount', 'health', path])
    if (healthy.exitCode !== 0)
      throw createDriveError('mount-failed', 'the mount is not healthy', lastReason(healthy.stderr), healthy.exitCode)
  }
  await verifyMarker(task, path)

  const mounted: MountedDrive = { drive9, path, log, remote: task.remote }
  let asking: Promise<string | undefined> | undefined
  /** Many files may fail for one reason, so the reason is looked up once. */
  const failed = async (relative: string, error: unknown): Promise<never> => {
    asking ??= findFailureReason(mounted, dirname(relative))
    throw createDriveError('store-failed', `${relative} could not be stored`, await asking, errorCode(error))
  }
  /** Hashes what it copies, so that the record is of the bytes that were stored. */
  const copy = async (local: string, relative: string): Promise<FileHash> => {
    const target = join(path, relative)
    const source = await openUntrusted(local, home).catch((error: unknown) => {
      if (error instanceof ProgramError) throw error
      return failed(relative, error)
    })
    try {
      await mkdir(dirname(target), { recursive: true })
      return await copyIntoMount(source, target)
    } catch (error) {
      return await failed(relative, error)
    } finally {
      await source.close()
    }
  }

  return {
    put: async (local, relative) => void (await copy(local, relative)),
    async store(local, relative) {
      emit({ type: 'stored', path: relative, ...(await copy(local, relative)) })
    },
    async link(target, relative) {
      try {
        await mkdir(dirname(join(path, relative)), { recursive: true })
        await symlink(target, join(path, relative))
      } catch (error) {
        await failed(relative, error)
      }
    },
    async drain() {
      const { exitCode, stdout, stderr } = await drive9(['mount', 'drain', '--timeout', '120s', '--json', path])
      const report = parseDrainReport(stdout)
      if (exitCode === 0 && report?.['ok'] === true) return
      const reason = (await readLogReason(log)) ?? failureInReport(report) ?? lastReason(stderr)
      throw createDriveError('not-drained', 'drive9 could not bring every file to its server', reason, exitCode)
    },
    async release() {
      const released = await drive9(['umount', '--timeout', '60s', path])
      // The drain and the host's read-back prove what was stored. A mount that remains ends with the sandbox.
      if (released.exitCode !== 0)
        emit({ type: 'notice', text: 'drive9 did not unmount cleanly; the machine ends anyway.' })
    },
  }
}

/**
 * Mounts and returns the path of the mount's log. It runs unsupervised: a supervisor retries a refused mount for 30 seconds and then reports only a
 * timeout. A failure that may pass is retried once here.
 */
async function startMount(
  task: MountTask,
  path: string,
  drive9: MountedDrive['drive9'],
  begun: Promise<CommandResult> | undefined,
): Promise<string | undefined> {
  const flags = ['--profile=none', '--no-supervise', '--server', task.server, ...(begun ? ['--read-only'] : [])]
  for (let attempt = 1; ; attempt += 1) {
    const first = attempt === 1 ? begun : undefined
    const { exitCode, stderr } = await (first ?? drive9(['mount', ...flags, `:${task.remote}`, path]))
    const log = /\blog: (\/[^)\n]{1,1000})\)/.exec(stderr)?.[1]
    if (exitCode === 0) return log
    const reason = (await readLogReason(log)) ?? lastReason(stderr)
    if (attempt === 2 || isRefusal(reason))
      throw createDriveError('mount-failed', 'drive9 did not mount the run directory', reason, exitCode)
    await new Promise((again) => setTimeout(again, 500))
  }
}

/** How the mount ended that the shell began: what drive9 printed, and a last line with its exit code. */
export async function readBegunMount(): Promise<CommandResult> {
  let stderr = ''
  for await (const text of process.stdin.setEncoding('utf8')) {
    stderr += text
    const exitCode = /^exit (\d{1,3})\n/m.exec(stderr)?.[1]
    // The process behind the mount may keep the pipe open.
    if (exitCode !== undefined) return { exitCode: Number(exitCode), stdout: '', stderr }
  }
  return { exitCode: -1, stdout: '', stderr }
}

/** A dead mount is a plain directory; only the right directory contains the marker. */
async function verifyMarker(task: MountTask, path: string): Promise<void> {
  const bytes = await readFile(join(path, task.marker.path)).catch(() => undefined)
  if (bytes === undefined || sha256(bytes) !== task.marker.sha256) {
    throw new ProgramError(
      'mount-failed',
      `the mount does not show the run directory: ${task.marker.path} cannot be read through it`,
    )
  }
}

let copies = 0

/** Copies, syncs and renames, so that a reader never sees half a file. The temporary name is short, because the file's own may have 255 bytes. */
async function copyIntoMount(source: FileHandle, target: string): Promise<FileHash> {
  copies += 1
  const temporary = join(dirname(target), `.handoff-${copies}.tmp`)
  const hash = await copyTo(temporary, source)
  await rename(temporary, target)
  return hash
}

async function copyTo(path: string, source: FileHandle): Promise<FileHash> {
  const copy = await open(path, 'w')
  try {
    const hash = await hashBytes(source, (piece) => writeAll(copy, piece))
    await copy.sync()
    return hash
  } finally {
    await copy.close()
  }
}

async function writeAll(to: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await to.write(bytes, at)).bytesWritten
}

/** A temporary name of `copyIntoMount`. */
export const isTemporaryName = (name: string) => /^\.handoff-\d+\.tmp$/.test(name)

/** The code and never the message, which contains local paths. */
const errorCode = (error: unknown) => (error as NodeJS.ErrnoException).code ?? 'no code'

interface FileHash {
  bytes: number
  sha256: string
}

/** Hashes a local file as a stream. */
export async function hashFile(path: string): Promise<FileHash> {
  const handle = await open(path)
  try {
    return await hashBytes(handle)
  } finally {
    await handle.close()
  }
}

async function hashBytes(handle: FileHandle, take?: (piece: Uint8Array) => Promise<void>): Promise<FileHash> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of handle.createReadStream({ highWaterMark: 1 << 20, autoClose: false })) {
    const piece = chunk as Buffer
    hash.update(piece)
    bytes += piece.length
    await take?.(piece)
  }
  return { bytes, sha256: hash.digest('hex') }
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/**
 * Copies an artifact to the local disk and checks it against the hash in the handoff. `drive9 fs cp` is several times faster than the mount for
 * large files. A failed or broken copy is retried once.
 */
export async function fetchArtifact(
  task: MountTask,
  home: string,
  token: string,
  artifact: { path: string; bytes: number; sha256: string },
  local: string,
): Promise<void> {
  const environment = { DRIVE9_API_KEY: token, DRIVE9_SERVER: task.server }
  for (let attempt = 1; ; attempt += 1) {
    await rm(local, { force: true })
    const { exitCode, stderr } = await runCommand(
      'drive9',
      ['fs', 'cp', `:${task.remote}/${artifact.path}`, local],
      home,
      {
        environment,
        timeoutMs: 180_000,
      },
    )
    const found = exitCode === 0 ? await hashFile(local) : undefined
    if (found?.bytes === artifact.bytes && found.sha256 === artifact.sha256) return
    const reason = lastReason(stderr)
    if (attempt === 1 && (found || !isRefusal(reason))) continue
    if (found) throw new ProgramError('corrupt', `${artifact.path} does not hash to what handoff.json records`)
    throw createDriveError(
      'fetch-failed',
      `${artifact.path} could not be copied from the run directory`,
      reason,
      exitCode,
    )
  }
}

function parseDrainReport(stdout: string): Record<string, unknown> | undefined {
  const value = parseJson(stdout)
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
}

function failureInReport(report: Record<string, unknown> | undefined): string | undefined {
  const parts = [report?.['error_kind'], report?.['error'], report?.['failed_path']].filter(
    (part) => typeof part === 'string' && part !== '',
  )
  return parts.length > 0 ? parts.join(', ').slice(0, 300) : undefined
}
