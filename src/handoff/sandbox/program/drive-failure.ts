// Why drive9 failed. A file operation on the mount gives only an error number, and a failed mount gives only the path of its log.
// The server's answer stands in that log.
import { open } from 'node:fs/promises'
import type { ProgramFailure } from '../../domain/sandbox-protocol.js'
import { ProgramError } from './emit-record.js'
import { type CommandResult, lastLine } from './spawn.js'

export interface MountedDrive {
  drive9(args: string[], timeoutMs?: number): Promise<CommandResult>
  /** The mountpoint. */
  path: string
  log: string | undefined
  /** The mounted directory on the server. */
  remote: string
}

/** Messages of drive9's server and of its network layer, by what can be done about them. */
const failurePatterns: [failure: ProgramFailure, words: RegExp][] = [
  ['drive-full', /quota(?! (?:reservation|check))|no space left|HTTP (402|507)/i],
  ['drive-too-large', /too large|HTTP 413/i],
  [
    'drive-refused',
    /invalid API key|access denied|permission denied|forbidden|unauthorized|scoped token|Authorization header|HTTP 40[13]/i,
  ],
  [
    'drive-unreachable',
    /connection (refused|reset)|broken pipe|no such host|network is unreachable|no route to host|\bEOF\b|deadline exceeded|timeout|timed out|\b(tls|x509):/i,
  ],
]

const classifyReason = (reason: string | undefined) =>
  failurePatterns.find(([, words]) => words.test(reason ?? ''))?.[0]

/** True when a second try ends the same way. */
export function isRefusal(reason: string | undefined): boolean {
  const kind = classifyReason(reason)
  return kind === 'drive-refused' || kind === 'drive-full' || / does not exist\b/.test(reason ?? '')
}

/** The failure class comes from the reason if it is known, otherwise from the fallback. `code` is an exit code or an error number. */
export function createDriveError(
  fallback: ProgramFailure,
  what: string,
  reason: string | undefined,
  code: string | number,
): ProgramError {
  const how = typeof code === 'number' ? `exit ${code}` : code
  return new ProgramError(
    classifyReason(reason) ?? fallback,
    `${what} (${how}): ${reason ?? 'drive9 does not say why'}`,
  )
}

/**
 * After a failed file operation: a drain makes drive9 finish its uploads and log their failures. The log does not name a directory that the server
 * refused, so then the server is asked for the run directory, and for the directory of the file.
 */
export async function findFailureReason(mounted: MountedDrive, directory: string): Promise<string | undefined> {
  const { drive9, path, log, remote } = mounted
  await drive9(['mount', 'drain', '--timeout', '10s', '--json', path], 20_000)
  const noted = await readLogReason(log)
  if (noted !== undefined) return noted
  const listed = await drive9(['fs', 'ls', `:${remote}`], 20_000)
  if (listed.exitCode !== 0) return lastReason(listed.stderr)
  const made = await drive9(['fs', 'mkdir', `:${remote}/${directory}`], 20_000)
  return made.exitCode === 0 || /exists/.test(made.stderr) ? undefined : lastReason(made.stderr)
}

const logTailBytes = 16_384

/** The last failure in the mount's log. */
export async function readLogReason(log: string | undefined): Promise<string | undefined> {
  if (log === undefined) return undefined
  // Without a log the failure itself is reported.
  const handle = await open(log).catch(() => undefined)
  if (!handle) return undefined
  try {
    const { size } = await handle.stat()
    const from = Math.max(0, size - logTailBytes)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(logTailBytes), 0, logTailBytes, from)
    const lines = buffer.subarray(0, bytesRead).toString('utf8').split('\n').reverse()
    // A token that may not change a mode causes no failure.
    const reasons = lines.filter((line) => !/chmod/.test(line)).map((line) => failureInLog.exec(line)?.[1])
    return withoutUrls(reasons.find((reason) => reason !== undefined))
  } finally {
    await handle.close()
  }
}

/** `mount exit code=6 reason=startup_transient: …`, `upload attempt 5/5 failed for /path: …`, `giving up on /path after 5 retries: …`. */
const failureInLog =
  /(?:mount exit code=\d{1,5} reason=\w{1,60}|failed for \S[^\n]{0,1000}?|giving up on \S[^\n]{0,1000}? after \d{1,5} retries): (.{1,2000})/

/** The last line of stderr without local paths, because the sandbox is gone when it is read. */
export function lastReason(stderr: string): string | undefined {
  const line = stderr.trim() === '' ? undefined : lastLine(stderr)
  return withoutUrls(line?.replace(/ \(log: [^)]{0,1000}\)/, ''))
}

/** URLs are removed, because a URL of the object storage contains a signature. */
function withoutUrls(reason: string | undefined): string | undefined {
  return reason?.replace(/ ?"?https?:\/\/[^\s"]+"?/g, '').slice(0, 300)
}
