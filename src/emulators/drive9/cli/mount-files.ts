// Where a mount leaves its traces outside the mount: the state with the key in it (as the real program does, mode 0600), the record of its
// end, its log, and what could not be uploaded.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'

export interface Places {
  mountpoint: string
  state: string
  exit: string
  log: string
  /** Files that failed for good are kept below this when the mount ends, and found again by the next mount with the same cache. */
  failed: string
}

export interface MountState {
  pid: number
  creation_time: number
  component: 'drive9'
  mount_kind: 'fuse'
  mount_point: string
  remote_root: string
  server: string
  profile: string
  credential_kind: 'api_key'
  api_key: string
  started_at: string
  log_path: string
  supervise: boolean
  /** How other processes of this program talk to the mount. */
  control_port: number
  control_secret: string
}

type Environment = Record<string, string | undefined>

export function placesOf(mountpoint: string, environment: Environment, cacheDirectory?: string): Places {
  const absolute = resolve(mountpoint)
  const hash = createHash('sha256').update(absolute).digest('hex').slice(0, 16)
  const temporary = temporaryFolder(environment)
  const runtime = environment['XDG_RUNTIME_DIR'] ?? ''
  const states = isAbsolute(runtime) ? runtime : join(temporary, `drive9-${process.getuid?.() ?? 0}`)
  const home = environment['XDG_CACHE_HOME'] || join(environment['HOME'] || temporary, '.cache')
  return {
    mountpoint: absolute,
    state: join(temporary, `drive9-mount-${hash}.pid`),
    exit: join(states, `drive9-mount-${hash}.exit.json`),
    log: join(home, 'drive9', 'mount-logs', `mount-${hash}.log`),
    failed: join(cacheDirectory ?? join(home, 'drive9'), 'pending', hash),
  }
}

/**
 * `/tmp` as the machine has it. A local sandbox is a directory that plays a machine: its `/tmp` is beside its `/home/user`, and what is put
 * there goes with it, also when it is killed.
 */
function temporaryFolder(environment: Environment): string {
  const [, top = ''] = /^(.+)\/(?:home\/user|root)$/.exec(environment['HOME'] ?? '') ?? []
  const own = `${top}/tmp`
  return environment['TMPDIR'] || (existsSync(own) ? own : '/tmp')
}

export function readState(places: Places): MountState | undefined {
  return readJson<MountState>(places.state)
}

export function writeState(places: Places, state: MountState): void {
  writePrivate(places.state, state)
}

export interface ExitRecord {
  reason: string
  detail?: string
  code: number
  pid: number
  pending_files: number
  pending_bytes: number
  at: string
}

export function writeExit(places: Places, record: ExitRecord): void {
  mkdirSync(dirname(places.exit), { recursive: true, mode: 0o700 })
  writePrivate(places.exit, record)
}

export const clearExit = (places: Places) => rmSync(places.exit, { force: true })

export function readExit(places: Places): ExitRecord | undefined {
  return readJson<ExitRecord>(places.exit)
}

function writePrivate(file: string, value: object): void {
  const beside = `${file}.${process.pid}`
  writeFileSync(beside, `${JSON.stringify(value)}\n`, { mode: 0o600 })
  renameSync(beside, file)
}

function readJson<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T
  } catch {
    return undefined
  }
}

/**
 * The start time of a process in kernel ticks. It distinguishes the process from a later one with the same id.
 * Undefined when there is no such process or only a zombie; 0 where the system gives no start time.
 */
export function birthOf(pid: number): number | undefined {
  if (process.platform !== 'linux') return existsHere(pid) ? 0 : undefined
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : Number(fields[19])
  } catch {
    return undefined
  }
}

function existsHere(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** True when the process behind a mount lives. */
export const isAlive = (state: MountState) => birthOf(state.pid) === state.creation_time

/**
 * How much of the real waiting times is waited: 1 is all, 0.01 makes a wait of thirty seconds one of 0.3. The second name is for sandboxes:
 * programs in them are handed only the variables of their service.
 */
export function timeScale(environment: Environment): number {
  const scale = Number(environment['DRIVE9_LOCAL_TIME_SCALE'] ?? environment['E2B_DRIVE9_LOCAL_TIME_SCALE'] ?? '1')
  return Number.isFinite(scale) && scale >= 0 ? scale : 1
}
