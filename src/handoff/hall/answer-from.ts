// From a run and a question to an answer: Sandbox B finds, the model answers, the answer is checked.
//
// The machine lives as long as the model may still ask for more. The moment its reply shows that it is answering, the machine is ended, while
// the rest of the answer is still being written.
import { runGuest } from '../bench/guest.js'
import { openSealed, sha256 } from '../bench/run-directory.js'
import { type OwnedSandbox, openSandbox, together, undoing, type Walk } from '../bench/walk.js'
import type { CompletedAnswer, Excerpt, Question, Usage } from '../library/answer.js'
import { answerMessages, parseReply, parseTerms, streamFilter, termsMessages } from '../library/answer-prompt.js'
import { verifyCitations } from '../library/citations.js'
import { citedLines } from '../library/cited-lines.js'
import { HandoffError } from '../library/errors.js'
import { costOf } from '../library/prices.js'
import type { FindTask, GuestRecord, MoreRequest, MoreTask, Search } from '../library/records.js'
import { artifact } from '../library/run.js'
import type { ModelReply } from '../library/tools.js'
import { egressOf, type House, lifetimeMargin } from './house.js'
import { readSummary } from './summarise.js'
import type { ChosenRun } from './which-run.js'

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

export interface AnswerJob {
  question: Question & { text: string }
  house: House
  run: ChosenRun
  walk: Walk
  /** Earlier answers of the same thread, oldest first. */
  thread: CompletedAnswer[]
  /** Written on the sandbox, beside our own. */
  labels?: Record<string, string>
}

/** Rounds in all; each one after the first is one more crossing. */
const mostRounds = 3
/** What one round may print: 12,000 tokens of numbered lines. */
const excerptBytes = 40_000

export async function answerFrom(job: AnswerJob, signal: AbortSignal): Promise<Answered> {
  const { house, run, walk } = job
  const { tools } = house
  const lifetimeMs = house.limits.sandboxMs ?? house.limits.deadlineMs + lifetimeMargin
  const metadata = { ...job.labels, handoff: '1', role: 'ask', run: run.handoff.run }
  const [[owned, opened], [summary, terms]] = await together(
    together(
      openSandbox(walk, tools, 'ask', { metadata, lifetimeMs, egress: egressOf(house) }, signal),
      openSealed(tools.drive, run.directory, Math.ceil(lifetimeMs / 1_000), signal),
      { first: (sandbox) => sandbox.close(), second: (token) => token.revoke() },
    ),
    Promise.all([readSummary(house, run.directory, run.handoff, signal), searchTerms(job, signal)]),
    { first: ([sandbox, token]) => Promise.all([sandbox.close(), token.revoke()]) },
  )
  const close = async () => {
    await Promise.all([owned.close(), opened.revoke()])
  }
  return undoing(() => converse({ ...job, owned, token: opened.token.secret, summary, terms, close }, signal), [close])
}

interface Conversation extends AnswerJob {
  owned: OwnedSandbox
  token: string
  summary: string
  terms: { words: string[]; usage: Usage }
  close: () => Promise<void>
}

/** Words to look for beyond the question's own: asked of the model only when the question is in a script that code is not written in. */
async function searchTerms(job: AnswerJob, signal: AbortSignal): Promise<{ words: string[]; usage: Usage }> {
  const words = job.thread.slice(-2).flatMap((record) => record.searched.slice(0, 10))
  const none = { words, usage: { inputTokens: 0, outputTokens: 0 } }
  if (speaksLatin(job.question.text)) return none
  const reply = await job.house.tools.model.complete({
    purpose: 'terms',
    messages: termsMessages(job.question.text),
    maxOutputTokens: 200,
    signal,
  })
  told(job, 'terms', reply)
  return { words: [...words, ...parseTerms(reply.text)], usage: reply.usage }
}

function speaksLatin(text: string): boolean {
  const letters = text.match(/\p{L}/gu) ?? []
  const latin = text.match(/\p{Script=Latin}/gu) ?? []
  return letters.length === 0 || latin.length / letters.length > 0.6
}

interface Shown {
  excerpts: Excerpt[]
  listings: { path: string; entries: string[] }[]
  searched: string[]
}

async function converse(talk: Conversation, signal: AbortSignal): Promise<Answered> {
  const shown: Shown = { excerpts: [], listings: [], searched: [] }
  let usage: Usage = { inputTokens: talk.terms.usage.inputTokens, outputTokens: talk.terms.usage.outputTokens }
  let requests: MoreRequest[] = []
  for (let round = 1; ; round += 1) {
    await talk.walk.step('find', () => lookInside(talk, shown, requests, signal))
    const last = round === mostRounds
    const reply = await talk.walk.step('answer', () => askModel(talk, shown, round, last, signal))
    usage = addUsage(usage, reply.usage)
    const parsed = parseReply(reply.text)
    if (parsed.kind === 'more' && !last) {
      requests = parsed.requests
      continue
    }
    await talk.close()
    if (parsed.kind === 'more') throw neverAnswered()
    return talk.walk.step('check', async () => checked(talk, shown, parsed, reply, round, usage))
  }
}

function neverAnswered(): HandoffError {
  return new HandoffError('model', 'The model kept asking for more of the repository and never answered.', {
    next: 'Ask more precisely, or use another model.',
  })
}

/** One crossing: the first round finds, later ones fetch what the model asked for. */
async function lookInside(
  talk: Conversation,
  shown: Shown,
  requests: MoreRequest[],
  signal: AbortSignal,
): Promise<void> {
  const task = requests.length === 0 && shown.excerpts.length === 0 ? findTask(talk) : moreTask(talk, shown, requests)
  const before = shown.excerpts.length
  await runGuest(talk.owned.sandbox, {
    program: talk.house.program,
    task,
    secrets: task.task === 'find' ? { DRIVE9_API_KEY: talk.token } : {},
    timeoutMs: talk.house.limits.deadlineMs,
    signal,
    onRecord: (record) => take(talk, shown, record),
  })
  const found = shown.excerpts.slice(before)
  talk.house.tools.emit({
    type: 'excerpts-found',
    count: found.length,
    files: new Set(found.map((excerpt) => excerpt.path)).size,
  })
}

function take(talk: Conversation, shown: Shown, record: GuestRecord): void {
  if (record.type === 'excerpt') shown.excerpts.push(record)
  else if (record.type === 'listing') shown.listings.push(record)
  else if (record.type === 'searched') shown.searched = [...new Set([...shown.searched, ...record.terms])]
  else if (record.type === 'notice') talk.house.tools.emit({ type: 'notice', text: record.text })
  else if (record.type === 'step' && record.step === 'mount') talk.walk.note('mount', record.milliseconds)
}

function findTask(talk: Conversation): FindTask {
  const { handoff, directory } = talk.run
  const clonePath = handoff.artifacts.find((entry) => entry.path.endsWith('.git.tar'))?.path
  if (!clonePath)
    throw new HandoffError('corrupt', `Run ${handoff.run} has no clone among its artifacts.`, {
      next: 'Summarise the commit again with force.',
    })
  const needed = new Set<string>([clonePath, artifact.outline, artifact.summary])
  return {
    task: 'find',
    mount: {
      server: talk.house.tools.drive.server,
      remote: directory,
      marker: { path: artifact.handoff, sha256: talk.run.pointer.handoff },
    },
    artifacts: handoff.artifacts.filter((entry) => needed.has(entry.path)),
    clonePath,
    repositoryName: repositoryNameIn(clonePath),
    commit: handoff.commit,
    search: searchFor(talk, []),
  }
}

/** The directory inside the tar is called as the repository was called when the run was made. */
const repositoryNameIn = (clonePath: string) => (clonePath.split('/').at(-1) ?? '').replace(/\.git\.tar$/, '')

function moreTask(talk: Conversation, shown: Shown, requests: MoreRequest[]): MoreTask {
  const { handoff } = talk.run
  return {
    task: 'more',
    repositoryName: repositoryNameIn(findTask(talk).clonePath),
    commit: handoff.commit,
    search: searchFor(talk, shown.excerpts),
    requests,
  }
}

function searchFor(talk: Conversation, excerpts: Excerpt[]): Search {
  return {
    question: talk.question.text,
    terms: talk.terms.words.slice(0, 60),
    textBytes: excerptBytes,
    hints: [],
    shown: excerpts.map((excerpt) => ({
      path: excerpt.path,
      from: excerpt.from,
      to: excerpt.from + excerpt.lines.length - 1,
    })),
  }
}

async function askModel(
  talk: Conversation,
  shown: Shown,
  round: number,
  last: boolean,
  signal: AbortSignal,
): Promise<ModelReply> {
  const { model, emit } = talk.house.tools
  const filter = streamFilter()
  const show = (text: string) => {
    if (text !== '') emit({ type: 'model-text', purpose: 'answer', text })
    // Words for the reader mean that nothing more is wanted from the machine.
    if (filter.answering()) void talk.close().catch(() => undefined)
  }
  const reply = await model.complete({
    purpose: 'answer',
    messages: answerMessages({
      question: talk.question.text,
      excerpts: shown.excerpts,
      listings: shown.listings,
      summary: talk.summary,
      earlier: talk.thread.slice(-3).map(({ question, text }) => ({ question, answer: text })),
      round,
      roundsLeft: mostRounds - round,
      allowMore: !last,
    }),
    maxOutputTokens: 2_000,
    onText: (piece) => show(filter.push(piece)),
    signal,
  })
  show(filter.end())
  told(talk, 'answer', reply)
  return reply
}

function told(job: AnswerJob, purpose: string, reply: ModelReply): void {
  const { inputTokens, outputTokens } = reply.usage
  job.house.tools.emit({ type: 'model-call', purpose, inputTokens, outputTokens })
}

function addUsage(sum: Usage, more: ModelReply['usage']): Usage {
  return {
    inputTokens: sum.inputTokens + more.inputTokens,
    outputTokens: sum.outputTokens + more.outputTokens,
    ...(sum.estimated || more.estimated ? { estimated: true } : {}),
  }
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
  const { model } = talk.house.tools
  const cost = costOf(usage, model.name, talk.house.prices)
  const { sandbox } = talk.owned
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
