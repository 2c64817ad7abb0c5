// What happens during a walk, as whoever waits is told: events on a stream, and times in a header.
import type { RunEvent } from '../../handoff/index.js'
import type { Listener, Placed } from '../question-job.js'
import type { Exchange } from './http-function.js'
import { addressOf } from './responses.js'

export interface JobListener extends Listener {
  emit(event: RunEvent): void
  waiting(): boolean
}

export function jobListener(
  listen: (event: RunEvent) => void,
  send: (event: string, data: unknown) => void,
  accepted: () => void,
): JobListener {
  let waiting = false
  const tell = (state: string, place: Placed) =>
    send('status', { state, id: place.id, run: place.handoff.run, self: addressOf(place.handoff, place.id) })
  return {
    emit(event) {
      listen(event)
      if (event.type === 'sandbox-open') waiting = false
      const shown = eventOf(event)
      if (shown) send(shown.event, shown.data)
    },
    onAccepted(place) {
      tell('accepted', place)
      accepted()
    },
    onJoined(place) {
      tell('joined', place)
      accepted()
    },
    onPosition(position) {
      waiting = true
      send('status', { state: 'waiting', position })
    },
    waiting: () => waiting,
  }
}

function eventOf(event: RunEvent): { event: string; data: unknown } | undefined {
  const status = (data: Record<string, unknown>) => ({ event: 'status', data })
  switch (event.type) {
    case 'step-start':
      return status({ state: 'step', step: event.step, at: event.at })
    case 'step-end': {
      const { step, milliseconds, failed } = event
      return status({ state: 'step-done', step, milliseconds, ...(failed ? { failed } : {}) })
    }
    case 'sandbox-open':
      return status({ state: 'sandbox-open', id: event.id, template: event.template })
    case 'sandbox-gone':
      return status({ state: 'sandbox-gone', id: event.id })
    case 'excerpts-found':
      return status({ state: 'found', count: event.count, files: event.files })
    case 'notice':
      return status({ state: 'notice', text: event.text })
    case 'answer-reused':
      return status({ state: 'reused', id: event.id })
    case 'model-text':
      return { event: 'token', data: { text: event.text } }
    case 'model-call': {
      const { purpose, inputTokens, outputTokens } = event
      return { event: 'usage', data: { purpose, inputTokens, outputTokens } }
    }
    default:
      return undefined
  }
}

/** Steps become `Server-Timing`; so does the time to the model's first word. */
export function timings(exchange: Exchange): { listen: (event: RunEvent) => void } {
  const started = Date.now()
  let firstWord = false
  return {
    listen(event) {
      if (event.type === 'step-end') exchange.time(event.step, event.milliseconds)
      if (event.type === 'model-text' && !firstWord) {
        firstWord = true
        exchange.time('first-token', Date.now() - started)
      }
    },
  }
}
