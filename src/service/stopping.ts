// A server that stops tells each running request until when it has time: it aborts the request's signal with this reason. A function takes that as
// a nearer deadline, and not as a client that has gone.

const name = 'ServerStopping'

export class ServerStopping extends Error {
  override readonly name = name
  /** In milliseconds since 1970. */
  readonly deadline: number

  constructor(deadline: number) {
    super('The server stops.')
    this.deadline = deadline
  }
}

/** Known by its name: functions that were bundled apart have a class each. */
export const isServerStopping = (reason: unknown): reason is ServerStopping =>
  reason instanceof Error && reason.name === name
