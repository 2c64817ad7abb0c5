// The comment that carries an answer: found or created by its marker, edited in place, brought to an end. And its further parts, where the
// answer is too long for one.
//
// The state stands in the marker, so that everybody who comes later (the same event again, the job's post step, another process) can tell
// without reading prose. Nobody writes anything else over `done`.
import type { Target } from '../../domain/answers/comment-event.js'
import {
  askPrefix,
  type ConversationState,
  readAskMarker,
  writeAskMarker,
} from '../../domain/answers/comment-marker.js'
import type { Call, Comment, CommentKey, GitHub } from '../../domain/github.js'

export interface AnswerComment {
  readonly github: GitHub
  readonly target: Target
  readonly onNotice: (text: string) => void
  /** Where it is, once that is known. */
  key: CommentKey | null
  /** Somebody deleted it; then nothing is written any more. */
  deleted: boolean
  /** It may say something else than what we wrote last: it stood there before us, or nobody knows what became of our edit. */
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

/** Finds or creates it; how it stood. A state that is not `done` becomes `working`. */
export async function openAnswer(comment: AnswerComment, text: string, call: Call): Promise<ConversationState> {
  const standing = await ensure(comment, 1, bodyOf(comment, 1, 'working', text), call)
  const state = stateOf(standing)
  if (state === 'failed' || state === 'cancelled') await writeState(comment, 'working', text, call)
  return state
}

/** False when it is deleted. */
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

/** The whole answer, part by part, the first one last: it says `done`. False when it is deleted. */
export async function finishAnswer(comment: AnswerComment, parts: string[], call: Call): Promise<boolean> {
  if (comment.deleted) return false
  if (comment.key !== null && (comment.uncertain || parts.length > 1)) {
    const state = await readState(comment, call)
    if (state === null) return false
    if (state === 'done') return true
  }
  const [first = '', ...others] = numbered(parts)
  const kept = await writeParts(comment, others, call)
  if (!(await writeState(comment, 'done', first, call))) return false
  kept.set(comment.key!.id, bodyOf(comment, 1, 'done', first))
  try {
    await removeDuplicates(comment, kept, call)
  } catch {
    comment.onNotice('Could not look for twins of the comment with the answer.')
  }
  return true
}

/** Ends it without an answer, unless it has come to an end already; how it stands then. */
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

// ── inside ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

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

/** Null when it is deleted. */
async function readState(comment: AnswerComment, call: Call): Promise<ConversationState | null> {
  if (comment.deleted) return null
  const standing = await withCurrentComment(comment, (key) => comment.github.getComment(key, call), call)
  return standing && stateOf(standing)
}

/** Null when it is gone. When two were made at once and ours was deleted for the other, we go on in the other. */
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

/** The second part and those behind it; their bodies by comment. */
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

/** Deletes what is not part of this answer: twins that appeared late, and parts of an earlier try. Puts a late edit right. */
async function removeDuplicates(comment: AnswerComment, kept: Map<number, string>, call: Call): Promise<void> {
  const { github, target } = comment
  const wanted = { marker: askPrefix(target.question), ...since(target) }
  for (const one of await github.ownComments(target.thread, wanted, call)) {
    const body = kept.get(one.id)
    if (body === undefined) await github.deleteComment(keyOf(one), call)
    else if (stateOf(one) !== 'done') await github.updateComment(keyOf(one), body, call)
  }
}

/** GitHub may show other people's comments between the parts. */
function numbered(parts: string[]): string[] {
  if (parts.length < 2) return parts
  return parts.map((part, index) => `*Part ${index + 1} of ${parts.length}*\n\n${part}`)
}

function bodyOf(comment: AnswerComment, part: number, state: ConversationState, text: string): string {
  return `${writeAskMarker({ question: comment.target.question, part, state })}\n${text}`
}

const stateOf = (comment: Comment): ConversationState => readAskMarker(comment.body)?.state ?? 'working'

/** A minute early: servers of GitHub need not agree to the second. */
function since({ askedAt }: Target): { since?: string } {
  const asked = Date.parse(askedAt ?? '')
  return Number.isNaN(asked) ? {} : { since: new Date(asked - 60_000).toISOString() }
}

function keyOf({ kind, repository, id, node }: Comment): CommentKey {
  return { kind, repository, id, ...(node === undefined ? {} : { node }) }
}
