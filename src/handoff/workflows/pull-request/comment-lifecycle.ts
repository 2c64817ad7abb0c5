// A question on a pull request and what people see of its answer. The Action and the webhook have this conversation in common.
//
// 👀 at once; one comment, edited in place while the work goes on; and an end on every path: the answer, or what went wrong and what to do,
// or that it was stopped. 🚀 or 😕 takes the place of 👀. It may be called twice for one question, at once or later, in other processes.
import type { Target } from '../../domain/answers/comment-event.js'
import { abortError, type HandoffError, isHandoffError } from '../../domain/errors.js'
import type { Call, CommentKey, GitHub, Reaction } from '../../domain/github.js'
import type { Clock } from '../../domain/ports.js'
import {
  type AnswerComment,
  answerComment,
  finishAnswer,
  openAnswer,
  questionKey,
  settleAnswer,
  writeState,
} from './status-comment.js'
import { createThrottle } from './throttle.js'

export interface CommentTarget {
  github: GitHub
  target: Target
  /** As it was asked; shown above the answer's state until the answer comes. */
  question: string
  /** The login of the account that asks, where it is known. */
  asker?: string
  /** Makes any text harmless Markdown: no mention, no link, no tag. */
  harmless: (text: string) => string
  /** Where the work can be watched, if anywhere: the page of the job. */
  link?: string
  clock: Clock
  /** Told, in a sentence, what went wrong without ending the conversation. */
  onNotice: (text: string) => void
}

export interface Conversation<A> extends CommentTarget {
  /**
   * Does the work; `onProgress` takes Markdown and may be called as often as one likes. When it rejects with `in-progress` it is called again
   * until the other one's answer is there. It must end soon after `signal` is aborted.
   */
  answer: (onProgress: (text: string) => void) => Promise<A>
  /** The answer as comments, in order, each with 500 characters to spare below GitHub's limit. Several are numbered here. */
  render: (answer: A) => string[] | Promise<string[]>
  signal: AbortSignal
  /** For what must still be said; a minute, or five seconds from where `signal` was aborted, when absent. */
  lastWords?: () => AbortSignal
  /** Told where the comment is as soon as that is known, for whoever may have to end it. */
  onComment?: (comment: CommentKey) => void
}

/** How it ended. Without `comment` there is none to see: it was deleted, or GitHub did not take it. */
export type ConversationResult<A> =
  | { end: 'answered'; answer: A; comment?: CommentKey }
  /** The comment had its answer already; nothing was done. */
  | { end: 'answered-before'; comment: CommentKey }
  /** With `answer`, there is one and it could not be shown. */
  | { end: 'failed' | 'cancelled'; error: unknown; answer?: A; comment?: CommentKey }
  /** Whoever asked has taken the question back. */
  | { end: 'question-gone' }

const editIntervalMs = 3_000

export async function runConversation<A>(conversation: Conversation<A>): Promise<ConversationResult<A>> {
  const { github, target, signal, onNotice } = conversation
  const comment = answerComment(github, target, { onNotice })
  try {
    if (!(await acknowledge(conversation, { signal }))) return { end: 'question-gone' }
    if ((await openComment(conversation, comment)) === 'done') {
      await react(conversation, 'rocket', { signal: finalSignal(conversation) })
      return { end: 'answered-before', comment: comment.key! }
    }
  } catch (error) {
    return conclude(conversation, comment, { error })
  }
  const { outcome, leftover } = await work(conversation, comment)
  // The last word need not wait until everything is put away; both must happen.
  const ending = await conclude(conversation, comment, outcome)
  await leftover
  return ending
}

/** Ends a conversation that nobody else will end; idempotent. For the step that runs after a job, however the job ended. */
export async function endConversation(
  ending: CommentTarget & {
    /** `cancelled`, or what went wrong. */
    error: unknown
    /** The answer's comment, where it is known; if it is gone then somebody deleted it, and no other is made. */
    comment?: number
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
  const { clock, signal } = conversation
  const write = (text: string, until: AbortSignal) => showProgress(conversation, comment, text, until)
  const pacer = createThrottle({ clock, intervalMs: editIntervalMs, write })
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
    await finishAnswer(comment, await conversation.render(answer), call)
    reportComment(conversation, comment)
    await react(conversation, 'rocket', call)
    return { end: 'answered', answer, ...commentOf(comment) }
  } catch (error) {
    conversation.onNotice(`The answer is there, but its comment could not be written: ${publicError(error).message}`)
    await reportFailure(conversation, comment, error)
    return { end: stateOf(error), error, answer, ...commentOf(comment) }
  }
}

/** The last word when there is no answer. Never rejects: the reason for it matters more. */
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

async function acknowledge(voice: CommentTarget, call: Call): Promise<boolean> {
  try {
    return await voice.github.addReaction(questionKey(voice.target), 'eyes', { ...call, patient: false })
  } catch (error) {
    if (isHandoffError(error, 'cancelled') || isHandoffError(error, 'timeout')) throw error
    voice.onNotice(`Could not react to the question: ${publicError(error).message}`)
    return true
  }
}

/** A limit or an outage must not cost the answer: it goes on without a comment, which the next word makes. A refusal ends it. */
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

/** 👀 goes last: somebody who looks in between sees two, never none. Never rejects. */
async function react(voice: CommentTarget, reaction: Reaction, call: Call): Promise<void> {
  const key = questionKey(voice.target)
  const others = (['eyes', 'confused', 'rocket'] as const).filter((one) => one !== reaction)
  try {
    if (await voice.github.addReaction(key, reaction, call)) await voice.github.removeReactions(key, others, call)
  } catch (error) {
    voice.onNotice(`Could not react to the question: ${publicError(error).message}`)
  }
}

// ── words ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** GitHub mails the first version of a comment and no later one, so it says who asks what, and where the answer will be. */
const firstText = 'The answer will stand in this comment; GitHub sends no second mail for it.'

function workingText(voice: CommentTarget, progress: string): string {
  const asker = voice.asker === undefined ? '' : `**${voice.harmless(voice.asker)}** asks:\n\n`
  return `${asker}${quoted(voice)}\n\n⏳ ${progress}${linkTo(voice)}`
}

function failureText(voice: CommentTarget, error: unknown): string {
  if (stateOf(error) === 'cancelled') {
    return `${quoted(voice)}\n\n🛑 This was stopped before there was an answer. Ask again to start anew.${linkTo(voice)}`
  }
  const { message, next } = publicError(error)
  const advice = next === undefined ? '' : `\n\n${voice.harmless(next)}`
  return `${quoted(voice)}\n\n😕 There is no answer. ${voice.harmless(message)}${advice}${linkTo(voice)}`
}

const longestQuote = 500

function quoted({ question, harmless }: CommentTarget): string {
  const shown = question.length > longestQuote ? `${question.slice(0, longestQuote)}…` : question
  return harmless(shown.toWellFormed().trim())
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n')
}

const linkTo = ({ link }: CommentTarget) => (link === undefined ? '' : `\n\n[Watch the work](${link})`)

const stateOf = (error: unknown) => (isHandoffError(error, 'cancelled') ? 'cancelled' : 'failed')

/** What is not ours stays inside: it may show what nobody should see. */
function publicError(error: unknown): { message: string; next?: string | undefined } {
  if (isHandoffError(error)) return error
  return { message: 'Something went wrong inside handoff.', next: 'The log of the work has the details.' }
}

// ── time and place ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

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
