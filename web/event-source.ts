// Reads server-sent events from a stream. The browser's own EventSource can neither post nor send a token.

/** The service sends a ping every ten seconds. After this silence the connection counts as lost, whatever its state says. */
export const longestSilence = 30_000

/** An event's name, its data as parsed JSON, and what continues after it, where it has that. */
export type ServerEvent = [name: string, data: unknown, id?: string]

/**
 * Skips comments (pings) and events without data. Throws when the stream breaks off, or when no byte arrives for `silence` milliseconds.
 */
export async function* readEvents(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  signal?: AbortSignal,
  silence = longestSilence,
): AsyncGenerator<ServerEvent> {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
  const stop = () => reader.cancel().catch(() => undefined)
  signal?.addEventListener('abort', stop)
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await withTimeout(silence, reader.read())
      if (done) return
      const frames = (rest + value).split(/\r?\n\r?\n/)
      rest = frames.pop()!
      for (const frame of frames) {
        const event = parseEvent(frame)
        if (event) yield event
      }
    }
  } finally {
    signal?.removeEventListener('abort', stop)
    stop()
  }
}

async function withTimeout<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error('No data arrived for too long.')), milliseconds)
  return Promise.race([work, promise]).finally(() => clearTimeout(timer))
}

function parseEvent(frame: string): ServerEvent | undefined {
  let name = 'message'
  let id: string | undefined
  const data: string[] = []
  for (const line of frame.split(/\r?\n/)) {
    const [, field, value = ''] = /^([a-z]+): ?(.*)$/s.exec(line) ?? []
    if (field === 'event') name = value
    if (field === 'id') id = value
    if (field === 'data') data.push(value)
  }
  if (data.length === 0) return undefined
  try {
    const value: unknown = JSON.parse(data.join('\n'))
    return id === undefined ? [name, value] : [name, value, id]
  } catch {
    return undefined
  }
}
