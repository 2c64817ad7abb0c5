// Looks for the answer to a question whose connection was lost: the question is stored, and its answer may still come.
import { isTemporary, Problem } from './api-client.js'
import type { Answer, FailedAnswer, StoredAnswer } from './api-types.js'

const waits = [500, 1_000, 2_000, 3_000]
const longestSearch = 120_000
/** A request on a dead connection gets no reply; a new request may use another connection. */
const longestRequest = 10_000

/** `load(signal)` reads the stored record. Resolves with the answer or its failure; undefined when neither appears in time. */
export async function findRecord(
  load: (signal: AbortSignal) => Promise<StoredAnswer>,
  signal: AbortSignal,
): Promise<Answer | FailedAnswer | undefined> {
  const end = performance.now() + longestSearch
  for (let tries = 0; performance.now() < end; tries += 1) {
    await wait(waits[Math.min(tries, waits.length - 1)]!, signal)
    const found = await load(AbortSignal.any([signal, AbortSignal.timeout(longestRequest)])).catch((reason: unknown) =>
      reason instanceof Problem ? reason : undefined,
    )
    signal.throwIfAborted()
    if (found instanceof Problem) {
      if (found.document.status !== 404 && !isTemporary(found.document)) throw found
    } else if (found?.status === 'done' || found?.status === 'failed') return found
  }
  return undefined
}

function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, milliseconds)
    signal.addEventListener('abort', stop)
  })
}
