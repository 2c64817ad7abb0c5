// `drive9 mount health|status|drain` and `drive9 umount`: short talks with the process behind a mount.
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { ControlRequest } from './control-server.js'
import type { DrainReport } from './drain.js'
import { isAlive, type MountState, type Places, placesOf, readExit, readState } from './mount-files.js'
import { type Arguments, Exit, type FlagKind, parseArguments } from './parse-arguments.js'

type Environment = Record<string, string | undefined>

function only(
  words: string[],
  flags: Record<string, FlagKind>,
  usage: string,
): { given: Arguments; mountpoint: string } {
  const given = parseArguments(words, flags, `${usage}\n`)
  const [mountpoint] = given.rest
  if (given.rest.length !== 1 || mountpoint === undefined) throw new Exit(1, usage)
  return { given, mountpoint }
}

export async function health(words: string[], environment: Environment): Promise<number> {
  const { mountpoint } = only(words, {}, 'usage: drive9 mount health <mountpoint>')
  const { problem } = await probe(placesOf(mountpoint, environment))
  if (problem !== undefined) throw new Exit(1, problem)
  process.stdout.write('ok\n')
  return 0
}

/** Whether a mount is there and answers. */
export async function probe(places: Places): Promise<{ state?: MountState; problem?: string }> {
  const state = readState(places)
  if (!state) return { problem: `${places.mountpoint} is not mounted` }
  if (!isAlive(state)) return { state, problem: `mount process ${state.pid} is gone` }
  try {
    await ask(state, { op: 'status' }, 5_000)
    return { state }
  } catch (error) {
    return { state, problem: (error as Error).message }
  }
}

/** As the real program has it: in JSON the exit code says only that the status was printed. */
export async function status(words: string[], environment: Environment): Promise<number> {
  const { given, mountpoint } = only(words, { json: 'switch' }, 'usage: drive9 mount status [--json] <mountpoint>')
  const places = placesOf(mountpoint, environment)
  const { state, problem } = await probe(places)
  const last = readExit(places)
  const snapshot = {
    mount_point: places.mountpoint,
    state: problem === undefined ? 'running' : state ? 'dead' : 'stopped',
    healthy: problem === undefined,
    ...(state ? { supervisor_pid: state.pid, worker_pid: state.pid, log_path: state.log_path } : {}),
    restarts: 0,
    ...(last ? { last_exit_code: last.code, last_exit_reason: last.reason } : {}),
    ...(problem === undefined ? {} : { probe_error: problem }),
    supervised: state?.supervise ?? false,
  }
  if (given.isSet('json')) {
    process.stdout.write(`${JSON.stringify(snapshot, null, 2)}\n`)
    return 0
  }
  for (const [name, value] of Object.entries(snapshot)) process.stdout.write(`${name}: ${value}\n`)
  if (!snapshot.healthy) throw new Exit(1, 'mount is not healthy')
  return 0
}

export async function drain(words: string[], environment: Environment): Promise<number> {
  const usage = readFileSync(new URL('drain-usage.txt', import.meta.url), 'utf8').trimEnd()
  const { given, mountpoint } = only(words, { timeout: 'duration', json: 'switch' }, usage)
  const timeout = given.duration('timeout') ?? 30_000
  if (timeout <= 0) throw new Exit(1, 'drive9 mount drain: --timeout must be > 0')
  const state = readState(placesOf(mountpoint, environment))
  if (!state) throw new Exit(1, `drive9 mount drain: read mount state for ${mountpoint}: no such file or directory`)
  const report = await ask(state, { op: 'drain', timeout }, timeout + 5_000).catch((error: Error) => {
    throw new Exit(1, `drive9 mount drain: ${error.message}`)
  })
  printDrain(report as DrainReport, given.isSet('json'))
  if (!(report as DrainReport).ok) throw new Exit(1, `drive9 mount drain: ${(report as DrainReport).error ?? 'failed'}`)
  return 0
}

function printDrain(report: DrainReport, asJson: boolean): void {
  if (asJson) {
    process.stdout.write(`${JSON.stringify(report, null, 2)}\n`)
    return
  }
  const outcome = report.ok ? 'ok' : 'failed'
  process.stdout.write(`drain ${outcome}: ${report.mount_point} duration=${report.duration_ms}ms\n`)
  if (!report.ok) {
    const where = report.failed_path ? ` failed_path=${report.failed_path}` : ''
    process.stdout.write(`error_kind=${report.error_kind}${where} error=${report.error}\n`)
  }
  const counts = Object.entries(report.pending).map(([name, count]) => `${name}=${count}`)
  process.stdout.write(`pending: ${counts.join(' ')}\n`)
}

/** Returns 0 whatever was lost, as the real program does: only a drain tells. */
export async function unmount(words: string[], environment: Environment): Promise<number> {
  const usage = 'usage: drive9 umount [--timeout duration] [--no-auto-pack] <mountpoint>'
  const flags: Record<string, FlagKind> = { timeout: 'duration', 'no-auto-pack': 'switch' }
  const { given, mountpoint } = only(words, flags, usage)
  const timeout = given.duration('timeout') ?? 60_000
  const places = placesOf(mountpoint, environment)
  const state = readState(places)
  if (!state) throw new Exit(1, `drive9 umount: ${places.mountpoint} is not mounted`)
  if (timeout === 0) {
    await ask(state, { op: 'umount' }, 100).catch(() => undefined)
    return 0
  }
  await ask(state, { op: 'umount', timeout }, timeout + 10_000).catch(() => detach(state, places))
  return 0
}

/** For a mount whose process is dead or does not answer: what the server has not, is lost. */
function detach(state: MountState, places: Places): void {
  if (isAlive(state)) process.kill(state.pid, 'SIGKILL')
  for (const name of readdirSync(places.mountpoint))
    rmSync(join(places.mountpoint, name), { recursive: true, force: true })
  rmSync(places.state, { force: true })
}

/** Asks the process behind a mount. */
export function ask(state: MountState, request: ControlRequest, timeout: number): Promise<object> {
  return new Promise((resolve, reject) => {
    const socket = connect(state.control_port, '127.0.0.1')
    let text = ''
    const fail = (message: string) => {
      socket.destroy()
      reject(new Error(message))
    }
    socket.setTimeout(timeout, () => fail('the mount process does not answer'))
    socket.on('error', (error) => fail(`dial mount control: ${error.message}`))
    socket.on('data', (chunk) => {
      text += chunk.toString('utf8')
    })
    socket.on('end', () => {
      if (text === '') fail('the mount process closed the connection')
      else resolve(JSON.parse(text) as object)
    })
    socket.write(`${JSON.stringify({ ...request, secret: state.control_secret })}\n`)
  })
}
