// Looks for the answer to a question whose connection was lost: the question is stored, and its answer may still come.
import { isTemporary, Problem } from './api-client.js'
import type { Answer, FailedAnswer, StoredAnswer } from './api-types.js'

const waits = [500, 1_000, 2_000, 3_000]
const longestSearch = 120_000

/**
 * `load` looks for the answer, and calls `onSign` when the service says more of it. Resolves with the answer or its failure; undefined when neither
 * appears in two minutes after the last sign.
 */
export async function findRecord(
  load: (onSign: () => void) => Promise<StoredAnswer>,
  signal: AbortSignal,
): Promise<Answer | FailedAnswer | undefined> {
  let end = performance.now() + longestSearch
  for (let tries = 0; performance.now() < end; tries += 1) {
    await wait(waits[Math.min(tries, waits.length - 1)]!, signal)
    const onSign = () => {
      end = performance.now() + longestSearch
      tries = -1
    }
    const found = await load(onSign).catch((reason: unknown) => (reason instanceof Problem ? reason : undefined))
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
