// The comment with an answer: found or created by its marker, edited in place, and ended.
//
// The marker holds the state, so that a later process (a repeated event, the post step) can read it. The state `done` is never overwritten.

import {
  type AnswerName,
  answerPrefix,
  askPrefix,
  type ConversationState,
  readAskMarker,
  writeAskMarker,
} from '../../domain/answers/comment-marker.js'
import type { Target } from '../../domain/answers/parse-ask-comment.js'
import { ignoreFailure } from '../../domain/errors.js'
import type { Call, Comment, CommentKey, GitHub } from '../../domain/github.js'

export interface AnswerComment {
  readonly github: GitHub
  readonly target: Target
  readonly onNotice: (text: string) => void
  /** The comment, once it is known. */
  key: CommentKey | null
  /** The answer, once it is there. */
  answer?: AnswerName
  /** True if the comment was deleted. Then nothing more is written. */
  deleted: boolean
  /** True if the body may differ from the last write: the comment existed before, or the reply to an edit was lost. */
  uncertain: boolean
}

export function answerComment(
  github: GitHub,
  target: Target,
  options: { known?: number; onNotice: (text: string) => void },
): AnswerComment {
  const { known, onNotice } = options
  const { kind, repository } = target.thread
  const key = known === undefined ? null : { kind, repository, id: known }
  return { github, target, onNotice, key, deleted: false, uncertain: key !== null }
}

export function questionKey({ thread, question }: Target): CommentKey {
  const { kind, repository } = thread
  return { kind, repository, id: question, ...(thread.kind === 'discussion' ? { node: thread.comment } : {}) }
}

/** The state of the comment that an earlier delivery left; null if there is none. */
export async function findAnswerComment(comment: AnswerComment, call: Call): Promise<ConversationState | null> {
  const { thread, question } = comment.target
  const wanted = { marker: answerPrefix(question), ...since(comment.target) }
  const [standing] = await comment.github.ownComments(thread, wanted, call)
  if (standing === undefined) return null
  comment.key = keyOf(standing)
  comment.uncertain = true
  return stateOf(standing)
}

/** Finds or creates the comment and returns its former state. A state other than `done` becomes `working`. */
export async function openAnswer(comment: AnswerComment, text: string, call: Call): Promise<ConversationState> {
  const standing = await ensure(comment, bodyOf(comment, 'working', text), call)
  const state = stateOf(standing)
  if (state === 'failed' || state === 'cancelled') await writeState(comment, 'working', text, call)
  return state
}

/** False if the comment was deleted. */
export async function writeState(
  comment: AnswerComment,
  state: ConversationState,
  text: string,
  call: Call,
): Promise<boolean> {
  if (comment.deleted) return false
  const body = bodyOf(comment, state, text)
  if (comment.key === null && (await ensure(comment, body, call)).body === body) return true
  if (comment.uncertain && state !== 'done' && (await readState(comment, call)) === 'done') return true
  try {
    return (await withCurrentComment(comment, (key) => comment.github.updateComment(key, body, call), call)) !== null
  } catch (error) {
    comment.uncertain = true
    throw error
  }
}

/** Writes the answer. False if the comment was deleted. */
export async function finishAnswer(
  comment: AnswerComment,
  answer: AnswerName,
  text: string,
  call: Call,
): Promise<boolean> {
  if (comment.deleted) return false
  if (comment.key !== null && comment.uncertain) {
    const state = await readState(comment, call)
    if (state === null) return false
    if (state === 'done') return true
  }
  comment.answer = answer
  if (!(await writeState(comment, 'done', text, call))) return false
  try {
    await removeDuplicates(comment, bodyOf(comment, 'done', text), call)
  } catch (error) {
    ignoreFailure(error)
    comment.onNotice('Could not look for duplicates of the comment with the answer.')
  }
  return true
}

/** Ends the comment without an answer, unless it already has an end state. Returns its state. */
export async function settleAnswer(
  comment: AnswerComment,
  state: 'failed' | 'cancelled',
  text: string,
  call: Call,
): Promise<Exclude<ConversationState, 'working'> | 'deleted'> {
  const body = bodyOf(comment, state, text)
  if (comment.key === null && (await ensure(comment, body, call)).body === body) return state
  const now = comment.uncertain ? await readState(comment, call) : 'working'
  if (now === null) return 'deleted'
  if (now !== 'working') return now
  return (await writeState(comment, state, text, call)) ? state : 'deleted'
}

// ── internals ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function ensure(comment: AnswerComment, body: string, call: Call): Promise<Comment> {
  const { thread, question } = comment.target
  const wanted = { marker: answerPrefix(question), body, ...since(comment.target) }
  const { comment: found, created } = await comment.github.ensureComment(thread, wanted, call)
  comment.key = keyOf(found)
  comment.uncertain ||= !created
  return found
}

/** Null if the comment was deleted. */
async function readState(comment: AnswerComment, call: Call): Promise<ConversationState | null> {
  if (comment.deleted) return null
  const standing = await withCurrentComment(comment, (key) => comment.github.getComment(key, call), call)
  return standing && stateOf(standing)
}

/** Null if the comment was deleted. If it was a duplicate and was deleted for another one, continues with that one. */
async function withCurrentComment<T>(
  comment: AnswerComment,
  act: (key: CommentKey) => Promise<T | null>,
  call: Call,
): Promise<T | null> {
  const done = await act(comment.key!)
  if (done !== null) return done
  const { thread, question } = comment.target
  const wanted = { marker: answerPrefix(question), ...since(comment.target) }
  const [other] = await comment.github.ownComments(thread, wanted, call)
  comment.deleted = other === undefined
  if (other === undefined) return null
  comment.key = keyOf(other)
  comment.uncertain = true
  return act(comment.key)
}

/** Deletes duplicates, and repairs a body that a late edit overwrote. */
async function removeDuplicates(comment: AnswerComment, body: string, call: Call): Promise<void> {
  const { github, target, key } = comment
  const wanted = { marker: askPrefix(target.question), ...since(target) }
  for (const one of await github.ownComments(target.thread, wanted, call)) {
    if (one.id !== key!.id) await github.deleteComment(keyOf(one), call)
    else if (stateOf(one) !== 'done') await github.updateComment(keyOf(one), body, call)
  }
}

function bodyOf(comment: AnswerComment, state: ConversationState, text: string): string {
  const { target, answer } = comment
  const shown = state === 'done' && answer ? { answer } : {}
  return `${writeAskMarker({ question: target.question, state, ...shown })}\n${text}`
}

const stateOf = (comment: Comment): ConversationState => readAskMarker(comment.body)?.state ?? 'working'

/** One minute early, because clocks of GitHub's servers differ. */
function since({ askedAt }: Target): { since?: string } {
  const asked = Date.parse(askedAt ?? '')
  return Number.isNaN(asked) ? {} : { since: new Date(asked - 60_000).toISOString() }
}

function keyOf({ kind, repository, id, node }: Comment): CommentKey {
  return { kind, repository, id, node }
}
