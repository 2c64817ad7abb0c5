import { answerBlocks, answerMessages } from '../../domain/answers/answer-prompt.js'
import { depthLimits, roundTokens } from '../../domain/answers/depth.js'
import { parseReply } from '../../domain/answers/parse-reply.js'
import { citedLines } from '../../domain/citations/cited-lines.js'
import { verifyCitations } from '../../domain/citations/verify-citations.js'
import { HandoffError, settleAll } from '../../domain/errors.js'
import { estimateTokens } from '../../domain/estimate-tokens.js'
import type { ModelReply } from '../../domain/ports.js'
import type { MoreRequest } from '../../domain/sandbox-protocol.js'
import type { Searched } from '../../domain/sandbox-protocol-decoder.js'
import type { Usage } from '../../domain/usage.js'
import { addUsage, tokensToShow, withinContext } from '../call-model.js'
import { readSummaryForModel } from '../read-sealed-files.js'
import {
  type Answered,
  type AnswerJob,
  type AnswerReply,
  askForAnswer,
  chooseFiles,
  correctionsToShow,
  excerptRecord,
  outcomeOf,
  type SearchTerms,
  searchTerms,
} from './ask-model.js'
import type { OpenRun } from './open-for-reading.js'
import { type Look, nothingShown, type Shown, searchSandbox } from './search-in-sandbox.js'

export async function generateAnswer(job: AnswerJob, signal: AbortSignal): Promise<Answered> {
  const { context, run } = job
  const reading = readSummaryForModel(context, run, signal)
  const [[open], [summary, terms]] = await settleAll([
    job.opened,
    Promise.all([reading, searchTerms(job, reading, signal)]),
  ])
  return converse({ ...job, open: open!, summary, terms }, signal)
}

interface Conversation extends AnswerJob {
  open: OpenRun
  summary: string
  terms: SearchTerms
}

async function converse(talk: Conversation, signal: AbortSignal): Promise<Answered> {
  const shown = nothingShown()
  let usage = talk.terms.usage
  let requests: MoreRequest[] = []
  const { rounds, tokens, seconds } = depthLimits[talk.question.depth]
  const { clock } = talk.context.ports
  const until = clock.now() + seconds * 1_000
  let room = tokens
  for (let round = 1; ; round += 1) {
    // A reply that began as an answer has ended the sandbox. If it then asks for more, the model answers from what it has seen.
    if (!talk.open.closing()) {
      await talk.timer.step('find', () => {
        const looking = searchSandbox(talk, talk.open, shown, lookFor(talk, requests, room), signal)
        // Loads the model client meanwhile. A failure is reported when the model is asked.
        talk.context.ports.model.warm?.().catch(() => undefined)
        return looking
      })
      if (round === 1) usage = addUsage(usage, await chooseAmong(talk, shown, room, signal))
    }
    room = tokens - tokensOf(shown)
    const isOver = round === rounds || room < leastRoom || clock.now() >= until
    const roundsLeft = isOver || talk.open.closing() ? 0 : rounds - round
    const reply = await talk.timer.step('answer', () => askModel(talk, shown, round, roundsLeft, signal))
    usage = addUsage(usage, reply.usage)
    const parsed = parseReply(reply.text)
    if (parsed.kind === 'more' && roundsLeft > 0) {
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

/** Where the search was unsure, what the model chooses from its cards is shown in the place of what was found first. */
async function chooseAmong(talk: Conversation, shown: Shown, room: number, signal: AbortSignal): Promise<Usage> {
  if (shown.cards.length === 0) return { inputTokens: 0, outputTokens: 0 }
  const { paths, usage } = await talk.timer.step('choose', () => chooseFiles(talk, shown.cards, signal))
  if (paths.length === 0) return usage
  const again = nothingShown()
  const look = { ...lookFor(talk, [], room), chosen: paths }
  await talk.timer.step('find', () => searchSandbox(talk, talk.open, again, look, signal))
  if (again.excerpts.length > 0) Object.assign(shown, again)
  return usage
}

/** With less room for lines no further round is worth its call. */
const leastRoom = 500

/** Counted as the search counts. */
function tokensOf({ excerpts }: Shown): number {
  const numbered = excerpts.flatMap(({ from, lines }) => lines.map((line, index) => `${from + index}| ${line}\n`))
  return estimateTokens(numbered.join(''))
}

function lookFor({ context, question, terms }: Conversation, requests: MoreRequest[], room: number): Look {
  const tokens = tokensToShow(context.ports.model, Math.min(roundTokens, room))
  const cards = question.depth !== 'quick' && requests.length === 0
  return { question: question.text, terms: terms.words, earlier: terms.earlier, tokens, requests, cards }
}

async function askModel(
  talk: Conversation,
  shown: Shown,
  round: number,
  roundsLeft: number,
  signal: AbortSignal,
): Promise<ModelReply> {
  const { model } = talk.context.ports
  const prompt = {
    question: talk.question.text,
    excerpts: shown.excerpts,
    listings: shown.listings,
    notes: [...ownNotes(talk), ...shown.notes],
    corrections: correctionsToShow(talk, shown),
    ...(shown.search ? { search: shown.search } : {}),
    summary: talk.summary,
    earlier: talk.thread.slice(-3).map(({ question, text }) => ({ question, answer: text })),
    round,
    roundsLeft,
  }
  const fitted = await withinContext(model, answerBlocks(prompt), (blocks) => answerMessages(prompt, blocks))
  // A citation may rest on what the model was shown, and on nothing else.
  if (fitted.left) shown.excerpts = fitted.left.flatMap(({ excerpt }) => excerpt ?? [])
  // An answer means that the model needs nothing more from the sandbox.
  const onAnswering = () => void talk.open.close()
  return askForAnswer(talk, { purpose: 'answer', messages: fitted.messages, onAnswering }, signal)
}

/** Characters of the setting that are quoted. */
const longestInstructions = 4_000

/** The setting is quoted as the notes of the repository are. */
const ownNotes = ({ context: { instructions, redact } }: Conversation) =>
  instructions === undefined ? [] : [{ path: 'instructions', text: redact(instructions).slice(0, longestInstructions) }]

/** Where was looked, for an answer that found nothing. */
const lookedAt = ({ files, unsearched }: Searched) => ({ files, unsearched })

function checked(
  talk: Conversation,
  shown: Shown,
  parsed: AnswerReply,
  reply: ModelReply,
  round: number,
  usage: Usage,
): Answered {
  const paths = new Set(shown.excerpts.map((excerpt) => excerpt.path))
  const { text, citations, unsupported } = verifyCitations(parsed.markdown, shown.excerpts, (path) => paths.has(path))
  return {
    ...outcomeOf(talk, parsed, reply, usage, talk.open),
    text,
    citations,
    unsupported,
    excerpts: shown.excerpts.map(excerptRecord),
    searched: shown.searched.slice(0, 100),
    ...(parsed.unanswered && shown.search ? { looked: lookedAt(shown.search) } : {}),
    cited: citedLines(citations, shown.excerpts),
    rounds: round,
  }
}
