// Reports progress to the caller as events of a stream.
import type { FoundQuestion, RunEvent } from '../../handoff/index.js'
import type { EventStream } from './event-stream.js'
import { addressOf } from './responses.js'

interface ProgressEvents {
  emit(event: RunEvent): void
  /** Later events include the address of the answer. */
  place(question: Pick<FoundQuestion, 'id' | 'run'>): void
}

/** A place in the words of an answer: of which claim, and how many UTF-16 units were sent. An event's id is `<claim>-<at>`. */
interface WordPlace {
  claim: string
  at: number
}

export function lastEventId(request: Request): WordPlace | undefined {
  const [, claim, at] = /^([a-z0-9]{1,100})-(\d{1,7})$/.exec(request.headers.get('last-event-id') ?? '') ?? []
  return claim === undefined ? undefined : { claim, at: Number(at) }
}

/** With the last place that the client has seen, only later words are sent. */
export function progressEvents(send: EventStream['send'], since?: WordPlace): ProgressEvents {
  let where: Record<string, string> = {}
  let place = since

  /** The words of another claim are other words. */
  function enter(claim: string): WordPlace {
    if (place?.claim === claim) return place
    if (place !== undefined && place.at > 0) send('status', { state: 'restarted' })
    place = { claim, at: 0 }
    return place
  }

  function sendWords(to: WordPlace, text: string): void {
    if (text === '') return
    to.at += text.length
    send('token', { text }, `${to.claim}-${to.at}`)
  }

  return {
    emit(event) {
      if (event.type === 'answer-claimed') enter(event.claim)
      if (event.type === 'model-text' && place) return sendWords(place, event.text)
      if (event.type === 'answer-written') {
        const to = enter(event.claim)
        return sendWords(to, event.text.slice(to.at))
      }
      const shown = eventOf(event, where)
      if (shown) send(shown.event, shown.data)
    },
    place({ id, run: { handoff } }) {
      where = { id, run: handoff.run, self: addressOf(handoff, id) }
    },
  }
}

function eventOf(event: RunEvent, where: Record<string, string>): { event: string; data: unknown } | undefined {
  const status = (data: Record<string, unknown>) => ({ event: 'status', data })
  switch (event.type) {
    case 'answer-claimed':
      return status({ state: 'accepted', ...where })
    case 'answer-joined':
      return status({ state: 'joined', ...where })
    case 'answer-limit': {
      const { depth, calls, tokens, cost } = event
      return status({ state: 'limit', depth, calls, tokens, ...(cost === undefined ? {} : { cost }) })
    }
    case 'answer-waiting':
      return status({ state: 'waiting', position: event.position })
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
    case 'excerpts-found': {
      const { count, files, first } = event
      return status({ state: 'found', count, files, ...(first ? { first } : {}) })
    }
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

/** What happens, in words; undefined for what changes too often to be reported. */
export function stepText(event: RunEvent): string | undefined {
  switch (event.type) {
    case 'step-start':
      return event.step
    case 'answer-waiting':
      return `waiting for a sandbox: place ${event.position}`
    case 'answer-joined':
      return 'another caller asked the same; waiting for its answer'
    case 'excerpts-found':
      return `found ${event.count} pieces of ${event.files} files`
    default:
      return undefined
  }
}
