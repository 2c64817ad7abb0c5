// A stream of server-sent events: a ping is sent while there are none, and exactly one event ends the stream.

export interface Pinging {
  everyMs: number
  /** Calls back repeatedly. Returns a function that stops it. */
  every(milliseconds: number, call: () => void): () => void
}

const usualPinging: Pinging = {
  everyMs: 10_000,
  every(milliseconds, call) {
    const timer = setInterval(call, milliseconds)
    return () => clearInterval(timer)
  },
}

export interface EventStream {
  response: Response
  /** `id` is what a client sends as `Last-Event-ID` to continue after this event. */
  send(event: string, data: unknown, id?: string): void
  /** Sends the last event. Later events are dropped. */
  end(event: 'answer' | 'error', data: unknown): void
  /** Aborted when the client has disconnected. */
  readonly gone: AbortSignal
}

export function eventStream(pinging: Pinging = usualPinging): EventStream {
  const { response, write, close, gone } = textStream(pinging)
  const send = (event: string, data: unknown, id?: string) => {
    write(`event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`)
  }
  return {
    response,
    send,
    end(event, data) {
      send(event, data)
      close()
    },
    gone,
  }
}

/** The stream below the events. What is written after its end is dropped. */
interface TextStream {
  response: Response
  write(text: string): void
  close(): void
  readonly gone: AbortSignal
}

export function textStream(pinging: Pinging = usualPinging): TextStream {
  const encoder = new TextEncoder()
  const gone = new AbortController()
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  const write = (text: string) => controller?.enqueue(encoder.encode(text))
  let stopPinging = () => {}
  const body = new ReadableStream<Uint8Array>({
    start(opened) {
      controller = opened
      stopPinging = pinging.every(pinging.everyMs, () => write(': ping\n\n'))
    },
    cancel(reason) {
      controller = undefined
      stopPinging()
      gone.abort(reason)
    },
  })
  return {
    response: new Response(body, {
      headers: {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-cache, no-transform',
        'x-accel-buffering': 'no',
      },
    }),
    write,
    close() {
      stopPinging()
      controller?.close()
      controller = undefined
    },
    gone: gone.signal,
  }
}
