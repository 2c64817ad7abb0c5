// Looks for what became of a question whose connection was lost: it is in the ledger, and its answer may still come.
import { mayPass, Problem } from './api-client.js'

const waits = [500, 1_000, 2_000, 3_000]
const longestSearch = 120_000
/** A connection that died without a word is not heard of again; a new request may find another. */
const longestLook = 10_000

/** `look(signal)` asks for the record. Resolves with the answer or the failure that it became; undefined when neither came in time. */
export async function findRecord(look, signal) {
  const end = performance.now() + longestSearch
  for (let tries = 0; performance.now() < end; tries += 1) {
    await wait(waits[Math.min(tries, waits.length - 1)], signal)
    const found = await look(AbortSignal.any([signal, AbortSignal.timeout(longestLook)])).catch((reason) => reason)
    signal.throwIfAborted()
    if (found.status === 'done' || found.status === 'failed') return found
    if (found instanceof Problem && found.document.status !== 404 && !mayPass(found.document)) throw found
  }
  return undefined
}

function wait(milliseconds, signal) {
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
