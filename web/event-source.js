// Reads server-sent events from a stream. The browser's own EventSource can neither post nor send a token.

/** The service pings every ten seconds: who is silent for so long is gone, whatever the connection says. */
export const longestSilence = 30_000

/**
 * Yields `[name, data]` with the data as parsed JSON; comments (pings) and events without data are skipped. Fails when the stream breaks off, or
 * brings not a single byte for so many milliseconds.
 */
export async function* readEvents(stream, signal, silence = longestSilence) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
  const stop = () => reader.cancel().catch(() => undefined)
  signal?.addEventListener('abort', stop)
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await within(silence, reader.read())
      if (done) return
      const frames = (rest + value).split(/\r?\n\r?\n/)
      rest = frames.pop()
      for (const frame of frames) {
        const event = eventOf(frame)
        if (event) yield event
      }
    }
  } finally {
    signal?.removeEventListener('abort', stop)
    stop()
  }
}

async function within(milliseconds, work) {
  let timer
  const late = new Promise((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('Nothing came for too long.')), milliseconds)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

function eventOf(frame) {
  let name = 'message'
  const data = []
  for (const line of frame.split(/\r?\n/)) {
    const [, field, value] = /^([a-z]+): ?(.*)$/s.exec(line) ?? []
    if (field === 'event') name = value
    if (field === 'data') data.push(value)
  }
  if (data.length === 0) return undefined
  try {
    return [name, JSON.parse(data.join('\n'))]
  } catch {
    return undefined
  }
}
