// Time as a tool: whoever waits or paces is handed a clock, so that nobody else starts one and time can be told what to do.

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Resolves after this many milliseconds; rejects with `abortError` as soon as the signal is aborted. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>
}
