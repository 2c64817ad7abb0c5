// Deadlines within a request. A platform ends an invocation at its deadline in any case.

export interface Times {
  /** When the work must be over, in milliseconds since 1970. */
  workBy: number
  /** When a waiting caller gets the address of the later answer. */
  answerBy: number
}

/**
 * A stopping server aborts the signal of each running request with this reason. It is a nearer deadline, and not a client that disconnected.
 */
export class ServerStopping extends Error {
  override readonly name = 'ServerStopping'
  /** In milliseconds since 1970. */
  readonly deadline: number

  constructor(deadline: number) {
    super('The server stops.')
    this.deadline = deadline
  }
}

/** Checked by name, because each bundled function has its own copy of the class. */
const isServerStopping = (reason: unknown): reason is ServerStopping =>
  reason instanceof Error && reason.name === 'ServerStopping'

/** Divides the remaining time: most for the work, some for the response, some for cleanup. */
export function divideTime(deadline: number, now: number): Times {
  const left = Math.max(0, deadline - now)
  const workBy = Math.floor(deadline - Math.min(10_000, left * 0.2))
  return { workBy, answerBy: Math.floor(workBy - Math.min(5_000, left * 0.1)) }
}

/** The deadline of work whose answer is also posted. Posting has its own reserve. */
export function beforePosting(workBy: number, now: number): number {
  return Math.floor(workBy - Math.min(10_000, Math.max(0, workBy - now) * 0.1))
}

/**
 * The deadlines of one request. A stopping server moves the deadline forward, and all derived times with it. The creator of the request calls the
 * function that clears its timers.
 */
export interface TimeLimit {
  /** When the platform ends the request, in milliseconds since 1970, as known at the start. */
  readonly deadline: number
  /** Aborted when the client has disconnected. */
  readonly client: AbortSignal
  /** Calls back at that time, or after this share of the remaining time when the server stops. */
  at(part: keyof Times, time: number, call: () => void): void
  /** Aborts at that time, whether or not the client has disconnected. */
  workUntil(time: number): AbortSignal
  /** Bounds the work before the response starts. */
  answering(): AbortSignal
  end(): void
}

/** A timer with a longer delay would fire at once. */
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

/** Aborts at the deadline, and when the client disconnects before it knows where the answer will be. */
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
    /** Resolves at that time, unless the request has ended. */
    late: (time: number) => new Promise<'late'>((resolve) => limit.at('answerBy', time, () => resolve('late'))),
    done: () => client.removeEventListener('abort', leave),
  }
}

/** Resolves after the delay, at once if it has passed. */
export const pause = (milliseconds: number) =>
  new Promise<undefined>((resolve) => setTimeout(resolve, Math.max(0, milliseconds), undefined).unref())
