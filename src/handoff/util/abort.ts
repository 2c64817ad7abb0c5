// Helpers for abort signals.
import { abortError } from '../domain/errors.js'

/** The work is awaited later, or by others: until then its failure is not an unhandled rejection. */
export function awaitedLater<T extends Promise<unknown> | undefined>(work: T): T {
  work?.catch(() => undefined)
  return work
}

/** Lets what waits be done: requests are sent, answers are taken. */
export const pause = () => new Promise<void>((resume) => setImmediate(resume))

/** Rejects as soon as the signal is aborted. The work itself goes on; the caller must await it elsewhere. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal, doing: string): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const stop = () => aborted.reject(abortError(signal, doing))
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop)
  return Promise.race([work, aborted.promise]).finally(() => signal.removeEventListener('abort', stop))
}

/** A separate timeout for cleanup, because the workflow's signal may be aborted already. */
export function cleanupSignal(): AbortSignal {
  return AbortSignal.timeout(10_000)
}

/**
 * Aborted with the other signal or after a timeout. Its timer is cleared at the end of the `using` block: one that runs on holds the request that it was
 * made for.
 */
export function limited(signal: AbortSignal | undefined, milliseconds: number): { signal: AbortSignal } & Disposable {
  const late = new AbortController()
  const stop = () => late.abort(new DOMException('Out of time.', 'TimeoutError'))
  const timer = setTimeout(stop, Math.max(1, milliseconds)).unref()
  const both = signal ? AbortSignal.any([signal, late.signal]) : late.signal
  return { signal: both, [Symbol.dispose]: () => clearTimeout(timer) }
}

/** Aborts some time after the other signal, so that a started request can still report its result. */
export function delayAbort(signal: AbortSignal, milliseconds: number): AbortSignal {
  const later = new AbortController()
  const wait = () => setTimeout(() => later.abort(signal.reason), milliseconds).unref()
  if (signal.aborted) wait()
  else signal.addEventListener('abort', wait, { once: true })
  return later.signal
}
