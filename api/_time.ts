// How long there is: a platform ends an invocation at its deadline, whatever it is doing.

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

/** Stops when the time is over, and when whoever asked has gone, unless the answer was promised. */
export function stopper(client: AbortSignal, { workBy }: Times) {
  const controller = new AbortController()
  let kept = false
  const leave = () => {
    if (!kept) controller.abort(new DOMException('The client has gone.', 'AbortError'))
  }
  if (client.aborted) leave()
  client.addEventListener('abort', leave)
  const outOfTime = () => controller.abort(new DOMException('Out of time.', 'TimeoutError'))
  const timers = [setTimeout(outOfTime, Math.max(0, workBy - Date.now()))]
  return {
    signal: controller.signal,
    keepGoing() {
      kept = true
    },
    kept: () => kept,
    /** Resolves at that time, and never once it is done. */
    late(time: number): Promise<'late'> {
      return new Promise((resolve) => {
        timers.push(setTimeout(() => resolve('late'), Math.max(0, time - Date.now())))
      })
    },
    done() {
      for (const one of timers) clearTimeout(one)
      client.removeEventListener('abort', leave)
    },
  }
}

/** Aborted with the other, or when so much time has passed. An early Node 22 forgets a time limit that nobody but such a pair holds; the timer holds this. */
export function limited(signal: AbortSignal, milliseconds: number): AbortSignal {
  const late = new AbortController()
  const end = () => late.abort(new DOMException('Out of time.', 'TimeoutError'))
  setTimeout(end, Math.max(1, milliseconds)).unref()
  return AbortSignal.any([signal, late.signal])
}

/** Resolves with nothing, at once where there is nothing left to wait. */
export const pause = (milliseconds: number) =>
  new Promise<undefined>((resolve) => setTimeout(resolve, Math.max(0, milliseconds), undefined).unref())

/** Lets what is ready go out first. */
export const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))
