// The model calls of an answer, and the parts of its record, for a question about one run and for a comparison of two.

import type { AppContext } from '../../context.js'
import type { CompletedAnswer, Excerpt, SettledQuestion } from '../../domain/answer.js'
import { chooseMessages, parseChoice, termsMessages } from '../../domain/answers/answer-prompt.js'
import type { ParsedReply } from '../../domain/answers/parse-reply.js'
import { parseTerms } from '../../domain/answers/parse-reply.js'
import { termTokens } from '../../domain/answers/question-cost.js'
import { isEnglish, namesCode } from '../../domain/answers/question-words.js'
import { streamFilter } from '../../domain/answers/stream-filter.js'
import type { Correction } from '../../domain/corrections/correction.js'
import { isHandoffError } from '../../domain/errors.js'
import { costOf } from '../../domain/model-prices.js'
import type { ModelReply, ModelRequest } from '../../domain/ports.js'
import type { Card } from '../../domain/sandbox-protocol-decoder.js'
import type { Usage } from '../../domain/usage.js'
import { sha256 } from '../../store/run-store.js'
import { limited, orAborted } from '../../util/abort.js'
import type { StepTimer } from '../../util/step-timer.js'
import { answerTokensFor, complete, withText } from '../call-model.js'
import type { OpenRun } from './open-for-reading.js'
import type { ChosenRun } from './resolve-run.js'

export type Answered = Pick<
  CompletedAnswer,
  | 'text'
  | 'citations'
  | 'unsupported'
  | 'truncated'
  | 'unanswered'
  | 'excerpts'
  | 'searched'
  | 'looked'
  | 'cited'
  | 'rounds'
  | 'usage'
  | 'cost'
  | 'sandbox'
>

/** What a question that follows needs of an answer. */
export type Said = Pick<CompletedAnswer, 'question' | 'text' | 'searched'>

export interface AnswerJob {
  question: SettledQuestion
  context: AppContext
  run: ChosenRun
  timer: StepTimer
  /** Earlier answers of the same thread, oldest first. */
  thread: Said[]
  /** What people corrected, where its lines are there. */
  corrections: Correction[]
  /** A sandbox for each run that the question is about, the earlier run first. Who opened them ends them too. */
  opened: Promise<OpenRun[]>
}

/** Corrections that the model is shown. */
const mostCorrections = 10

/** The newest corrections of lines in the files that the model is shown. */
export function correctionsToShow(
  { corrections }: AnswerJob,
  { excerpts }: { excerpts: readonly Pick<Excerpt, 'path'>[] },
): Correction[] {
  const paths = new Set(excerpts.map(({ path }) => path))
  return corrections.filter(({ places }) => places.some(({ path }) => paths.has(path))).slice(-mostCorrections)
}

/** A reply that answers, and does not ask for more code. */
export type AnswerReply = Extract<ParsedReply, { kind: 'answer' }>

interface AnswerRequest {
  purpose: 'answer' | 'compare'
  messages: ModelRequest['messages']
  /** Called when the reply turns out to be an answer. */
  onAnswering?: () => void
}

/** Emits the text for the reader as it arrives. */
export async function askForAnswer(
  job: AnswerJob,
  { purpose, messages, onAnswering }: AnswerRequest,
  signal: AbortSignal,
): Promise<ModelReply> {
  const { emit, model } = job.context.ports
  const filter = streamFilter()
  const show = (text: string) => {
    if (text !== '') emit({ type: 'model-text', purpose: 'answer', text })
    if (filter.answering()) onAnswering?.()
  }
  const onText = (piece: string) => show(filter.push(piece))
  const reply = await complete(job.context, { purpose, messages, answerTokens: answerTokensFor(model), onText, signal })
  show(filter.end())
  return withText(job.context, reply)
}

/** What the record says about the reply, its cost and the sandbox. */
export function outcomeOf(
  { context }: AnswerJob,
  { unanswered }: AnswerReply,
  { truncated }: ModelReply,
  usage: Usage,
  { sandbox: { id, template } }: OpenRun,
): Pick<Answered, 'truncated' | 'unanswered' | 'usage' | 'cost' | 'sandbox'> {
  const cost = costOf(usage, context.ports.model.name, context.prices)
  return { truncated, unanswered, usage, cost, sandbox: { id, template } }
}

export function excerptRecord({ path, blob, from, lines }: Excerpt): Answered['excerpts'][number] {
  return { path, blob, from, to: from + lines.length - 1, sha256: sha256(lines.join('\n')) }
}

/** Where the search is unsure, the model chooses among cards of its first files, and the lines are taken from those. */
export async function chooseFiles(
  job: AnswerJob,
  cards: readonly Card[],
  signal: AbortSignal,
): Promise<{ paths: string[]; usage: Usage }> {
  const messages = chooseMessages(job.question.text, cards)
  const reply = await complete(job.context, {
    purpose: 'choose',
    messages,
    answerTokens: termTokens,
    effort: 'least',
    signal,
  })
  return { paths: parseChoice(reply.text, cards), usage: reply.usage }
}

const neverAborted = new AbortController().signal
/** A model's service that does not answer the check in time is asked the question all the same. */
const checkPatienceMs = 1_000

/** A wrong key or an unknown model is noticed before a sandbox is paid for. The check outlives its caller: others wait for it too. */
export async function modelChecked({ ports: { model } }: AppContext, signal: AbortSignal): Promise<void> {
  using patience = limited(signal, checkPatienceMs)
  try {
    await orAborted(model.check?.(neverAborted) ?? Promise.resolve(), patience.signal, 'the model was being checked')
  } catch (error) {
    if (signal.aborted || !isHandoffError(error, 'timeout')) throw error
  }
}

export interface SearchTerms {
  /** Of the model. */
  words: string[]
  /** Of earlier questions of the thread. */
  earlier: string[]
  usage: Usage
}

/**
 * Words to look for beyond the question's own. The model names them while the sandbox starts, so that they cost no time. It is not asked where the
 * question names code itself: the search finds that. It chooses from the names in the summary.
 */
export async function searchTerms(job: AnswerJob, reading: Promise<string>, signal: AbortSignal): Promise<SearchTerms> {
  const { question, thread, context } = job
  const earlier = thread.slice(-2).flatMap((record) => record.searched.slice(0, 10))
  const none = { words: [], earlier, usage: { inputTokens: 0, outputTokens: 0 } }
  if (isEnglish(question.text) && namesCode(question.text)) return none
  const messages = termsMessages(question.text, await reading)
  const reply = await complete(job.context, {
    purpose: 'terms',
    messages,
    answerTokens: termTokens,
    effort: 'least',
    signal,
  })
  if (reply.text.trim() === '') context.ports.emit({ type: 'notice', text: noTerms })
  return { words: parseTerms(reply.text), earlier, usage: reply.usage }
}

const noTerms = 'The model named no words to search for; the words of the question alone were searched.'
