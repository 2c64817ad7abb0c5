// Opens Sandbox B: a machine, and a token that may read one run's directory and nothing else. Both are ended together.
import { type AppContext, egressOf, lifetimeMargin } from '../../context.js'
import { asOneFailure, ignoreFailure, isHandoffError, settleAll } from '../../domain/errors.js'
import { type Drive, type Sandbox, smallFileBytes } from '../../domain/ports.js'
import { artifact } from '../../domain/run.js'
import type { FindTask } from '../../domain/sandbox-protocol.js'
import { openSealed } from '../../store/run-access.js'
import { awaitedLater, orAborted } from '../../util/abort.js'
import { openSandbox, type StepTimer } from '../../util/step-timer.js'
import type { ChosenRun } from './resolve-run.js'
import { whileAccountIsFull } from './wait-for-account.js'

export interface Looking {
  context: AppContext
  timer: StepTimer
  run: ChosenRun
  /** Written on the sandbox, beside our own. */
  labels?: Record<string, string> | undefined
}

/** The machine is ended and the token revoked when it is disposed of, which never fails. */
export interface OpenRun extends AsyncDisposable {
  sandbox: Sandbox
  /** Opens the run's directory for reading. */
  token: string
  /** Idempotent. */
  close(): Promise<void>
  /** Whether it is being ended. */
  closing(): boolean
  /** See `FindTask`. */
  readAhead: ReadAhead
  /** Whether it has searched before. */
  prepared: boolean
}

/** Sandboxes that are being opened beside the claim of their question. */
export interface Opening extends AsyncDisposable {
  /** Fulfilled when they may be opened. */
  ready: Promise<void>
  /** One for each run, in their order. */
  runs: Promise<OpenRun[]>
  /** Ends them, also while they are being opened. Idempotent, and never fails. */
  close(): Promise<void>
}

interface Claiming {
  /** Names the question. */
  key: string
  /** Rejected when the question is another caller's. */
  claimed: Promise<unknown>
  beforeOpening: (signal: AbortSignal) => Promise<void>
}

/** Questions of this process. Of its callers that ask the same, one opens a sandbox before the claim is certain. */
const underWay = new Set<string>()

/** Opens a sandbox for each run. Before the claim is certain none has a token or a program; without the claim they are ended. */
export function openBesideClaim(
  looking: Omit<Looking, 'run'> & { runs: readonly ChosenRun[] },
  { key, claimed, beforeOpening }: Claiming,
  signal: AbortSignal,
): Opening {
  const { context } = looking
  const stop = new AbortController()
  const wanted = AbortSignal.any([signal, stop.signal])
  const isFirst = !underWay.has(key)
  underWay.add(key)
  let isOpening = true

  const prepare = async () => {
    if (!isFirst) await claimed
    await beforeOpening(wanted)
  }
  // A creation that was sent is not broken off: killing a sandbox that is known is surer than looking for one that may be made.
  const openAll = async (): Promise<OpenRun[]> => {
    await using opened = new AsyncDisposableStack()
    const open = await settleAll(
      looking.runs.map((run) => openForReading({ ...looking, run }, signal, claimed).then((one) => opened.use(one))),
    )
    opened.move()
    return open
  }
  const ready = awaitedLater(prepare())
  const runs = awaitedLater(
    ready
      .then(() => whileAccountIsFull(openAll, context, wanted))
      .finally(() => {
        isOpening = false
      }),
  )
  const end = async () => {
    stop.abort()
    if (isFirst) underWay.delete(key)
    // A failure to open them is reported where they are awaited.
    const ended = runs.then(
      (open) => Promise.all(open.map((one) => one.close())),
      () => undefined,
    )
    if (isOpening && context.background) context.background(ended)
    else await ended
  }
  let ending: Promise<void> | undefined
  const close = () => (ending ??= end())
  return { ready, runs, close, [Symbol.asyncDispose]: close }
}

export function openForReading(
  looking: Looking,
  signal: AbortSignal,
  claimed: Promise<unknown> = Promise.resolve(),
): Promise<OpenRun> {
  return openRun(looking, signal, claimed).catch((error: unknown) => {
    throw asOneFailure(error)
  })
}

async function openRun(
  { context, timer, run, labels }: Looking,
  signal: AbortSignal,
  claimed: Promise<unknown>,
): Promise<OpenRun> {
  const { ports } = context
  const { sandboxBy = Number.POSITIVE_INFINITY, deadlineMs } = context.limits
  // Computed now, because waiting for a slot used up part of the time.
  const lifetimeMs = Math.max(1_000, Math.min(deadlineMs + lifetimeMargin, sandboxBy - ports.clock.now()))
  const metadata = { ...labels, handoff: '1', role: 'ask', run: run.handoff.run }
  await using opening = new AsyncDisposableStack()
  const opened = settleAll([
    openSandbox(timer, ports, 'ask', { metadata, lifetimeMs, egress: egressOf(context) }, signal).then((one) =>
      opening.use(one),
    ),
    claimed
      .then(() => openSealed(ports, run.directory, Math.ceil(lifetimeMs / 1_000), signal))
      .then((one) => opening.use(one)),
  ])
  const [[{ sandbox, close: kill }, access], readAhead] = await settleAll([
    opened,
    claimed.then(() => readAheadOf(ports.drive, run, opened, signal)),
  ])
  opening.move()
  let closing: Promise<void> | undefined
  const end = async () => {
    const [gone, revoked] = await Promise.allSettled([endedSoon(context, kill()), access.revoke()])
    // Sandbox and token are read-only and expire, so a failure here does not discard the answer.
    if (gone.status === 'rejected') ports.emit({ type: 'notice', text: machineLeft(gone.reason) })
    if (revoked.status === 'rejected') ports.emit({ type: 'notice', text: tokenLeft })
  }
  const close = () => (closing ??= end())
  return {
    sandbox,
    token: access.token.secret,
    readAhead,
    close,
    [Symbol.asyncDispose]: close,
    closing: () => closing !== undefined,
    prepared: false,
  }
}

type ReadAhead = Pick<FindTask, 'tableStart'> & Required<Pick<FindTask, 'addresses'>>

/** A clone of up to so many bytes is read whole, in less time than the mount takes. */
const smallCloneBytes = 2_000_000
/** The lists of pages of 31,000 files fit. The task goes in a variable of the environment, which may have 128 KiB. */
const tableStartBytes = 60_000

/** Spares Sandbox B its first two round trips. It asks for itself what is not here, and does not wait for the table once it is `opened`. */
async function readAheadOf(
  drive: Drive,
  run: ChosenRun,
  opened: Promise<unknown>,
  signal: AbortSignal,
): Promise<ReadAhead> {
  const addresses = await locateLarge(drive, run, signal)
  const table = addresses[artifact.searchTable]
  if (table === undefined) return { addresses }
  const stop = new AbortController()
  awaitedLater(opened.finally(() => stop.abort()))
  const path = `${run.directory}/${artifact.searchTable}`
  const wanted = AbortSignal.any([signal, stop.signal])
  const start = await drive.readStart(path, table, tableStartBytes, wanted).catch(ignoreFailure)
  return { addresses, ...(start ? { tableStart: Buffer.from(start).toString('base64') } : {}) }
}

async function locateLarge(
  drive: Drive,
  { directory, handoff }: ChosenRun,
  signal: AbortSignal,
): Promise<Record<string, string>> {
  const index: readonly string[] = [artifact.searchTable, artifact.searchPages]
  const read = handoff.artifacts.filter(({ path }) => index.includes(path) || path.endsWith('.git.tar'))
  if (read.length <= index.length || read.every(({ bytes }) => bytes <= smallCloneBytes)) return {}
  const wanted = read.filter(({ bytes }) => bytes >= smallFileBytes)
  const located = await Promise.all(
    wanted.map(async ({ path }) => {
      const address = await drive.locate(`${directory}/${path}`, signal).catch(ignoreFailure)
      return address === undefined ? [] : [[path, address] as const]
    }),
  )
  return Object.fromEntries(located.flat())
}

/** A generated answer does not wait longer than this for the end of its sandbox. */
const killPatienceMs = 5_000

function endedSoon({ background }: AppContext, closing: Promise<void>): Promise<void> {
  if (!background) return closing
  background(closing)
  return orAborted(closing, AbortSignal.timeout(killPatienceMs), 'the sandbox was being ended')
}

const machineLeft = (error: unknown) =>
  `The sandbox could not be ended, and ends by itself when its time is over: ${isHandoffError(error) ? error.message : 'an unexpected error'}`

const tokenLeft = "The sandbox's token could not be revoked; it can only read this run, and ends by itself."
