// `drive9 mount`: starts the process behind the mount and waits until it is ready, or until the real program would have given up.
//
// The real program's manners of failing are kept: supervised (the default) it retries for half a minute and then says nothing but that time
// ran out; unsupervised it fails at once; in the foreground it says why and exits with a code of its own. The truth is always in the log.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, openSync, readdirSync, writeSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { type Arguments, Exit, type FlagKind, parseArguments, remoteOf, version } from './program-arguments.js'
import { probe } from './program-control.js'
import { findCredentials } from './program-credentials.js'
import type { MountSettings, StartFailure } from './program-daemon.js'
import { type Places, placesOf, timeScale } from './program-places.js'

type Environment = Record<string, string | undefined>

const usage = 'usage: drive9 mount [flags] [:/remote] <mountpoint>\n'

const named = (kind: FlagKind, names: string) => Object.fromEntries(names.split(' ').map((name) => [name, kind]))

/** Every flag the real program takes is taken; those that only tune what a plain directory does not have are without effect. */
const flags: Record<string, FlagKind> = {
  ...named(
    'switch',
    'foreground supervise-foreground no-supervise supervised allow-other read-only debug no-auto-unpack',
  ),
  ...named(
    'switch',
    'fuse-sync-read direct-mount-strict legacy-dir-stat-fallback readdir-prefetch trust-process-local-events',
  ),
  ...named(
    'text',
    'server api-key mode durability profile cache-dir local-root layer checkpoint alert-webhook alert-file',
  ),
  ...named('text', 'perf-dir perf-addr'),
  ...named('list', 'local-only remote-only unpack'),
  ...named(
    'duration',
    'restart-window health-interval health-timeout stop-timeout restart-backoff-max read-cache-ttl dir-ttl',
  ),
  ...named(
    'duration',
    'attr-ttl entry-ttl flush-debounce lookup-retry-timeout readdir-prefetch-timeout writeback-batch-window',
  ),
  ...named('duration', 'perf-interval perf-cpu-duration perf-cpu-interval perf-heap-interval'),
  ...named(
    'number',
    'max-restarts health-failures cache-size read-cache-max-file-mb disk-read-cache-size-mb read-concurrency',
  ),
  ...named(
    'number',
    'disk-read-cache-free-ratio lookup-retry-count parallel-read-concurrency parallel-read-block-size-mb',
  ),
  ...named(
    'number',
    'readdir-prefetch-max-files readdir-prefetch-max-file-bytes readdir-prefetch-max-bytes upload-concurrency',
  ),
  ...named('number', 'dir-cache-max-entries write-cache-free-ratio write-cache-size-mb commit-queue-max-pending'),
  ...named('number', 'writeback-batch-max-files writeback-batch-max-bytes perf-max-samples perf-max-sample-files'),
  ...named('number', 'perf-max-profile-files'),
}

/** The descriptor on which the process behind a mount tells the one that started it how it goes; in its environment. */
const readyVariable = 'DRIVE9_LOCAL_READY'

export async function mount(words: string[], environment: Environment): Promise<number> {
  const given = parseArguments(words, flags, usage)
  const [remoteRoot, mountpoint] = positions(given)
  const settings = settingsOf(given, remoteRoot, environment)
  const places = placesOf(mountpoint, environment, given.text('cache-dir'))
  if (environment[readyVariable] !== undefined) return serve(settings, places, Number(environment[readyVariable]))
  process.stderr.write(`${version}drive9: mount mode: fuse\n`)
  await prepare(places, given)
  if (given.isSet('foreground') || given.isSet('supervise-foreground')) return serve(settings, places, undefined)
  return startInBackground(words, settings, places, environment)
}

function positions({ rest }: Arguments): [remoteRoot: string, mountpoint: string] {
  const [first = '', second] = rest
  if (rest.length === 1) return ['/', first]
  if (rest.length !== 2 || second === undefined) throw new Exit(2, usage)
  const remote = remoteOf(first)
  if (remote === undefined)
    throw new Exit(1, `drive9 mount: first positional argument must be a remote source, got "${first}"`)
  return [remote.replace(/\/+$/, '') || '/', second]
}

function settingsOf(given: Arguments, remoteRoot: string, environment: Environment): MountSettings {
  const profile = given.text('profile') || 'coding-agent'
  const durability = given.text('durability') ?? 'auto'
  if (!['coding-agent', 'none', 'interactive'].includes(profile)) {
    throw new Exit(1, `drive9 mount: the local drive9 has no profile "${profile}"`)
  }
  if (!['auto', 'interactive', 'fsync', 'close-sync', 'write-sync'].includes(durability)) {
    throw new Exit(1, `drive9 mount: unknown durability "${durability}"`)
  }
  if (!['auto', 'fuse'].includes(given.text('mode') ?? 'auto'))
    throw new Exit(1, 'drive9 mount: only --mode fuse is here')
  const [localOnly, remoteOnly] = [given.list('local-only'), given.list('remote-only')]
  if (profile !== 'coding-agent' && localOnly.length + remoteOnly.length > 0) {
    throw new Exit(1, 'drive9 mount: --local-only and --remote-only require an overlay profile')
  }
  const credentials = findCredentials(environment, { server: given.text('server'), key: given.text('api-key') })
  if (credentials.key === '') throw new Exit(1, 'drive9 mount: no API key: set DRIVE9_API_KEY')
  return {
    ...credentials,
    remoteRoot,
    profile,
    localOnly,
    remoteOnly,
    readOnly: given.isSet('read-only'),
    supervised: !given.isSet('no-supervise') && !given.isSet('foreground'),
    durability,
    workers: Math.max(1, Number(given.text('upload-concurrency') ?? 16)),
    stopTimeout: given.duration('stop-timeout') ?? 60_000,
    scale: timeScale(environment),
  }
}

async function prepare(places: Places, given: Arguments): Promise<void> {
  const { mountpoint } = places
  const { state, problem } = await probe(places)
  if (state && problem === undefined) throw new Exit(1, `drive9 mount: ${mountpoint} is already mounted`)
  const cache = given.text('cache-dir')
  if (cache !== undefined && `${resolve(cache)}/`.startsWith(`${mountpoint}/`)) {
    throw new Exit(1, 'drive9 mount: --cache-dir must not be inside the mount')
  }
  mkdirSync(mountpoint, { recursive: true })
  if (readdirSync(mountpoint).length > 0) throw new Exit(1, `drive9 mount: ${mountpoint} is not empty`)
}

// ── the process behind the mount ──────────────────────────────────────────────────────────────────────────────────────────────────

type Progress = { ready: true } | { failed: StartFailure }

/** Lives as long as the mount. `report` is where progress goes; without it this is a mount in the foreground. */
async function serve(settings: MountSettings, places: Places, report: number | undefined): Promise<number> {
  // Only the process behind the mount needs the machinery; the one that starts it is quicker without.
  const { startMount } = await import('./program-daemon.js')
  const tell = (progress: Progress) => {
    if (report !== undefined) writeSync(report, `${JSON.stringify(progress)}\n`)
  }
  for (let wait = 1000; ; wait = Math.min(wait * 2, 30_000)) {
    const outcome = await startMount(settings, places).catch((error: unknown) => {
      // What was begun already (watchers, a door) would keep the process.
      process.stderr.write(`mount: ${error instanceof Error ? error.message : String(error)}\n`)
      process.exit(4)
    })
    if ('ended' in outcome) {
      tell({ ready: true })
      process.exit(await outcome.ended)
    }
    tell({ failed: outcome })
    if (!settings.supervised || outcome.code === 5) return failed(outcome)
    await new Promise((again) => setTimeout(again, wait * settings.scale))
  }
}

function failed({ code, message }: StartFailure): number {
  const reason = code === 5 ? 'startup_permanent' : 'startup_transient'
  process.stderr.write(`mount: mount exit code=${code} reason=${reason}: ${message}\n`)
  return code
}

// ── the process that starts it ────────────────────────────────────────────────────────────────────────────────────────────────────

/** What the real program waits: for a mount to be ready, and beyond that to clean up after one that never was. */
const patience = { ready: 30_000, missing: 4_000, refused: 1_000, unreachable: 3_000 }

async function startInBackground(
  words: string[],
  settings: MountSettings,
  places: Places,
  environment: Environment,
): Promise<number> {
  const start = Date.now()
  const child = spawnBehind(words, settings, places, environment)
  const result = await watchStart(child, settings.supervised ? settings.scale : 1)
  if (result.outcome === 'ready') {
    const kind = settings.supervised ? 'supervised in background (supervisor pid' : 'running in background (pid'
    process.stderr.write(`drive9: mount ${kind}: ${child.pid}, log: ${places.log})\n`)
    process.stderr.write(`drive9: unmount with \`drive9 umount ${places.mountpoint}\`\n`)
    return 0
  }
  const kind = settings.supervised ? 'supervised' : 'background'
  const last = result.failure?.kind ?? 'refused'
  if (result.outcome === 'late') {
    await sleepUntil(start + (patience.ready + patience[last]) * settings.scale)
    throw new Exit(
      1,
      `drive9 mount: timed out waiting for ${kind} mount to become ready after 30s (log: ${places.log})`,
    )
  }
  if (settings.supervised) await sleepUntil(start + patience[last] * settings.scale)
  const code = settings.supervised ? 1 : result.code
  throw new Exit(
    1,
    `drive9 mount: ${kind} mount exited before becoming ready: exit status ${code} (log: ${places.log})`,
  )
}

/** A process of its own session, with the caller's whole environment: whoever marks a sandbox by a variable finds it again. */
function spawnBehind(words: string[], settings: MountSettings, places: Places, environment: Environment): ChildProcess {
  mkdirSync(dirname(places.log), { recursive: true })
  const log = openSync(places.log, 'a', 0o600)
  const withoutKey = words.filter(
    (word, index) => !/^--?api-key(=|$)/.test(word) && !/^--?api-key$/.test(words[index - 1] ?? ''),
  )
  const absolute = [...withoutKey.slice(0, -1), places.mountpoint]
  return spawn(process.execPath, [...process.execArgv, process.argv[1] ?? '', 'mount', ...absolute], {
    cwd: '/',
    detached: true,
    stdio: ['ignore', log, log, 'pipe'],
    env: { ...environment, DRIVE9_SERVER: settings.server, DRIVE9_API_KEY: settings.key, [readyVariable]: '3' },
  })
}

interface StartResult {
  outcome: 'ready' | 'late' | 'ended'
  failure: StartFailure | undefined
  code: number
}

/** Shortened time is for mounts that fail; one that has not failed yet gets the whole half minute. */
function watchStart(child: ChildProcess, scale: number): Promise<StartResult> {
  return new Promise((resolve) => {
    const reports = child.stdio[3] as Readable
    let failure: StartFailure | undefined
    let text = ''
    const end = (outcome: StartResult['outcome'], code = 0) => {
      clearTimeout(timer)
      child.removeAllListeners()
      reports.destroy()
      child.unref()
      resolve({ outcome, failure, code })
    }
    const giveUp = () => {
      child.removeAllListeners('exit').once('exit', () => end('late'))
      child.kill('SIGTERM')
    }
    let timer = setTimeout(giveUp, patience.ready)
    reports.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8')
      const lines = text.split('\n')
      text = lines.pop() ?? ''
      for (const line of lines) {
        const progress = JSON.parse(line) as Progress
        if ('ready' in progress) return end('ready')
        if (!failure) {
          clearTimeout(timer)
          timer = setTimeout(giveUp, patience.ready * scale)
        }
        failure = progress.failed
      }
    })
    child.once('exit', (code) => setImmediate(() => end('ended', code ?? 1)))
  })
}

const sleepUntil = (time: number) => new Promise((resolve) => setTimeout(resolve, Math.max(time - Date.now(), 0)))
