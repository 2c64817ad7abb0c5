// Helpers for abort signals.
import { abortError } from '../domain/errors.js'

const heldFor = new WeakMap<AbortSignal, AbortSignal[]>()

/**
 * A signal that aborts with the first of these. Early versions of Node 22 collect a timeout signal that only the combination references, so it is
 * referenced here.
 */
export function anySignal(...signals: AbortSignal[]): AbortSignal {
  const combined = AbortSignal.any(signals)
  heldFor.set(combined, signals)
  return combined
}

/** Rejects as soon as the signal is aborted. The work itself goes on; the caller must await it elsewhere. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal, doing: string): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const stop = () => aborted.reject(abortError(signal, doing))
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop)
  return Promise.race([work, aborted.promise]).finally(() => signal.removeEventListener('abort', stop))
}
