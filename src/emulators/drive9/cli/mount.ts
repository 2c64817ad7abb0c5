// `drive9 mount`: becomes the process behind the mount. It notifies the caller when the mount is ready, or when the real program would give up.
//
// The real program starts that process and waits for it. In the emulator `bin/drive9` does this, so a mount starts one program and not two.
// Failures look as in the real program. Supervised (the default), it retries for half a minute and then reports only a timeout. Unsupervised,
// it fails at once. In the foreground, it reports the reason and exits with a specific code. The log always has the reason.
import { appendFileSync, closeSync, mkdirSync, readdirSync, writeSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { findCredentials } from './credentials.js'
import { probe } from './mount-control.js'
import type { MountSettings, StartFailure } from './mount-daemon.js'
import { type Places, placesOf, timeScale } from './mount-files.js'
import { type Arguments, Exit, ending, type FlagKind, parseArguments, remoteOf, version } from './parse-arguments.js'

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

/** The descriptor on which `bin/drive9` hears how it goes; in the environment, where a mount is to be left behind. */
const listenerVariable = 'DRIVE9_LOCAL_TELL'

export async function mount(words: string[], environment: Environment): Promise<number> {
  const listener = environment[listenerVariable]
  if (listener === undefined) return inForeground(words, environment)
  const tell = makeTeller(Number(listener))
  try {
    return await leftBehind(words, environment, tell)
  } catch (error) {
    const { text, code } = ending('mount', error)
    tell(code === 2 ? text : `${banner}${text}`, code)
    // An attempt may be under way still.
    process.exit(code)
  }
}

const banner = `${version}drive9: mount mode: fuse\n`

async function inForeground(words: string[], environment: Environment): Promise<number> {
  const { given, settings, places } = await prepare(words, environment)
  if (!given.isSet('foreground') && !given.isSet('supervise-foreground'))
    throw new Exit(1, 'drive9 mount: only bin/drive9 can leave a mount behind; here it takes --foreground')
  process.stderr.write(banner)
  return serve(settings, places, { ready: () => undefined, failing: () => undefined })
}

/** Sends the message and the exit code to the caller, which then stops waiting. */
type Teller = (text: string, code: number) => void

function makeTeller(descriptor: number): Teller {
  return (text, code) => {
    try {
      writeSync(descriptor, `${text}${code}\n`)
    } catch {
      // The caller no longer waits; the mount stays active.
    }
    closeSync(descriptor)
  }
}

interface Prepared {
  given: Arguments
  settings: MountSettings
  places: Places
}

async function prepare(words: string[], environment: Environment): Promise<Prepared> {
  const given = parseArguments(words, flags, usage)
  const [remoteRoot, mountpoint] = positions(given)
  const settings = settingsOf(given, remoteRoot, environment)
  const places = placesOf(mountpoint, environment, given.text('cache-dir'))
  // Every user can read the process list, so the key must not stay in it.
  if (given.text('api-key') !== undefined) process.title = `drive9 mount ${mountpoint}`
  await prepareDirectory(places, given)
  return { given, settings, places }
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

async function prepareDirectory(places: Places, given: Arguments): Promise<void> {
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

interface Listener {
  ready(): void
  failing(failure: StartFailure): void
}

/** Lives as long as the mount. */
async function serve(settings: MountSettings, places: Places, listener: Listener): Promise<number> {
  const { startMount } = await import('./mount-daemon.js')
  for (let wait = 1000; ; wait = Math.min(wait * 2, 30_000)) {
    const outcome = await startMount(settings, places).catch((error: unknown) => brokenDown(places, error))
    if (outcome === undefined) return 4
    if ('ended' in outcome) {
      listener.ready()
      process.exit(await outcome.ended)
    }
    listener.failing(outcome)
    if (!settings.supervised || outcome.code === 5) return failed(places, outcome)
    await new Promise((again) => setTimeout(again, wait * settings.scale))
  }
}

/** Trouble on the machine itself. */
function brokenDown(places: Places, error: unknown): undefined {
  complain(places, `mount: ${error instanceof Error ? error.message : String(error)}\n`)
}

function failed(places: Places, { code, message }: StartFailure): number {
  const reason = code === 5 ? 'startup_permanent' : 'startup_transient'
  complain(places, `mount: mount exit code=${code} reason=${reason}: ${message}\n`)
  return code
}

/** Writes to stderr and to the log: only a foreground mount has a reader on stderr. */
function complain(places: Places, text: string): void {
  process.stderr.write(text)
  mkdirSync(dirname(places.log), { recursive: true })
  appendFileSync(places.log, text, { mode: 0o600 })
}

// ── who waits for it ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What the real program waits: for a mount to be ready, and beyond that to clean up after one that never was. */
const patience = { ready: 30_000, missing: 4_000, refused: 1_000, unreachable: 3_000 }

/** Until the mount ends, if it came up; else what the real program says when it waited long enough, and not before. */
async function leftBehind(words: string[], environment: Environment, tell: Teller): Promise<number> {
  const start = Date.now()
  const { settings, places } = await prepare(words, environment)
  // No directory is kept busy by it.
  process.chdir('/')
  const { supervised, scale } = settings
  let last: StartFailure | undefined
  let isOver = false
  const limit = timeLimit(patience.ready)
  const ended = serve(settings, places, {
    ready() {
      // Too late: this process ends in a moment, and the mount with it.
      if (isOver) return
      limit.clear()
      tell(`${banner}${comingUp(settings, places)}`, 0)
    },
    failing(failure) {
      // Shortened time is for mounts that fail; one that has not failed yet gets the whole half minute.
      if (!last) limit.set(patience.ready * (supervised ? scale : 1))
      last = failure
    },
  })
  const code = await Promise.race([ended, limit.over])
  limit.clear()
  const rest = patience[last?.kind ?? 'refused']
  if (code === undefined) {
    isOver = true
    await sleepUntil(start + (patience.ready + rest) * scale)
    throw gaveUp(`timed out waiting for ${kindOf(settings)} mount to become ready after 30s`, places)
  }
  if (supervised) await sleepUntil(start + rest * scale)
  throw gaveUp(`${kindOf(settings)} mount exited before becoming ready: exit status ${code}`, places)
}

const kindOf = ({ supervised }: MountSettings) => (supervised ? 'supervised' : 'background')

function comingUp({ supervised }: MountSettings, { log, mountpoint }: Places): string {
  const kind = supervised ? 'supervised in background (supervisor pid' : 'running in background (pid'
  return `drive9: mount ${kind}: ${process.pid}, log: ${log})\ndrive9: unmount with \`drive9 umount ${mountpoint}\`\n`
}

const gaveUp = (what: string, { log }: Places) => new Exit(1, `drive9 mount: ${what} (log: ${log})`)

function timeLimit(milliseconds: number): { over: Promise<undefined>; set(milliseconds: number): void; clear(): void } {
  const { promise: over, resolve } = Promise.withResolvers<undefined>()
  const begin = (time: number) => setTimeout(() => resolve(undefined), time)
  let timer = begin(milliseconds)
  return {
    over,
    set(time) {
      clearTimeout(timer)
      timer = begin(time)
    },
    clear: () => clearTimeout(timer),
  }
}

const sleepUntil = (time: number) => new Promise((resolve) => setTimeout(resolve, Math.max(time - Date.now(), 0)))
