// The control socket of the process behind a mount: other processes of the program ask its state here, drain it and end it.
import { timingSafeEqual } from 'node:crypto'
import { createServer, type Server, type Socket } from 'node:net'
import { Exit } from './parse-arguments.js'

export type ControlRequest =
  | { op: 'status' }
  | { op: 'drain' | 'umount'; timeout?: number }
  /** A file operation that the real mount does not answer by itself. */
  | { op: 'mkdir' | 'symlink' | 'fsync'; path: string; target?: string }

/** Reads one JSON line and writes one. The state file holds the secret, so only callers that can read the file are accepted. */
export async function listen(
  secret: string,
  answer: (request: ControlRequest) => Promise<object>,
): Promise<{ port: number; close(closed: () => void): void }> {
  const server: Server = createServer((socket: Socket) => {
    let text = ''
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => {
      text += chunk.toString('utf8')
      if (text.includes('\n')) void respond(text, socket)
    })
  })
  async function respond(line: string, socket: Socket): Promise<void> {
    try {
      const request = JSON.parse(line) as ControlRequest & { secret?: string }
      if (!same(request.secret ?? '', secret)) throw new Error('the caller does not know the secret')
      socket.end(`${JSON.stringify(await answer(request))}\n`)
    } catch {
      socket.destroy()
    }
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Exit(4, 'no control port')
  return {
    port: address.port,
    /** Waits at most one second for open connections, then calls `closed`. */
    close(closed) {
      server.close(closed)
      setTimeout(closed, 1_000)
    },
  }
}

function same(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
