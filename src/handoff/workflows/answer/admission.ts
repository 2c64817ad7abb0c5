// How many questions this process works on at once. A question waits for as many sandboxes as it needs; waiting is fair between callers.
import { abortError, HandoffError } from '../../domain/errors.js'

export interface AdmissionLimits {
  /** Sandboxes at once. */
  sandboxes: number
  /** Questions that may wait. */
  waiting: number
  /** Questions of one caller that may wait or be answered at once. */
  perCaller: number
}

/** A place in the queue, given back when it is disposed. */
export interface Ticket extends Disposable {
  /** Resolves when the question may start its sandboxes. */
  ready(signal: AbortSignal, onPosition: (position: number) => void): Promise<void>
}

export interface Admission {
  /** Rejects at once with `sandbox-limit` when there is no place left: nothing was read or paid by then. */
  enter(caller: string, sandboxes: number): Ticket
}

/** For an entry point that answers one question at a time. */
export const unlimitedAdmission: Admission = {
  enter: () => ({ ready: async () => {}, [Symbol.dispose]: () => {} }),
}

interface Entry {
  caller: string
  sandboxes: number
  admitted: boolean
  /** Called when the entry is admitted or its position changed. */
  notify: () => void
}

export function makeAdmission(limits: AdmissionLimits): Admission {
  const running = new Set<Entry>()
  const waiting: Entry[] = []
  /** When each caller with a question under way was admitted last, by a counter. */
  const lastAdmitted = new Map<string, number>()
  let admissions = 0

  const free = () => limits.sandboxes - [...running].reduce((sum, { sandboxes }) => sum + sandboxes, 0)

  /**
   * The order of admission: the caller with the fewest questions under way goes first, then the one that was admitted least recently, then the
   * question that waits longest.
   */
  function order(): Entry[] {
    const held = countByCaller(running)
    return waiting
      .map((entry) => {
        const before = held.get(entry.caller) ?? 0
        held.set(entry.caller, before + 1)
        return { entry, before }
      })
      .sort((a, b) => a.before - b.before || lastOf(a.entry) - lastOf(b.entry))
      .map(({ entry }) => entry)
  }

  const lastOf = ({ caller }: Entry) => lastAdmitted.get(caller) ?? 0

  function admit(): void {
    // A question that needs more than is free is not passed by: smaller ones would keep it waiting for ever.
    for (let next = order()[0]; next && next.sandboxes <= free(); next = order()[0]) {
      waiting.splice(waiting.indexOf(next), 1)
      running.add(next)
      admissions += 1
      lastAdmitted.set(next.caller, admissions)
      next.admitted = true
      next.notify()
    }
    for (const entry of waiting) entry.notify()
  }

  function leave(entry: Entry): void {
    const index = waiting.indexOf(entry)
    if (index >= 0) waiting.splice(index, 1)
    else if (!running.delete(entry)) return
    if (![...running, ...waiting].some(({ caller }) => caller === entry.caller)) lastAdmitted.delete(entry.caller)
    admit()
  }

  return {
    enter(caller, sandboxes) {
      const entry: Entry = {
        caller,
        // A comparison on a service with a single sandbox could never start.
        sandboxes: Math.min(sandboxes, limits.sandboxes),
        admitted: false,
        notify: () => {},
      }
      const own = [...running, ...waiting].filter((one) => one.caller === caller).length
      if (own >= limits.perCaller) throw full('This caller has as many questions under way as it may have.')
      const fits = waiting.length === 0 && entry.sandboxes <= free()
      if (!fits && waiting.length >= limits.waiting) throw full('All sandboxes are in use, and the queue is full.')
      waiting.push(entry)
      admit()
      return {
        ready: (signal, onPosition) => admitted(entry, () => order().indexOf(entry) + 1, signal, onPosition),
        [Symbol.dispose]: () => leave(entry),
      }
    },
  }
}

function admitted(
  entry: Entry,
  positionNow: () => number,
  signal: AbortSignal,
  onPosition: (position: number) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let lastPosition = 0
    const stop = () => reject(abortError(signal, 'waiting for a sandbox'))
    entry.notify = () => {
      if (entry.admitted) {
        signal.removeEventListener('abort', stop)
        return resolve()
      }
      const position = positionNow()
      if (position !== lastPosition) onPosition(position)
      lastPosition = position
    }
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop, { once: true })
    entry.notify()
  })
}

function countByCaller(entries: Iterable<Entry>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { caller } of entries) counts.set(caller, (counts.get(caller) ?? 0) + 1)
  return counts
}

const full = (message: string) =>
  new HandoffError('sandbox-limit', message, { next: 'Ask again in a moment.', retryAfterSeconds: 10 })
