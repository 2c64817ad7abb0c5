// The E2B account as the other files here use it: how a call is made, and how a machine is found and killed.
import { abortError, HandoffError, ignoreFailure } from '../../domain/errors.js'
import type { FoundSandbox } from '../../domain/ports.js'
import { type ProgramSource, publishedDrive9, type SandboxSettings } from '../../domain/settings.js'
import { retry } from '../../util/retry.js'
import { systemClock } from '../system-clock.js'
import { explainFailure, failureOf, isWithoutEffect } from './errors.js'

export interface ClientSettings extends Omit<SandboxSettings, 'binary'> {
  /** What drive9 publishes when absent. */
  binary?: ProgramSource
  /** How long one request may wait for its reply. */
  requestTimeoutMs?: number
  /** How often the lifetime of a sandbox is extended; every 30 seconds when absent. */
  renewEveryMs?: number
  /** Receives a sentence about what the account or the template lacks. */
  onNotice?: (text: string) => void
}

/** The SDK is big: it is loaded when the first call needs it. */
const loadSdk = () => import('e2b')

export interface Service {
  settings: ClientSettings & { binary: ProgramSource }
  sdk: typeof loadSdk
  /** What every call of the SDK is given. */
  connection: (signal: AbortSignal) => Connection
  notice: (text: string) => void
  /** The build of our own template that this process started, and what to say of it. */
  building?: Promise<string>
}

interface Connection {
  apiKey: string
  domain?: string
  apiUrl?: string
  sandboxUrl?: string
  requestTimeoutMs: number
  signal: AbortSignal
}

const usualRequestTimeoutMs = 30_000

export function makeService(settings: ClientSettings): Service {
  const { apiKey, domain, apiUrl, sandboxUrl, requestTimeoutMs = usualRequestTimeoutMs } = settings
  const fixed = {
    apiKey,
    requestTimeoutMs,
    ...(domain && { domain }),
    ...(apiUrl && { apiUrl }),
    ...(sandboxUrl && { sandboxUrl }),
  }
  return {
    settings: { binary: { url: publishedDrive9 }, ...settings },
    sdk: loadSdk,
    connection: (signal) => ({ ...fixed, signal }),
    notice: (text) => settings.onNotice?.(text),
  }
}

/** The SDK's own limit comes first, where it works. */
const graceMs = 500

/**
 * Every call of the SDK that waits for one reply. Its own limit and our signal may never be heard of: the SDK hands both to a `Request`, and once
 * that is collected, which may be while the reply is still waited for, nothing ends the waiting.
 */
export async function replied<T>(
  service: Service,
  signal: AbortSignal,
  call: (connection: Connection) => Promise<T>,
  mostMs = Number.POSITIVE_INFINITY,
): Promise<T> {
  const usual = service.connection(signal)
  const requestTimeoutMs = Math.min(mostMs, usual.requestTimeoutMs)
  const watch = new AbortController()
  const over = new Promise<never>((_, reject) => {
    const end = (name: string) => reject(new DOMException('No reply came.', name))
    const clock = setTimeout(end, requestTimeoutMs + graceMs, 'TimeoutError')
    watch.signal.addEventListener('abort', () => clearTimeout(clock))
    const later = () => setTimeout(end, graceMs, 'AbortError').unref()
    if (signal.aborted) later()
    else signal.addEventListener('abort', later, { once: true, signal: watch.signal })
  })
  try {
    return await Promise.race([call({ ...usual, requestTimeoutMs }), over])
  } finally {
    watch.abort()
  }
}

export async function findSandboxes(
  service: Service,
  metadata: Record<string, string>,
  signal: AbortSignal,
): Promise<FoundSandbox[]> {
  const { Sandbox } = await service.sdk()
  const pages = Sandbox.list({ ...service.connection(signal), query: { metadata, state: ['running', 'paused'] } })
  const found: FoundSandbox[] = []
  while (pages.hasNext) {
    const page = await replied(service, signal, (connection) => pages.nextItems(connection))
    found.push(
      ...page.map(({ sandboxId, startedAt, endAt, metadata: found }) => ({
        id: sandboxId,
        startedAt: startedAt.toISOString(),
        endsAt: endAt.toISOString(),
        metadata: found,
      })),
    )
  }
  return found
}

const killPauses = [200, 600, 1_800, 5_000]
const killRequestMs = 10_000

/**
 * Repeats the call until the service confirms that the sandbox is gone. True when this process killed it, as far as can be known: a lost reply may
 * have been a yes.
 */
export async function killSandbox(service: Service, id: string, signal: AbortSignal): Promise<boolean> {
  const doing = `Killing sandbox ${id}`
  const { Sandbox } = await service.sdk()
  let perhaps = false
  const kill = async () => {
    if (signal.aborted) throw abortError(signal, lower(doing))
    const killed = await replied(service, signal, (connection) => Sandbox.kill(id, connection), killRequestMs)
    return killed || perhaps
  }
  const pauseAfter = (error: unknown, attempts: number) => {
    if (signal.aborted) throw abortError(signal, lower(doing))
    const milliseconds = killPauses[attempts - 1]
    if (milliseconds === undefined || (isWithoutEffect(error) && !isPassing(error))) throw explainFailure(error, doing)
    perhaps ||= !isWithoutEffect(error)
    return { milliseconds }
  }
  return retry(kill, pauseAfter, { clock: systemClock, signal, doing: lower(doing) })
}

/** Refused now, but perhaps not in a moment. */
function isPassing(error: unknown): boolean {
  const { name, platform } = failureOf(error)
  return platform || name === 'RateLimitError' || name === 'ServiceBusyError'
}

export async function pause(milliseconds: number, signal: AbortSignal, doing: string): Promise<void> {
  if (milliseconds > 0) await systemClock.sleep(milliseconds, signal).catch(ignoreFailure)
  if (signal.aborted) throw abortError(signal, doing)
}

/** Every failure of a call leaves here as our own error; an abort is one whatever the SDK made of it. */
export async function asOurs<T>(signal: AbortSignal, doing: string, call: () => Promise<T>): Promise<T> {
  if (signal.aborted) throw abortError(signal, lower(doing))
  try {
    return await call()
  } catch (error) {
    if (signal.aborted && !(error instanceof HandoffError)) throw abortError(signal, lower(doing))
    throw explainFailure(error, doing)
  }
}

/** «Killing sandbox x failed» and «Stopped while killing sandbox x». */
export const lower = (doing: string) => doing.charAt(0).toLowerCase() + doing.slice(1)
