// Lines of a commit without a model: those that bear on some words, or those of a file. They come from a sandbox that is gone afterwards.
import type { AppContext } from '../../context.js'
import type { Excerpt } from '../../domain/answer.js'
import { HandoffError, ignoreFailure } from '../../domain/errors.js'
import { quote } from '../../domain/run.js'
import { startTimer } from '../../util/step-timer.js'
import type { CitedPlace } from '../browse.js'
import { openForReading } from './open-for-reading.js'
import { settlingMs } from './reserve-budget.js'
import { type ChosenRun, type RunName, resolveRun, type Where } from './resolve-run.js'
import { nothingShown, type Shown, searchSandbox } from './search-in-sandbox.js'
import { whileAccountIsFull } from './wait-for-account.js'

export interface LinesRequest extends Where {
  name: RunName
  wanted: { words: string } | CitedPlace
  /** Limit of the lines in tokens, with their numbers. */
  tokens: number
  /** Waiting is fair between callers. */
  caller: string
  /** Written on the sandbox. */
  labels?: Record<string, string> | undefined
}

export interface FoundLines {
  run: ChosenRun
  /** Best file first. */
  excerpts: Excerpt[]
  /** The words that were looked for. */
  searched: string[]
}

export async function findLines(request: LinesRequest, context: AppContext, signal: AbortSignal): Promise<FoundLines> {
  const { name, wanted, caller, labels } = request
  const timer = startTimer(context.ports)
  const run = await timer.step('look up', () => resolveRun(request, name, context, signal))
  using ticket = context.admission.enter(caller, 1)
  const budget = await reserveLines(request, context, signal)
  await using _settling = { [Symbol.asyncDispose]: () => budget.settle() }
  await ticket.ready(signal, (position) => context.ports.emit({ type: 'answer-waiting', position }))
  const looking = { context, timer, run, labels }
  const look = async (): Promise<Shown> => {
    const shown = nothingShown()
    await using open = await openForReading(looking, signal)
    await timer.step('find', () => searchSandbox(looking, open, shown, lookFor(request), signal))
    return shown
  }
  const { excerpts, searched } = await whileAccountIsFull(look, context, signal)
  const code = excerpts.filter(({ source }) => source === 'code')
  budget.spend(code)
  if ('path' in wanted && code.length === 0) throw noLines(wanted, run)
  return { run, excerpts: code, searched }
}

/** A search asks no model. The lines that it shows count as tokens of the caller's day. */
async function reserveLines(
  { caller, tokens }: LinesRequest,
  { budgets, ports, limits }: AppContext,
  signal: AbortSignal,
) {
  const until = ports.clock.now() + limits.deadlineMs + settlingMs
  const settle = await budgets.reserve(caller, 'lines', { tokens, cost: 0 }, until, signal)
  let shown = 0
  return {
    spend(excerpts: Excerpt[]) {
      const texts = excerpts.map(({ lines }) => lines.join('\n'))
      shown = Math.min(tokens, ports.model.estimateTokens(texts.join('\n')))
    },
    // A reservation that cannot be settled expires by itself.
    settle: () => settle({ tokens: shown, cost: 0 }).catch(ignoreFailure),
  }
}

function lookFor({ wanted, tokens }: LinesRequest) {
  if ('words' in wanted) return { question: wanted.words, terms: [], tokens, requests: [] }
  return { question: '', terms: [], tokens, requests: [{ kind: 'read' as const, ...wanted }] }
}

const noLines = ({ path, from, to }: CitedPlace, { handoff }: ChosenRun) =>
  new HandoffError(
    'not-found',
    `Commit ${handoff.commit.slice(0, 12)} has no lines ${from}-${to} of a text file ${quote(path)}.`,
    { next: 'Check the path and the lines; find_lines finds them by words.' },
  )
