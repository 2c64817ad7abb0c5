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
