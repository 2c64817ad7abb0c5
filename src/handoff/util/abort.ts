// Wishes to stop, put together.
import { abortError } from '../domain/errors.js'

const heldFor = new WeakMap<AbortSignal, AbortSignal[]>()

/**
 * Aborted with the first of them. An early Node 22 forgets a time limit that nobody but the combination holds, at the next collection of garbage: so
 * it is held here.
 */
export function anySignal(...signals: AbortSignal[]): AbortSignal {
  const combined = AbortSignal.any(signals)
  heldFor.set(combined, signals)
  return combined
}

/** Rejects as soon as the signal is aborted; the work goes on, and is somebody else's to wait for. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal, doing: string): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const stop = () => aborted.reject(abortError(signal, doing))
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop)
  return Promise.race([work, aborted.promise]).finally(() => signal.removeEventListener('abort', stop))
}
