// One question on its way through the service, for whoever waits for it: over HTTP in three ways, from a comment, or because it was left behind.

import type * as Product from '../handoff/index.js'
import { followAnswer, staleNow, takeQuestion } from '../handoff/stored-answer.js'
import type { Door } from './app.js'
import { limited } from './http/request-deadline.js'
import type { Seen } from './http/responses.js'

export interface Order {
  door: Door
  service: Product.Service
  visit: Product.Visit
  request: Product.AskRequest
  /** Where the answer is posted too. */
  post?: { pull: number }
}

export interface Listener {
  /** Somebody else is answering the same question. */
  onJoined(place: Placed): void
  onAccepted(place: Placed): void
  onPosition(position: number): void
}

export interface Placed extends Seen {
  id: string
  acceptedAt: string
  /** The earlier run of a comparison. */
  base?: string
}

export interface Outcome {
  record: Product.CompletedAnswer
  seen: Seen
  reused: boolean
  /** What the head has changed of what the answer rests on, where it has moved on. */
  stale?: Product.AnswerStaleness
  comment?: { url: string }
}

/** For the log. */
export function notesOfOutcome({ record, reused }: Pick<Outcome, 'record' | 'reused'>): Record<string, unknown> {
  const { inputTokens, outputTokens } = record.usage
  return { answer: record.id, reused, ...(reused ? {} : { inputTokens, outputTokens }) }
}

export interface Job {
  /** Rejects with what went wrong. */
  outcome: Promise<Outcome>
  /** Where the question stands, as soon as that is known. */
  placed(): Placed | undefined
  /** From now on it is answered, whatever becomes of us. False as long as it is not known which run answers, and when it is settled already. */
  promise(): Promise<boolean>
}

export function startJob(order: Order, signal: AbortSignal, listener: Listener): Job {
  let place: Placed | undefined
  let found: Product.Taken | undefined
  let own: Product.OwnWork | undefined
  let promised: Promise<void> | undefined
  let over = false

  async function run(): Promise<Outcome> {
    try {
      return await answer()
    } finally {
      over = true
    }
  }

  async function answer(): Promise<Outcome> {
    const { service, visit } = order
    // Nobody may be at it while its turn is still taken: whoever wants it comes back less and less often.
    for (let pauseMs = 200; ; pauseMs = Math.min(pauseMs * 1.5, 2_000)) {
      const taken = await takeQuestion(service, requested(), visit, signal)
      const at = 'acceptedAt' in taken ? taken.acceptedAt : new Date(service.clock.now()).toISOString()
      place = { id: taken.id, acceptedAt: at, ...taken.run, ...(taken.base ? { base: taken.base.handoff.run } : {}) }
      found = taken
      if (taken.kind === 'done') return shownAgain(taken.record, taken.run)
      const done = taken.kind === 'ours' ? await work(taken) : await follow(taken)
      if (done) return done
      await service.clock.sleep(pauseMs, signal)
    }
  }

  /** What was promised is about this run, whatever its branch has come to meanwhile. */
  function requested(): Product.AskRequest {
    if (!promised || !found) return order.request
    const base = found.base && { compareWith: { run: found.base.handoff.run } }
    return { ...order.request, name: { run: found.run.handoff.run }, ...base }
  }

  async function work(taken: Extract<Product.Taken, { kind: 'ours' }>): Promise<Outcome> {
    own = taken.work
    listener.onAccepted(place!)
    // Who promised it while somebody else was at it promised it for us too; the note stands already.
    if (promised) await own.promise(order.post).catch(() => undefined)
    const { visit, service } = order
    using working = order.post ? limited(signal, visit.workBy - service.clock.now()) : undefined
    const { record, reused, stale } = await own.finish(working?.signal ?? signal, listener.onPosition)
    return posted({ record, seen: taken.run, reused, ...(stale === undefined ? {} : { stale }) })
  }

  async function follow(taken: Extract<Product.Taken, { kind: 'joined' }>): Promise<Outcome | undefined> {
    listener.onJoined(place!)
    const record = await followAnswer(order.service, taken.run.directory, taken.id, signal)
    return record && shownAgain(record, taken.run)
  }

  /** An answer that was not made for us: is it still true? */
  async function shownAgain(record: Product.CompletedAnswer, run: Product.ChosenRun): Promise<Outcome> {
    const stale = await staleNow(order.service, order.request, run, record, signal)
    return posted({ record, seen: run, reused: true, ...(stale === undefined ? {} : { stale }) })
  }

  async function posted(outcome: Outcome): Promise<Outcome> {
    if (!order.post) return outcome
    const { postOnPull } = await import('./post-answer.js')
    return { ...outcome, comment: await postOnPull(order.door, order.service, outcome, order.post.pull, signal) }
  }

  /** What was promised and told needs no note any longer. The answer is there: a note that cannot be taken away costs the clock one look. */
  async function forget(outcome: Outcome): Promise<Outcome> {
    if (!promised) return outcome
    const { promiseKept } = await order.door.context()
    const promise = { answer: outcome.record.id, ...(order.post ? { post: order.post } : {}) }
    const forgetting = promised.then(() => promiseKept(order.service, promise)).catch(() => undefined)
    if (order.visit.background) order.visit.background(forgetting)
    else await forgetting
    return outcome
  }

  /** Also what somebody else answers is promised: they may give it up, and our post is ours to promise. */
  async function promiseIt(at: Product.Taken): Promise<void> {
    if (own) return own.promise(order.post)
    const { promiseAnswer } = await order.door.context()
    await promiseAnswer(order.service, order.visit, at, order.post)
  }

  return {
    outcome: run().then(forget),
    placed: () => place,
    async promise() {
      if (found === undefined || over) return false
      promised ??= promiseIt(found)
      await promised
      return true
    },
  }
}
