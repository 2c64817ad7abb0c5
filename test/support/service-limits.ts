// Questions under the limits of a service, without HTTP: a place in the queue and a budget, joined by every caller that asks the same.
import type { LocalDrive } from '../../src/emulators/drive9/server/main.js'
import type { AppContext } from '../../src/handoff/context.js'
import { makeBudgets } from '../../src/handoff/store/caller-budgets.js'
import { makeAdmission } from '../../src/handoff/workflows/answer/admission.js'
import { type AnswerResult, findAnswer } from '../../src/handoff/workflows/answer/find-answer.js'
import { answerOrJoin } from '../../src/handoff/workflows/answer/join-answer.js'
import type { Scenario, TestProcess } from './scenario.js'

export const laterMs = 3_600_000
const limits = { sandboxes: 1, waiting: 5, perCaller: 5, tokensPerDay: 100_000_000 }
const caller = 'a caller'
const budgets = '/handoff/_service/budgets'

/** As one process of a service has it, perhaps some time later. */
export function limitedContext({ context, advance: later }: TestProcess, afterMs = 0): AppContext {
  later(afterMs)
  const { ports, root } = context
  return {
    ...context,
    admission: makeAdmission(limits),
    budgets: makeBudgets(ports.drive, root, limits, ports.clock),
  }
}

export async function askLimited(
  context: AppContext,
  place: Scenario,
  process: TestProcess,
  text: string,
  signal: AbortSignal,
): Promise<AnswerResult> {
  const request = { ...place.ask(process, text), caller }
  return answerOrJoin(await findAnswer(request, context, signal), context, signal)
}

interface Budget {
  tokens: number
  reserved: unknown[]
}

const budgetsOf = (drive: LocalDrive) =>
  drive
    .tree(budgets)
    .filter((entry) => !entry.isDirectory)
    .map(({ path }) => JSON.parse(drive.readFile(path)!.toString()) as Budget)

/** What is left of reservations, in words, when every question has ended and their time is over. */
export async function reservationsLeft(context: AppContext, drive: LocalDrive): Promise<string[]> {
  const settle = await context.budgets.reserve(
    caller,
    'another',
    { tokens: 1, cost: 0 },
    context.ports.clock.now() + 60_000,
  )
  await settle()
  return budgetsOf(drive).flatMap(({ reserved }) => reserved.map((one) => JSON.stringify(one)))
}

/** What callers were charged so far. */
export const tokensOf = (drive: LocalDrive): number => budgetsOf(drive).reduce((sum, { tokens }) => sum + tokens, 0)
