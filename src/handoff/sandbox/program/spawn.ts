// Starts git, tar and drive9 without a shell, so nothing needs quoting, and in a clean environment, so no secret leaks.
import { type SpawnOptions, spawn } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { ProgramError } from './emit-record.js'

export interface CommandResult {
  exitCode: number
  stdout: string
  /** The last 4,000 characters. */
  stderr: string
}

interface CommandOptions {
  cwd?: string
  environment?: Record<string, string>
  /** Drops root before the program starts. */
  account?: Account
  timeoutMs?: number
}

export interface Account {
  uid: number
  gid: number
}

/** Only what a program needs to run; it contains no secret. */
export function cleanEnvironment(home: string): Record<string, string> {
  return {
    PATH: absoluteFolders(process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin'),
    HOME: home,
    LANG: 'C.UTF-8',
    // The sandbox service may set variables of its own; they pass through.
    ...Object.fromEntries(
      Object.entries(process.env).filter((entry): entry is [string, string] => /^E2B_/.test(entry[0])),
    ),
  }
}

/** A relative folder of the PATH would be one of the untrusted account. */
const absoluteFolders = (path: string) =>
  path
    .split(':')
    .filter((folder) => folder.startsWith('/'))
    .join(':')

/** For git on a repository that others have made: no configuration but ours, and no transport. */
export const localGitEnvironment = {
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_NO_LAZY_FETCH: '1',
}

export function runCommand(
  program: string,
  args: string[],
  home: string,
  options: CommandOptions = {},
): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      ...spawnOptions(home, options),
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: options.timeoutMs ?? 600_000,
    })
    let stdout = ''
    let stderr = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      stdout = (stdout + text).slice(-200_000)
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-4_000)
    })
    child.on('error', (error: NodeJS.ErrnoException) => reject(spawnError(program, error)))
    child.on('close', (code) => resolve({ exitCode: code ?? -1, stdout, stderr }))
  })
}

export function spawnOptions(home: string, options: CommandOptions): SpawnOptions {
  return {
    cwd: options.cwd ?? home,
    env: { ...cleanEnvironment(home), ...options.environment },
    ...(options.account ?? {}),
  }
}

export function spawnError(program: string, error: NodeJS.ErrnoException): Error {
  if (error.code !== 'ENOENT') return error
  return new ProgramError('tool-missing', `The sandbox has no program called ${program}.`)
}

export const untrustedUserId = 65_534

/** The account for untrusted work: uid 65534 (`nobody`) if this process may change to it and it can start Node, otherwise undefined. */
export function untrustedAccount(home: string): Account | undefined {
  const isPossible =
    process.getuid?.() === 0 &&
    isMappedId('/proc/self/uid_map', untrustedUserId) &&
    isMappedId('/proc/self/gid_map', untrustedUserId) &&
    isOpenToAll(process.execPath) &&
    isOpenToAll(dirname(home))
  return isPossible ? { uid: untrustedUserId, gid: untrustedUserId } : undefined
}

/** Whether an id exists in this process's user namespace. In a namespace with a single id, changing to another fails with EINVAL. */
function isMappedId(map: string, id: number): boolean {
  if (!existsSync(map)) return true
  return readFileSync(map, 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .some(([first = Number.NaN, , count = 0]) => id >= first && id < first + count)
}

/** Whether every account may enter: each folder of the path lets others pass. */
function isOpenToAll(path: string): boolean {
  return (statSync(path).mode & 0o001) !== 0 && (path === dirname(path) || isOpenToAll(dirname(path)))
}

/** The last line of a program's output. The host redacts every secret that it knows. */
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
