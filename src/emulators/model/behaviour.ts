// The faults that a test can configure in the local model. One request can combine a behaviour for the text, one for the transport and one
// for the pace. If two behaviours of the same group match, the newest wins.
import type { Forgery } from './forged-citations.js'

/** What goes wrong with the words. */
export type WordsBehaviour =
  /** Says exactly this. */
  | { kind: 'say'; text: string }
  /** Cites wrongly. */
  | { kind: 'forge'; how: Forgery }
  /** Obeys instructions in the repository's text. Without such instructions it answers correctly, unless `always` is set. */
  | { kind: 'obey'; always?: boolean; plants?: string[] }
  /** Asks for more before it answers; the requests are lines of the grammar. */
  | { kind: 'ask-more'; requests?: string[] }
  /** Goes on and on, whatever the limit says. */
  | { kind: 'flood'; characters?: number }
  /** Thinks aloud before the reply: in a field of its own, or between tags in the text. */
  | { kind: 'think'; where: 'field' | 'text' }
  /** Says nothing. */
  | { kind: 'silent' }

/** What goes wrong with how they are sent. */
export type SendingBehaviour =
  /** 429. `retryAfter` is the header's value: seconds or a date. */
  | { kind: 'busy'; retryAfter?: string; quota?: boolean }
  | { kind: 'broken'; status?: number; retryAfter?: string }
  /** Sends so many pieces of text and then nothing, with the connection open. */
  | { kind: 'stall'; after?: number }
  /** Sends so many pieces of text and drops the connection. */
  | { kind: 'cut'; after?: number }
  /** Ends the stream without saying that it ended, and without `[DONE]`. */
  | { kind: 'no-finish' }
  /** Says half of it and that the limit was reached. */
  | { kind: 'too-long' }
  /** Says half of it and that a filter stopped the rest. */
  | { kind: 'filtered' }
  /** A page for people, with status 200: what a wrong address gives. */
  | { kind: 'html' }
  /** An error as JSON, with status 200. */
  | { kind: 'error-with-200' }
  /** An error among the pieces. */
  | { kind: 'error-in-stream'; after?: number; code?: string | number }
  /** A piece that is not JSON. */
  | { kind: 'garbled'; after?: number }
  /** Only comments that keep the connection alive, or only pieces without text. */
  | { kind: 'keep-alive'; with: 'comments' | 'empty-pieces'; everyMs?: number }
  /** 400 when the request has this parameter; `unnamed` in a form that does not tell which. */
  | { kind: 'refuse'; parameter: string; unnamed?: boolean }
  /** No piece says whose words they are. */
  | { kind: 'no-role' }
  /** Does not say what it cost, though asked. */
  | { kind: 'no-usage' }
  /** Answers a request for a stream with one piece of JSON. */
  | { kind: 'no-stream' }

interface PaceBehaviour {
  kind: 'slow'
  /** Before the first piece. */
  firstMs?: number
  /** Before each further piece. */
  pieceMs?: number
}

export type Behaviour = WordsBehaviour | SendingBehaviour | PaceBehaviour

/** Which requests it meets: of one task or all, after `skip` of them, `times` of them. */
export interface When {
  task?: string
  times?: number
  skip?: number
}

export interface ActiveBehaviours {
  words: WordsBehaviour | undefined
  sending: SendingBehaviour | undefined
  pace: PaceBehaviour | undefined
}

const wordsKinds = new Set<Behaviour['kind']>(['say', 'forge', 'obey', 'ask-more', 'flood', 'think', 'silent'])

export function makeBehaviours(): {
  add(behaviour: Behaviour, when?: When): () => void
  next(task: string): ActiveBehaviours
  clear(): void
} {
  const entries: { behaviour: Behaviour; when: When; seen: number }[] = []
  return {
    add(behaviour, when = {}) {
      const entry = { behaviour, when, seen: 0 }
      entries.push(entry)
      return () => {
        const index = entries.indexOf(entry)
        if (index >= 0) entries.splice(index, 1)
      }
    },
    next(task) {
      const behaviours: ActiveBehaviours = { words: undefined, sending: undefined, pace: undefined }
      for (const entry of entries) {
        const { task: only, times = Number.POSITIVE_INFINITY, skip = 0 } = entry.when
        if (only !== undefined && only !== task) continue
        entry.seen += 1
        if (entry.seen > skip && entry.seen <= skip + times) setBehaviour(behaviours, entry.behaviour)
      }
      return behaviours
    },
    clear: () => {
      entries.length = 0
    },
  }
}

function setBehaviour(behaviours: ActiveBehaviours, behaviour: Behaviour): void {
  if (behaviour.kind === 'slow') behaviours.pace = behaviour
  else if (wordsKinds.has(behaviour.kind)) behaviours.words = behaviour as WordsBehaviour
  else behaviours.sending = behaviour as SendingBehaviour
}
