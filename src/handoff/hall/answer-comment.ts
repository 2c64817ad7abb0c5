// The comment that carries an answer: found or created by its marker, edited in place, brought to an end. And its further parts, where the
// answer is too long for one.
//
// The state stands in the marker, so that everybody who comes later (the same event again, the job's post step, another process) can tell
// without reading prose. Nobody writes over `done`.
import type { Call, Comment, CommentKey, GitHub, Thread } from '../library/github.js'
import { askPrefix, type ConversationState, readAskMarker, writeAskMarker } from '../library/markers.js'

/** Whose question it is, and where. */
export interface Target {
  thread: Thread
  /** The comment that asks; it is of the thread's kind. */
  question: number
  /** When it was written, as GitHub says; spares reading older comments. */
  askedAt?: string
}

export interface AnswerComment {
  /** Finds or creates it; the state it is in now. A state that is not `done` becomes `working`. */
  open(text: string, call: Call): Promise<ConversationState>
  /** Where it is, once that is known. */
  readonly key: CommentKey | null
  /** Somebody deleted it; then nothing is written any more. */
  readonly deleted: boolean
  /** False when it is deleted. */
  write(state: ConversationState, text: string, call: Call): Promise<boolean>
  /** The whole answer, part by part, the first one last: it says `done`. False when it is deleted. */
  finish(parts: string[], call: Call): Promise<boolean>
  /** Ends it otherwise, unless it has come to an end already; how it stands then. */
  settle(
    state: 'failed' | 'cancelled',
    text: string,
    call: Call,
  ): Promise<Exclude<ConversationState, 'working'> | 'deleted'>
}

export function questionKey(target: Target): CommentKey {
  return { kind: target.thread.kind, repository: target.thread.repository, id: target.question }
}

export function makeAnswerComment(
  github: GitHub,
  target: Target,
  options: { known?: number; onNotice: (text: string) => void },
): AnswerComment {
  const { thread } = target
  const since = sinceOf(target)
  const prefix = (part?: number) => askPrefix(target.question, part)
  const bodyOf = (part: number, state: ConversationState, text: string) =>
    `${writeAskMarker({ question: target.question, part, state })}\n${text}`
  let key: CommentKey | null =
    options.known === undefined ? null : { kind: thread.kind, repository: thread.repository, id: options.known }
  /** It stood there before us, or others write to it too. */
  let shared = options.known !== undefined
  let deleted = false

  async function ensure(part: number, body: string, call: Call): Promise<Comment> {
    const { comment, created } = await github.ensureComment(thread, { marker: prefix(part), body, ...since }, call)
    if (part === 1) {
      key = keyOf(comment)
      shared ||= !created
    }
    return comment
  }

  /** Null when it is gone. When two were made at once and ours was deleted for the other, we go on in the other. */
  async function onTheOne<T>(act: (key: CommentKey) => Promise<T | null>, call: Call): Promise<T | null> {
    const done = await act(key!)
    if (done !== null) return done
    const [other] = await github.ownComments(thread, { marker: prefix(1), ...since }, call)
    deleted = other === undefined
    if (other === undefined) return null
    key = keyOf(other)
    shared = true
    return act(key)
  }

  async function write(state: ConversationState, text: string, call: Call): Promise<boolean> {
    if (deleted) return false
    const body = bodyOf(1, state, text)
    if (key === null && (await ensure(1, body, call)).body === body) return true
    if (shared && state !== 'done' && (await stateNow(call)) === 'done') return true
    return (await onTheOne((one) => github.updateComment(one, body, call), call)) !== null
  }

  /** Null when it is deleted. */
  async function stateNow(call: Call): Promise<ConversationState | null> {
    if (deleted) return null
    const comment = await onTheOne((one) => github.getComment(one, call), call)
    return comment && (readAskMarker(comment.body)?.state ?? 'working')
  }

  /** Deletes what is not part of this answer: twins that appeared late, and parts of an earlier try. Puts a late edit right. */
  async function sweep(kept: Map<number, string>, call: Call): Promise<void> {
    for (const comment of await github.ownComments(thread, { marker: prefix(), ...since }, call)) {
      const body = kept.get(comment.id)
      if (body === undefined) await github.deleteComment(keyOf(comment), call)
      else if (readAskMarker(comment.body)?.state !== 'done') await github.updateComment(keyOf(comment), body, call)
    }
  }

  return {
    get key() {
      return key
    },
    get deleted() {
      return deleted
    },
    write,

    async open(text, call) {
      const body = bodyOf(1, 'working', text)
      const comment = await ensure(1, body, call)
      const state = readAskMarker(comment.body)?.state ?? 'working'
      if (state === 'failed' || state === 'cancelled') await write('working', text, call)
      return state
    },

    async finish(parts, call) {
      if (deleted) return false
      if (key !== null && (shared || parts.length > 1)) {
        const state = await stateNow(call)
        if (state === null) return false
        if (state === 'done') return true
      }
      const kept = new Map<number, string>()
      for (const [index, text] of parts.entries()) {
        if (index === 0) continue
        const body = bodyOf(index + 1, 'done', text)
        const comment = await ensure(index + 1, body, call)
        if (comment.body !== body) await github.updateComment(keyOf(comment), body, call)
        kept.set(comment.id, body)
      }
      if (!(await write('done', parts[0] ?? '', call))) return false
      kept.set(key!.id, bodyOf(1, 'done', parts[0] ?? ''))
      await sweep(kept, call).catch((error: unknown) => {
        options.onNotice(`Could not look for twins of the answer's comment: ${String(error)}`)
      })
      return true
    },

    async settle(state, text, call) {
      const body = bodyOf(1, state, text)
      if (key === null && (await ensure(1, body, call)).body === body) return state
      const now = shared ? await stateNow(call) : 'working'
      if (now === null) return 'deleted'
      if (now !== 'working') return now
      return (await write(state, text, call)) ? state : 'deleted'
    },
  }
}

/** A minute early: servers of GitHub need not agree to the second. */
function sinceOf({ askedAt }: Target): { since?: string } {
  const asked = Date.parse(askedAt ?? '')
  return Number.isNaN(asked) ? {} : { since: new Date(asked - 60_000).toISOString() }
}

function keyOf(comment: Comment): CommentKey {
  return { kind: comment.kind, repository: comment.repository, id: comment.id }
}
