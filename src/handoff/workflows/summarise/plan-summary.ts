// Decides what a new summary reads, and what it may cost.

import { HandoffError } from '../../domain/errors.js'
import { fileBlock } from '../../domain/prompt-blocks.js'
import { quote } from '../../domain/run.js'
import { chooseFiles, type Estimate, estimateFresh } from '../../domain/summary/estimate-cost.js'
import { overhead, requestSizesFor } from '../../domain/summary/request-sizes.js'
import { type SizedFile, type SourceFile, shownFile } from '../../domain/summary/source-files.js'
import { partMessages, type ShownFile } from '../../domain/summary/summary-prompt.js'
import { createTokenBudget, type Reservation } from '../../domain/summary/token-budget.js'
import type { SummaryContext } from './types.js'
import { planParts } from './write-notes.js'

interface FreshPlan {
  chosen: SizedFile[]
  /** Files that the limits leave out. */
  left: SourceFile[]
  /** True if the sections are written from the files themselves, without notes on parts. */
  isOneRequest: boolean
  files: ShownFile[]
  estimate: Estimate
}

export function sizeFiles({ facts, model }: SummaryContext): SizedFile[] {
  return facts.files.map((file) => ({
    path: file.path,
    tokens: model.estimateTokens(fileBlock(shownFile(file))),
    file,
  }))
}

export function planFresh(context: SummaryContext, sized: readonly SizedFile[]): FreshPlan {
  const { sizes, budget } = context
  const { chosen, left } = chooseFiles(sized, sizes, budget.fits)
  if (chosen.length === 0) throw limitsTooLow(context)
  const isOneRequest = chosen.reduce((sum, { tokens }) => sum + tokens, 0) <= sizes.oneCall
  return {
    chosen,
    left: left.map(({ file }) => file),
    isOneRequest,
    files: chosen.map(({ file }) => shownFile(file)),
    estimate: isOneRequest ? estimateFresh(chosen, sizes) : withoutKnown(context, chosen),
  }
}

/** Parts that an earlier run or attempt described are not paid for again. */
function withoutKnown({ asker, sizes, queue }: SummaryContext, chosen: readonly SizedFile[]): Estimate {
  const all = estimateFresh(chosen, sizes)
  const known = planParts(chosen, sizes)
    .map((files) => partMessages(files.map(shownFile)))
    .filter((messages) => asker.isKnown(messages))
  return {
    calls: Math.max(1, all.calls - known.length),
    input: Math.max(overhead, all.input - known.reduce((sum, messages) => sum + queue.size(messages), 0)),
    output: Math.max(sizes.summary.output, all.output - known.length * (sizes.part.output + sizes.thinking)),
  }
}

/** Reserves budget for the sections before the parts are written: parts without sections would be wasted money. */
export function reserveForSections(context: SummaryContext, plan: FreshPlan): Reservation {
  const { budget, sizes } = context
  const parts = plan.isOneRequest ? 0 : planParts(plan.chosen, sizes).length
  const expected = Math.min(sizes.summary.input, 2 * overhead + parts * sizes.part.output)
  const output = sizes.summary.reply
  for (const input of [expected, leastInput]) {
    const hold = budget.reserve({ input, output })
    if (hold) return hold
  }
  throw limitsTooLow(context)
}

/** The least input that the sections need. */
const leastInput = overhead * 2

/** Refuses before a sandbox is paid for: a context that is too small, limits that fit no summary, a cost limit without a price. */
export function refuseImpossibleLimits({ model, limits }: Pick<SummaryContext, 'model' | 'limits'>): void {
  const { summary } = requestSizesFor(model)
  const { fits } = createTokenBudget(limits, model.name)
  if (!fits({ input: leastInput, output: summary.reply })) throw limitsTooLow({ limits })
}

export function limitsTooLow({ limits }: Pick<SummaryContext, 'limits'>): HandoffError {
  const money = limits.maxCost === undefined ? '' : ` and ${limits.maxCost} US dollars`
  return new HandoffError(
    'budget',
    `The limits of ${limits.inputTokens} input tokens${money} do not allow a summary of this repository, however short.`,
    {
      next: 'Raise HANDOFF_MAX_INPUT_TOKENS or HANDOFF_MAX_COST.',
    },
  )
}

/** Depends on the missing files only, so that an unchanged summary stays byte-identical. */
export function partialReason(left: readonly string[], total: number): string | undefined {
  if (left.length === 0) return undefined
  const named = left.slice(0, 4).map(quote).join(', ')
  const more = left.length > 4 ? ` and ${left.length - 4} more` : ''
  return `A limit on tokens or money, or a reply without text, left ${left.length} of ${total} chosen files undescribed: ${named}${more}.`
}
