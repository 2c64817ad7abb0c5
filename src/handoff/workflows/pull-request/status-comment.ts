// The comment with an answer: found or created by its marker, edited in place, and ended. A long answer continues in further comments.
//
// The marker holds the state, so that a later process (a repeated event, the post step) can read it. The state `done` is never overwritten.

import {
  type AnswerName,
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
  const wanted = { marker: askPrefix(question, 1), ...since(comment.target) }
  const [standing] = await comment.github.ownComments(thread, wanted, call)
  if (standing === undefined) return null
  comment.key = keyOf(standing)
  comment.uncertain = true
  return stateOf(standing)
}

/** Finds or creates the comment and returns its former state. A state other than `done` becomes `working`. */
export async function openAnswer(comment: AnswerComment, text: string, call: Call): Promise<ConversationState> {
  const standing = await ensure(comment, 1, bodyOf(comment, 1, 'working', text), call)
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
  const body = bodyOf(comment, 1, state, text)
  if (comment.key === null && (await ensure(comment, 1, body, call)).body === body) return true
  if (comment.uncertain && state !== 'done' && (await readState(comment, call)) === 'done') return true
  try {
    return (await withCurrentComment(comment, (key) => comment.github.updateComment(key, body, call), call)) !== null
  } catch (error) {
    comment.uncertain = true
    throw error
  }
}

/** Writes the answer part by part. The first part is written last, because it sets `done`. False if the comment was deleted. */
export async function finishAnswer(
  comment: AnswerComment,
  answer: AnswerName,
  parts: string[],
  call: Call,
): Promise<boolean> {
  if (comment.deleted) return false
  if (comment.key !== null && (comment.uncertain || parts.length > 1)) {
    const state = await readState(comment, call)
    if (state === null) return false
    if (state === 'done') return true
  }
  comment.answer = answer
  const [first = '', ...others] = numbered(parts)
  // The comments of one answer stand in order.
  if (comment.key === null && others.length > 0) await ensure(comment, 1, bodyOf(comment, 1, 'working', first), call)
  const kept = await writeParts(comment, others, call)
  if (!(await writeState(comment, 'done', first, call))) return false
  kept.set(comment.key!.id, bodyOf(comment, 1, 'done', first))
  try {
    await removeDuplicates(comment, kept, call)
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
  const body = bodyOf(comment, 1, state, text)
  if (comment.key === null && (await ensure(comment, 1, body, call)).body === body) return state
  const now = comment.uncertain ? await readState(comment, call) : 'working'
  if (now === null) return 'deleted'
  if (now !== 'working') return now
  return (await writeState(comment, state, text, call)) ? state : 'deleted'
}

// ── internals ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function ensure(comment: AnswerComment, part: number, body: string, call: Call): Promise<Comment> {
  const { thread, question } = comment.target
  const wanted = { marker: askPrefix(question, part), body, ...since(comment.target) }
  const { comment: found, created } = await comment.github.ensureComment(thread, wanted, call)
  if (part === 1) {
    comment.key = keyOf(found)
    comment.uncertain ||= !created
  }
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
  const wanted = { marker: askPrefix(question, 1), ...since(comment.target) }
  const [other] = await comment.github.ownComments(thread, wanted, call)
  comment.deleted = other === undefined
  if (other === undefined) return null
  comment.key = keyOf(other)
  comment.uncertain = true
  return act(comment.key)
}

/** Writes the second and later parts. Returns their bodies by comment id. */
async function writeParts(comment: AnswerComment, texts: string[], call: Call): Promise<Map<number, string>> {
  const written = new Map<number, string>()
  for (const [index, text] of texts.entries()) {
    const part = index + 2
    const body = bodyOf(comment, part, 'done', text)
    const standing = await ensure(comment, part, body, call)
    if (standing.body !== body) await comment.github.updateComment(keyOf(standing), body, call)
    written.set(standing.id, body)
  }
  return written
}

/** Deletes duplicates and parts of an earlier attempt, and repairs a body that a late edit overwrote. */
async function removeDuplicates(comment: AnswerComment, kept: Map<number, string>, call: Call): Promise<void> {
  const { github, target } = comment
  const wanted = { marker: askPrefix(target.question), ...since(target) }
  for (const one of await github.ownComments(target.thread, wanted, call)) {
    const body = kept.get(one.id)
    if (body === undefined) await github.deleteComment(keyOf(one), call)
    else if (stateOf(one) !== 'done') await github.updateComment(keyOf(one), body, call)
  }
}

/** Other comments may appear between the parts, so the parts are numbered. */
function numbered(parts: string[]): string[] {
  if (parts.length < 2) return parts
  return parts.map((part, index) => `*Part ${index + 1} of ${parts.length}*\n\n${part}`)
}

function bodyOf(comment: AnswerComment, part: number, state: ConversationState, text: string): string {
  const { target, answer } = comment
  const shown = state === 'done' && answer ? { answer } : {}
  return `${writeAskMarker({ question: target.question, part, state, ...shown })}\n${text}`
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
