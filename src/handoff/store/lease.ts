// Keeps a claim while its question is worked on: the lease lasts a minute and is renewed every twenty seconds.
//
// A renewal that fails because the drive cannot be reached is tried again; the work goes on meanwhile, because it can only be kept under this
// claim. When another process has the question, the work is stopped: it would be paid twice, and nothing of it could be kept.
import { isHandoffError } from '../domain/errors.js'
import type { Ports } from '../domain/ports.js'
import { anyOf } from '../util/abort.js'
import { type Held, leaseEnd, renew } from './answer-store.js'

export interface Lease {
  /** Aborted with an `in-progress` error when another process has taken the question over. */
  lost: AbortSignal
  stop(): void
}

const renewEveryMs = 20_000
const retryMs = 5_000
/** So many tries fit into a lease, even when each of them waits for an answer that does not come. */
const renewalMs = 10_000

export function keepLease(
  { drive, now, sleep }: Pick<Ports, 'drive' | 'now' | 'sleep'>,
  directory: string,
  held: Held,
  by?: number,
): Lease {
  const stopped = new AbortController()
  const lost = new AbortController()
  const renewing = async () => {
    for (let wait = renewEveryMs; ; ) {
      await sleep(wait, stopped.signal)
      const until = leaseEnd(now(), by)
      const signal = anyOf(stopped.signal, AbortSignal.timeout(renewalMs))
      try {
        await renew(drive, directory, held, until, signal)
        wait = renewEveryMs
      } catch (error) {
        if (!isHandoffError(error) || error.code === 'in-progress') throw error
        wait = retryMs
      }
    }
  }
  renewing().catch((error: unknown) => {
    if (!stopped.signal.aborted) lost.abort(error)
  })
  return { lost: lost.signal, stop: () => stopped.abort() }
}
