// The comment that answers a question, from the first reaction to the last edit. The Action and the webhook share it.
//
// It reacts with 👀, edits one comment in place during work that takes longer, and always ends it: with the answer, with an error and advice, or as cancelled.
// 🚀 or 😕 replaces 👀. It may run several times for one question, also concurrently in other processes.
import type { AnswerName } from '../../domain/answers/comment-marker.js'
import { abortError, type HandoffError, isHandoffError } from '../../domain/errors.js'
import type { Call, CommentKey, Reaction } from '../../domain/github.js'
import { type CommentTarget, failureText, firstText, publicError, stateOf, workingText } from './comment-texts.js'
import {
  type AnswerComment,
  answerComment,
  findAnswerComment,
  finishAnswer,
  openAnswer,
  questionKey,
  settleAnswer,
  writeState,
} from './status-comment.js'
import { createThrottle } from './throttle.js'

export interface Conversation<A> extends CommentTarget {
  /**
   * Creates the answer. `onProgress` takes Markdown and may be called often. If it rejects with `in-progress` it is called again until the other
   * process has stored the answer. It must end soon after `signal` is aborted.
   */
  answer: (onProgress: (text: string) => void) => Promise<A>
  /** The answer as a comment, with 500 characters to spare below GitHub's limit. */
  render: (answer: A) => string | Promise<string>
  /** Where the answer is stored. A later push finds it by its comment. */
  shown: (answer: A) => AnswerName
  signal: AbortSignal
  /** If the answer is there before, it is the first version of its comment: GitHub mails no other. After this time the comment tells of the work. */
  opensAfterMs: number
  /** The signal of the last edit. If absent: one minute, or five seconds after `signal` was aborted. */
  lastWords?: () => AbortSignal
  /** Called with the comment as soon as it is known, so that a later step can end it. */
  onComment?: (comment: CommentKey) => void
}

/** The result. `comment` is absent if the comment was deleted or GitHub refused it. */
export type ConversationResult<A> =
  | { end: 'answered'; answer: A; comment?: CommentKey }
  /** The comment already had its answer; nothing was done. */
  | { end: 'answered-before'; comment: CommentKey }
  /** With `answer` if the answer exists but could not be posted. */
  | { end: 'failed' | 'cancelled'; error: unknown; answer?: A; comment?: CommentKey }
  /** The comment with the question was deleted. */
  | { end: 'question-gone' }

const editIntervalMs = 3_000

export async function runConversation<A>(conversation: Conversation<A>): Promise<ConversationResult<A>> {
  const { github, target, signal, onNotice } = conversation
  const comment = answerComment(github, target, { onNotice })
  try {
    const acknowledged = await acknowledge(conversation, { signal })
    if (acknowledged === 'gone') return { end: 'question-gone' }
    if ((await findOrOpen(conversation, comment, acknowledged)) === 'done') {
      await react(conversation, 'rocket', { signal: finalSignal(conversation) })
      return { end: 'answered-before', comment: comment.key! }
    }
  } catch (error) {
    return conclude(conversation, comment, { error })
  }
  const { outcome, leftover } = await work(conversation, comment)
  // The last edit does not wait for the cleanup of the work; both are awaited.
  const ending = await conclude(conversation, comment, outcome)
  await leftover
  return ending
}

/** Ends a conversation that its process left open. Idempotent. Called by the post step of a job. */
export async function endConversation(
  ending: CommentTarget & {
    /** `cancelled`, or what went wrong. */
    error: unknown
    /** The answer's comment, if known. If it was deleted, no other is created. */
    comment?: number | undefined
    signal: AbortSignal
  },
): Promise<'done' | 'failed' | 'cancelled' | 'deleted'> {
  const { github, target, signal, onNotice, error } = ending
  const known = ending.comment === undefined ? {} : { known: ending.comment }
  const comment = answerComment(github, target, { ...known, onNotice })
  const state = await settleAnswer(comment, stateOf(error), failureText(ending, error), { signal })
  await react(ending, state === 'done' ? 'rocket' : 'confused', { signal })
  return state
}

type Outcome<A> = { answer: A } | { error: unknown }

async function work<A>(
  conversation: Conversation<A>,
  comment: AnswerComment,
): Promise<{ outcome: Outcome<A>; leftover: Promise<unknown> }> {
  const { clock, signal, opensAfterMs } = conversation
  const write = (text: string, until: AbortSignal) => showProgress(conversation, comment, text, until)
  const isOpen = comment.key !== null
  const firstMs = isOpen ? editIntervalMs : Math.max(editIntervalMs, opensAfterMs)
  const pacer = createThrottle({ clock, intervalMs: editIntervalMs, firstMs, write })
  if (!isOpen) pacer.say(firstText)
  const answering = answerWithRetry(conversation, pacer.say).then(
    (answer): Outcome<A> => ({ answer }),
    (error: unknown): Outcome<A> => ({ error }),
  )
  const outcome = await Promise.race([answering, whenAborted(signal)])
  await pacer.stop()
  return { outcome, leftover: answering }
}

async function answerWithRetry<A>(conversation: Conversation<A>, onProgress: (text: string) => void): Promise<A> {
  const { answer, clock, signal } = conversation
  for (;;) {
    try {
      return await answer(onProgress)
    } catch (error) {
      if (!isHandoffError(error, 'in-progress') || signal.aborted) throw error
      await clock.sleep((error.retryAfterSeconds ?? 3) * 1_000, signal)
    }
  }
}

async function conclude<A>(
  conversation: Conversation<A>,
  comment: AnswerComment,
  outcome: Outcome<A>,
): Promise<ConversationResult<A>> {
  if ('error' in outcome) {
    await reportFailure(conversation, comment, outcome.error)
    return { end: stateOf(outcome.error), error: outcome.error, ...commentOf(comment) }
  }
  const { answer } = outcome
  try {
    const call = { signal: finalSignal(conversation) }
    await finishAnswer(comment, conversation.shown(answer), await conversation.render(answer), call)
    reportComment(conversation, comment)
    await react(conversation, 'rocket', call)
    return { end: 'answered', answer, ...commentOf(comment) }
  } catch (error) {
    conversation.onNotice(`The answer is there, but its comment could not be written: ${publicError(error).message}`)
    await reportFailure(conversation, comment, error)
    return { end: stateOf(error), error, answer, ...commentOf(comment) }
  }
}

/** Writes the failure into the comment. Never rejects, so that the first error is reported. */
async function reportFailure<A>(conversation: Conversation<A>, comment: AnswerComment, error: unknown): Promise<void> {
  const call = { signal: finalSignal(conversation) }
  try {
    const state = await settleAnswer(comment, stateOf(error), failureText(conversation, error), call)
    reportComment(conversation, comment)
    await react(conversation, state === 'done' ? 'rocket' : 'confused', call)
  } catch (problem) {
    conversation.onNotice(`Could not write how the question ended: ${publicError(problem).message}`)
    await react(conversation, 'confused', call)
  }
}

/** `refused`: GitHub did not take the reaction, so it may not take a comment either. */
type Acknowledged = 'seen' | 'gone' | 'refused'

async function acknowledge(voice: CommentTarget, call: Call): Promise<Acknowledged> {
  try {
    const key = questionKey(voice.target)
    return (await voice.github.addReaction(key, 'eyes', { ...call, patient: false })) ? 'seen' : 'gone'
  } catch (error) {
    if (isHandoffError(error, 'cancelled') || isHandoffError(error, 'timeout')) throw error
    voice.onNotice(`Could not react to the question: ${publicError(error).message}`)
    return 'refused'
  }
}

/** Opens the comment if it may not wait for the answer: GitHub may refuse it, and that is to be known before the work is paid for. */
async function findOrOpen<A>(
  conversation: Conversation<A>,
  comment: AnswerComment,
  acknowledged: Acknowledged,
): Promise<string> {
  const { signal, opensAfterMs } = conversation
  if (opensAfterMs > 0 && acknowledged === 'seen' && (await isUnopened(conversation, comment, { signal })))
    return 'working'
  return openComment(conversation, comment)
}

async function isUnopened<A>({ onNotice }: Conversation<A>, comment: AnswerComment, call: Call): Promise<boolean> {
  try {
    return (await findAnswerComment(comment, { ...call, patient: false })) === null
  } catch (error) {
    if (!isHandoffError(error, 'git')) throw error
    onNotice(`Could not look for the comment yet: ${error.message}`)
    return true
  }
}

/** After a rate limit or an outage the work continues, and a later edit creates the comment. A refusal ends the conversation. */
async function openComment<A>(conversation: Conversation<A>, comment: AnswerComment): Promise<string> {
  try {
    const { signal } = conversation
    const state = await openAnswer(comment, workingText(conversation, firstText), {
      signal,
      patient: false,
    })
    reportComment(conversation, comment)
    return state
  } catch (error) {
    if (!isHandoffError(error, 'git')) throw error
    conversation.onNotice(`Could not write a comment yet: ${error.message}`)
    return 'working'
  }
}

async function showProgress<A>(
  conversation: Conversation<A>,
  comment: AnswerComment,
  text: string,
  signal: AbortSignal,
): Promise<number> {
  try {
    const shown = await writeState(comment, 'working', workingText(conversation, text), { signal, patient: false })
    reportComment(conversation, comment)
    return shown ? 0 : Number.POSITIVE_INFINITY
  } catch (error) {
    return ((isHandoffError(error) && error.retryAfterSeconds) || 10) * 1_000
  }
}

/** Removes 👀 last, so that there is always at least one reaction. Never rejects. */
async function react(voice: CommentTarget, reaction: Reaction, call: Call): Promise<void> {
  const key = questionKey(voice.target)
  const others = (['eyes', 'confused', 'rocket'] as const).filter((one) => one !== reaction)
  try {
    if (await voice.github.addReaction(key, reaction, call)) await voice.github.removeReactions(key, others, call)
  } catch (error) {
    voice.onNotice(`Could not react to the question: ${publicError(error).message}`)
  }
}

// ── signals ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function finalSignal<A>(conversation: Conversation<A>): AbortSignal {
  if (conversation.lastWords) return conversation.lastWords()
  return AbortSignal.timeout(conversation.signal.aborted ? 5_000 : 60_000)
}

function reportComment<A>(conversation: Conversation<A>, comment: AnswerComment): void {
  if (comment.key !== null) conversation.onComment?.(comment.key)
}

function commentOf(comment: AnswerComment): { comment?: CommentKey } {
  return comment.key === null || comment.deleted ? {} : { comment: comment.key }
}

function whenAborted(signal: AbortSignal): Promise<{ error: HandoffError }> {
  return new Promise((resolve) => {
    const tell = () => resolve({ error: abortError(signal, 'answering the question') })
    if (signal.aborted) tell()
    else signal.addEventListener('abort', tell, { once: true })
  })
}
