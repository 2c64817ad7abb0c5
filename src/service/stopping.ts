// A stopping server aborts the signal of each running request with this reason. A function treats it as a nearer deadline and not as a client that
// disconnected.

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

/** Checked by name, because each bundled function has its own copy of the class. */
export const isServerStopping = (reason: unknown): reason is ServerStopping =>
  reason instanceof Error && reason.name === name
