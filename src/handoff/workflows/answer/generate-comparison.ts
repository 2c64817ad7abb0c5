// Answers a question about two commits: what changed between them. Id, claim and record work as for any question, and the record is stored with the
// later run.
//
// Each run has its own Sandbox B with a token for that run only, so the content of one commit cannot affect the other. Both search concurrently,
// then each fetches the lines that the other one found. Both end before the model is asked.

import type { Excerpt } from '../../domain/answer.js'
import { counterparts, pathChanges, withoutTwins } from '../../domain/answers/comparison-diff.js'
import { compareBlocks, compareMessages, type Side, verifyComparison } from '../../domain/answers/comparison-prompt.js'
import { depthLimits } from '../../domain/answers/depth.js'
import type { Block } from '../../domain/answers/fit-blocks.js'
import { parseReply } from '../../domain/answers/parse-reply.js'
import { shortCommit } from '../../domain/citations/citation-label.js'
import { HandoffError, settleAll } from '../../domain/errors.js'
import type { ModelReply } from '../../domain/ports.js'
import type { MoreRequest } from '../../domain/sandbox-protocol.js'
import { awaitedLater } from '../../util/abort.js'
import { addUsage, tokensToShow, withinContext } from '../call-model.js'
import { type BlobsByPath, readBlobs, readSummaryForModel } from '../read-sealed-files.js'
import {
  type Answered,
  type AnswerJob,
  askForAnswer,
  correctionsToShow,
  excerptRecord,
  outcomeOf,
  type SearchTerms,
  searchTerms,
} from './ask-model.js'
import type { OpenRun } from './open-for-reading.js'
import type { ChosenRun } from './resolve-run.js'
import { nothingShown, type Shown, searchSandbox } from './search-in-sandbox.js'

interface CompareJob extends AnswerJob {
  /** The earlier run; `run` is the later one. */
  base: ChosenRun
}

/** What both sides may print together is what one round of three may: for the search of each side a third, for lines at the places of the other a sixth. */
const findShare = 1 / 9
const counterpartShare = 1 / 18

/** One of the two runs, as far as it is known. */
interface Half {
  run: ChosenRun
  open: OpenRun
  blobs: BlobsByPath
  summary: string
  shown: Shown
}

export function refuseSame(base: ChosenRun, run: ChosenRun): void {
  const { commit } = run.handoff
  if (shortCommit(base.handoff.commit) !== shortCommit(commit)) return
  throw new HandoffError(
    'invalid-input',
    `Both sides are commit ${shortCommit(commit)}; there is nothing to compare.`,
    {
      next: 'Name two different commits.',
    },
  )
}

export async function generateComparison(job: CompareJob, signal: AbortSignal): Promise<Answered> {
  const earlier = readRun(job, job.base, signal)
  const later = readRun(job, job.run, signal)
  const laterSummary = awaitedLater(later.then(({ summary }) => summary))
  const [opened, [terms, ...read]] = await settleAll([
    job.opened,
    Promise.all([searchTerms(job, laterSummary, signal), earlier, later]),
  ])
  const halves: [Half, Half] = [
    { run: job.base, open: opened[0]!, shown: nothingShown(), ...read[0] },
    { run: job.run, open: opened[1]!, shown: nothingShown(), ...read[1] },
  ]
  const rounds = await job.timer.step('find', () => findBoth(job, halves, terms, signal))
  await Promise.all(opened.map((one) => one.close()))
  const { reply, sides } = await job.timer.step('answer', () => askModel(job, halves, sidesOf(halves), signal))
  return await job.timer.step('check', async () => checked(job, halves, sides, reply, terms, rounds))
}

async function readRun({ context }: CompareJob, run: ChosenRun, signal: AbortSignal) {
  const [summary, blobs] = await Promise.all([
    readSummaryForModel(context, run, signal),
    readBlobs(context, run, signal),
  ])
  return { summary, blobs }
}

/** Runs the search in both, then fetches each one's lines at the places of the other. Returns the number of round trips. */
async function findBoth(
  job: CompareJob,
  halves: [Half, Half],
  terms: SearchTerms,
  signal: AbortSignal,
): Promise<number> {
  const question = job.question.text
  const { model } = job.context.ports
  const { tokens: most } = depthLimits[job.question.depth]
  const look = (half: Half, requests: MoreRequest[], tokens: number) =>
    searchSandbox(
      { ...job, run: half.run },
      half.open,
      half.shown,
      { question, terms: terms.words, earlier: terms.earlier, tokens, requests },
      signal,
    )
  await both(halves, (half) => look(half, [], Math.floor(tokensToShow(model, 2 * findShare * most) / 2)))
  const [earlier, later] = halves
  const wanted = new Map([
    [earlier, counterparts(later.shown.excerpts, later.blobs, earlier)],
    [later, counterparts(earlier.shown.excerpts, earlier.blobs, later)],
  ])
  if ([...wanted.values()].every((requests) => requests.length === 0)) return 1
  await both(halves, async (half) => {
    const requests = wanted.get(half)!
    if (requests.length > 0) await look(half, requests, Math.floor(counterpartShare * most))
  })
  return 2
}

/** Side by side; both have ended when this ends. */
async function both(halves: [Half, Half], act: (half: Half) => Promise<void>): Promise<void> {
  await settleAll([act(halves[0]), act(halves[1])])
}

/** What is shown of each. What is the same in both is shown once. */
function sidesOf([earlier, later]: [Half, Half]): [Side, Side] {
  const excerpts = withoutTwins(earlier.shown.excerpts, later.shown.excerpts)
  return [sideOf(earlier, excerpts), sideOf(later, later.shown.excerpts)]
}

const sideOf = ({ run, summary }: Half, excerpts: readonly Excerpt[]): Side => ({
  commit: run.handoff.commit,
  excerpts,
  summary,
})

async function askModel(
  job: CompareJob,
  [earlier, later]: [Half, Half],
  [from, to]: [Side, Side],
  signal: AbortSignal,
): Promise<{ reply: ModelReply; sides: [Side, Side] }> {
  const { model } = job.context.ports
  const paths = [...from.excerpts, ...to.excerpts].map(({ path }) => path)
  const { changes, changedInAll } = pathChanges(earlier.blobs, later.blobs, paths)
  const corrections = correctionsToShow(job, to)
  const prompt = { question: job.question.text, from, to, changes, changedInAll, corrections }
  const fitted = await withinContext(model, compareBlocks(prompt), (blocks) => compareMessages(prompt, blocks))
  const reply = await askForAnswer(job, { purpose: 'compare', messages: fitted.messages }, signal)
  return { reply, sides: [leftOf(from, fitted.left), leftOf(to, fitted.left)] }
}

/** What of a side the model was shown. */
function leftOf(side: Side, left: readonly Block[] | undefined): Side {
  if (left === undefined) return side
  return {
    ...side,
    excerpts: left.flatMap(({ commit, excerpt }) => (commit === side.commit && excerpt ? [excerpt] : [])),
  }
}

function checked(
  job: CompareJob,
  halves: [Half, Half],
  sides: [Side, Side],
  reply: ModelReply,
  terms: SearchTerms,
  rounds: number,
): Answered {
  const parsed = parseReply(reply.text)
  if (parsed.kind === 'more') throw onlyAsked()
  const { text, citations, unsupported, cited } = verifyComparison(parsed.markdown, sides)
  return {
    ...outcomeOf(job, parsed, reply, addUsage({ ...terms.usage }, reply.usage), halves[1].open),
    text,
    citations,
    unsupported,
    excerpts: sides.flatMap(({ commit, excerpts }) => excerpts.map((one) => ({ ...excerptRecord(one), commit }))),
    searched: [...new Set(halves.flatMap(({ shown }) => shown.searched))].slice(0, 100),
    cited,
    rounds,
  }
}

function onlyAsked(): HandoffError {
  return new HandoffError('model', 'The model asked for more of the repository and did not compare.', {
    next: 'Ask more precisely, or use another model.',
  })
}
