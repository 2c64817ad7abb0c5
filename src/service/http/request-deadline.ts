// How long there is: a platform ends an invocation at its deadline, whatever it is doing.
import { isServerStopping } from '../stopping.js'

export interface Times {
  /** When the work must be over, in milliseconds since 1970. */
  workBy: number
  /** When whoever waits is told where the answer will be. */
  answerBy: number
}

/** The time that is left, divided: most for the work, some to tell it, some to clean up. */
export function divideTime(deadline: number, now: number): Times {
  const left = Math.max(0, deadline - now)
  const workBy = Math.floor(deadline - Math.min(10_000, left * 0.2))
  return { workBy, answerBy: Math.floor(workBy - Math.min(5_000, left * 0.1)) }
}

/** When the work must be over where its answer has to be posted too: posting has a time of its own. */
export function beforePosting(workBy: number, now: number): number {
  return Math.floor(workBy - Math.min(10_000, Math.max(0, workBy - now) * 0.1))
}

/**
 * The time of one request. A server that stops brings the deadline nearer, and each time that was set with it. Timers do not outlive the request:
 * whoever began it ends them.
 */
export interface TimeLimit {
  /** When the platform ends the request, in milliseconds since 1970, as it was said at the beginning. */
  readonly deadline: number
  /** Aborted when the client has gone. */
  readonly client: AbortSignal
  /** Calls back at that time, or at this part of what is left when the server stops. */
  at(part: keyof Times, time: number, call: () => void): void
  /** For work that has to be over at that time, whether or not the client has gone. */
  workUntil(time: number): AbortSignal
  /** For all that is waited for before an answer begins. */
  answering(): AbortSignal
  end(): void
}

/** A timer that is set for longer rings at once. */
const longestTimerMs = 2 ** 31 - 1

interface Alarm {
  part: keyof Times
  time: number
  call: () => void
  timer?: NodeJS.Timeout
}

export function timeLimit(signal: AbortSignal, deadline: number): TimeLimit {
  const client = new AbortController()
  const alarms = new Set<Alarm>()

  function set(alarm: Alarm): void {
    clearTimeout(alarm.timer)
    const milliseconds = Math.min(longestTimerMs, Math.max(1, alarm.time - Date.now()))
    alarm.timer = setTimeout(alarm.call, milliseconds).unref()
  }

  function at(part: keyof Times, time: number, call: () => void): void {
    const alarm = { part, time, call }
    alarms.add(alarm)
    set(alarm)
    if (isServerStopping(signal.reason)) bringNearer(signal.reason.deadline)
  }

  function bringNearer(stop: number): void {
    const times = divideTime(Math.min(stop, deadline), Date.now())
    for (const alarm of alarms) {
      alarm.time = Math.min(alarm.time, times[alarm.part])
      set(alarm)
    }
  }

  function aborted(): void {
    if (isServerStopping(signal.reason)) bringNearer(signal.reason.deadline)
    else client.abort(signal.reason)
  }

  function signalAt(part: keyof Times, time: number): AbortSignal {
    const late = new AbortController()
    at(part, time, () => late.abort(outOfTime()))
    return late.signal
  }

  if (signal.aborted) aborted()
  signal.addEventListener('abort', aborted)
  return {
    deadline,
    client: client.signal,
    at,
    workUntil: (time) => signalAt('workBy', time),
    answering: () => AbortSignal.any([client.signal, signalAt('answerBy', divideTime(deadline, Date.now()).answerBy)]),
    end() {
      for (const { timer } of alarms) clearTimeout(timer)
      alarms.clear()
      signal.removeEventListener('abort', aborted)
    },
  }
}

const outOfTime = () => new DOMException('Out of time.', 'TimeoutError')

/** Stops when the time is over, and when the client has gone, unless the answer was promised. */
export function stopper(limit: TimeLimit, client: AbortSignal, { workBy }: Times) {
  const controller = new AbortController()
  let kept = false
  const leave = () => {
    if (!kept) controller.abort(new DOMException('The client has gone.', 'AbortError'))
  }
  if (client.aborted) leave()
  client.addEventListener('abort', leave)
  limit.at('workBy', workBy, () => controller.abort(outOfTime()))
  return {
    signal: controller.signal,
    keepGoing() {
      kept = true
    },
    kept: () => kept,
    /** Resolves at that time, and never once the request is over. */
    late: (time: number) => new Promise<'late'>((resolve) => limit.at('answerBy', time, () => resolve('late'))),
    done: () => client.removeEventListener('abort', leave),
  }
}

/** Aborted with the other, or when so much time has passed; its timer ends with the block it is used in. */
export function limited(signal: AbortSignal, milliseconds: number): { signal: AbortSignal } & Disposable {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(outOfTime()), Math.max(1, milliseconds)).unref()
  return { signal: AbortSignal.any([signal, late.signal]), [Symbol.dispose]: () => clearTimeout(timer) }
}

/** Resolves with nothing, at once where there is nothing left to wait. */
export const pause = (milliseconds: number) =>
  new Promise<undefined>((resolve) => setTimeout(resolve, Math.max(0, milliseconds), undefined).unref())

/** Lets what is ready go out first. */
export const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))
