// Generates an answer: Sandbox B searches, the model answers, and the citations are checked.
//
// The sandbox runs while the model may still ask for more lines. It is ended as soon as the reply turns out to be an answer, while the rest of the
// reply is still streaming.

import type { AppContext } from '../../context.js'
import type { CompletedAnswer, Question, Usage } from '../../domain/answer.js'
import {
  answerBlocks,
  answerMessages,
  parseReply,
  parseTerms,
  streamFilter,
  termsMessages,
} from '../../domain/answers/answer-prompt.js'
import { isEnglish } from '../../domain/answers/is-english.js'
import { mostRounds, termTokens } from '../../domain/answers/question-cost.js'
import { citedLines } from '../../domain/citations/cited-lines.js'
import { verifyCitations } from '../../domain/citations/verify-citations.js'
import { HandoffError } from '../../domain/errors.js'
import { costOf } from '../../domain/model-prices.js'
import type { ModelReply } from '../../domain/ports.js'
import type { MoreRequest } from '../../domain/sandbox-protocol.js'
import { sha256 } from '../../store/run-store.js'
import { openBoth, type StepTimer, withCleanup } from '../../util/step-timer.js'
import { addUsage, answerTokensFor, complete, tokensToShow, withinContext, withText } from '../answer-model.js'
import { readSummary } from '../read-summary.js'
import type { ChosenRun } from './resolve-run.js'
import { type Look, nothingShown, type OpenRun, openForReading, type Shown, searchSandbox } from './search-sandbox.js'

export type Answered = Pick<
  CompletedAnswer,
  | 'text'
  | 'citations'
  | 'unsupported'
  | 'truncated'
  | 'unanswered'
  | 'excerpts'
  | 'searched'
  | 'cited'
  | 'rounds'
  | 'usage'
  | 'cost'
  | 'sandbox'
>

/** What a question that follows needs of an answer. */
export type Said = Pick<CompletedAnswer, 'question' | 'text' | 'searched'>

export interface AnswerJob {
  question: Question & { text: string }
  context: AppContext
  run: ChosenRun
  timer: StepTimer
  /** Earlier answers of the same thread, oldest first. */
  thread: Said[]
  /** Written on the sandbox, beside our own. */
  labels?: Record<string, string>
}

/** Numbered lines that one round may print. */
const excerptTokens = 12_000

export async function generateAnswer(job: AnswerJob, signal: AbortSignal): Promise<Answered> {
  const { context, run } = job
  const [open, [summary, terms]] = await openBoth(
    openForReading(job, signal),
    Promise.all([readSummary(context, run.directory, run.handoff, signal), searchTerms(job, signal)]),
    { first: ({ close }) => close() },
  )
  return withCleanup(() => converse({ ...job, open, summary, terms }, signal), [open.close])
}

interface Conversation extends AnswerJob {
  open: OpenRun
  summary: string
  terms: SearchTerms
}

export interface SearchTerms {
  words: string[]
  usage: Usage
}

/** Words to look for beyond the question's own: asked of the model only when the question is not in the language of code. */
export async function searchTerms(job: AnswerJob, signal: AbortSignal): Promise<SearchTerms> {
  const words = job.thread.slice(-2).flatMap((record) => record.searched.slice(0, 10))
  const none = { words, usage: { inputTokens: 0, outputTokens: 0 } }
  if (isEnglish(job.question.text)) return none
  const messages = termsMessages(job.question.text)
  const wanted = { answerTokens: termTokens, effort: 'least' } as const
  const reply = await complete(job, { purpose: 'terms', messages, ...wanted, signal })
  if (reply.text.trim() === '') job.context.ports.emit({ type: 'notice', text: noTerms })
  return { words: [...words, ...parseTerms(reply.text)], usage: reply.usage }
}

const noTerms = 'The model named no words to search for; the words of the question alone were searched.'

async function converse(talk: Conversation, signal: AbortSignal): Promise<Answered> {
  const shown = nothingShown()
  let usage = talk.terms.usage
  let requests: MoreRequest[] = []
  for (let round = 1; ; round += 1) {
    // A reply that began as an answer has ended the sandbox. If it then asks for more, the model answers from what it has seen.
    const last = round === mostRounds || talk.open.closing()
    if (!talk.open.closing()) {
      await talk.timer.step('find', () => {
        const looking = searchSandbox(talk, talk.open, shown, lookFor(talk, requests), signal)
        // Loads the model client meanwhile. A failure is reported when the model is asked.
        talk.context.ports.model.warm?.().catch(() => undefined)
        return looking
      })
    }
    const reply = await talk.timer.step('answer', () => askModel(talk, shown, round, last, signal))
    usage = addUsage(usage, reply.usage)
    const parsed = parseReply(reply.text)
    if (parsed.kind === 'more' && !last) {
      requests = parsed.requests
      continue
    }
    await talk.open.close()
    if (parsed.kind === 'more') throw neverAnswered()
    return talk.timer.step('check', async () => checked(talk, shown, parsed, reply, round, usage))
  }
}

function neverAnswered(): HandoffError {
  return new HandoffError('model', 'The model kept asking for more of the repository and never answered.', {
    next: 'Ask more precisely, or use another model.',
  })
}

function lookFor({ context, question, terms }: Conversation, requests: MoreRequest[]): Look {
  const tokens = tokensToShow(context.ports.model, excerptTokens)
  return { question: question.text, terms: terms.words, tokens, requests }
}

async function askModel(
  talk: Conversation,
  shown: Shown,
  round: number,
  last: boolean,
  signal: AbortSignal,
): Promise<ModelReply> {
  const { emit, model } = talk.context.ports
  const filter = streamFilter()
  const show = (text: string) => {
    if (text !== '') emit({ type: 'model-text', purpose: 'answer', text })
    // Text for the reader means that the model needs nothing more from the sandbox.
    if (filter.answering()) void talk.open.close().catch(() => undefined)
  }
  const prompt = {
    question: talk.question.text,
    excerpts: shown.excerpts,
    listings: shown.listings,
    summary: talk.summary,
    earlier: talk.thread.slice(-3).map(({ question, text }) => ({ question, answer: text })),
    round,
    roundsLeft: mostRounds - round,
    allowMore: !last,
  }
  const fitted = await withinContext(model, answerBlocks(prompt), (blocks) => answerMessages(prompt, blocks))
  // A citation may rest on what the model was shown, and on nothing else.
  if (fitted.left) shown.excerpts = fitted.left.flatMap(({ excerpt }) => excerpt ?? [])
  const reply = await complete(talk, {
    purpose: 'answer',
    messages: fitted.messages,
    answerTokens: answerTokensFor(model),
    onText: (piece) => show(filter.push(piece)),
    signal,
  })
  show(filter.end())
  return withText(talk, reply)
}

function checked(
  talk: Conversation,
  shown: Shown,
  parsed: { markdown: string; unanswered: boolean },
  reply: ModelReply,
  round: number,
  usage: Usage,
): Answered {
  const paths = new Set(shown.excerpts.map((excerpt) => excerpt.path))
  const { text, citations, unsupported } = verifyCitations(parsed.markdown, shown.excerpts, (path) => paths.has(path))
  const { model } = talk.context.ports
  const cost = costOf(usage, model.name, talk.context.prices)
  const { sandbox } = talk.open
  return {
    text,
    citations,
    unsupported,
    truncated: reply.truncated,
    unanswered: parsed.unanswered,
    excerpts: shown.excerpts.map((excerpt) => ({
      path: excerpt.path,
      blob: excerpt.blob,
      from: excerpt.from,
      to: excerpt.from + excerpt.lines.length - 1,
      sha256: sha256(excerpt.lines.join('\n')),
    })),
    searched: shown.searched.slice(0, 100),
    cited: citedLines(citations, shown.excerpts),
    rounds: round,
    usage,
    ...(cost === undefined ? {} : { cost }),
    sandbox: { id: sandbox.id, template: sandbox.template },
  }
}
