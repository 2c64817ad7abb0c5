// Decides how a summary is written: unchanged, carried over from an earlier commit, or anew. Estimates what it costs.

import { HandoffError } from '../../domain/errors.js'
import { fileBlock } from '../../domain/prompt-blocks.js'
import { quote } from '../../domain/run.js'
import { carryOver } from '../../domain/summary/carry-over.js'
import { pathIndexFor } from '../../domain/summary/commit-facts.js'
import { type CommitDiff, diffCommits, isUnchanged } from '../../domain/summary/diff-commits.js'
import { chooseFiles, type Estimate, estimateFresh } from '../../domain/summary/estimate-cost.js'
import type { PathIndex } from '../../domain/summary/path-index.js'
import { insertPlaceholders } from '../../domain/summary/placeholders.js'
import { expectedPartTokens, overhead, requestSizesFor } from '../../domain/summary/request-sizes.js'
import type { CachedFile, SummaryCache } from '../../domain/summary/summary-cache.js'
import { parseSummary, type Sections } from '../../domain/summary/summary-document.js'
import { childrenOf, type Draft, newDraft, type SizedFile, shownFile } from '../../domain/summary/summary-draft.js'
import { partMessages, promptVersion, summaryMessages } from '../../domain/summary/summary-prompt.js'
import { createTokenBudget, type Reservation } from '../../domain/summary/token-budget.js'
import { sha256 } from '../../store/run-store.js'
import type { SummaryContext } from './types.js'
import { finishSections } from './write-sections.js'

export interface SummaryPlan {
  sized: SizedFile[]
  /** Absent if the model is not needed. */
  draft?: Draft
  /** The earlier summary, if it stays unchanged. */
  kept?: PreviousSummary & { files: CachedFile[] }
  /** The paths that the earlier commit had. */
  before: string[]
}

interface PreviousSummary {
  cache: SummaryCache
  sections: Sections
  summary: string
  changes: CommitDiff
}

/** Below this share of unchanged described files nothing is reused: the earlier commit is too different. */
const enoughOverlap = 0.5

export async function planSummary(context: SummaryContext): Promise<SummaryPlan> {
  const earlier = readPrevious(context)
  const before = earlier?.cache.files.map((file) => file.path) ?? []
  const sized = await sizeFiles(context)
  if (earlier && staysAsIs(context, earlier)) {
    return { sized, before, kept: { ...earlier, files: sameFiles(earlier.changes) } }
  }
  if (sized.length === 0) return { sized, before: [] }
  if (earlier && isWorthCarrying(context, earlier, sized)) {
    const tokens = new Map(sized.map((item) => [item.path, item.tokens]))
    const tokensOf = (path: string) => tokens.get(path) ?? 0
    const { facts, sizes } = context
    const draft = carryOver({ ...earlier, facts, sizes, tokensOf, fillGaps: fillsGaps(context, earlier) })
    return { sized, before, draft: byRank(draft) }
  }
  const { chosen, left } = chooseFiles(sized, context.sizes, context.budget.fits)
  if (chosen.length === 0) throw limitsTooLow(context)
  const files = left.map((item) => item.file)
  return { sized, before: [], draft: byRank(newDraft(chosen, files, context.sizes, sha256)) }
}

/** The most central parts first, so that a limit cuts the least important ones. */
function byRank(draft: Draft): Draft {
  const rank = (work: Draft['work'][number]) => Math.min(...work.files.map((file) => file.rank))
  draft.work.sort((a, b) => rank(a) - rank(b) || a.part.id - b.part.id)
  return draft
}

async function sizeFiles({ facts, model }: SummaryContext): Promise<SizedFile[]> {
  const sized: SizedFile[] = []
  for (const file of facts.files) {
    sized.push({ path: file.path, tokens: model.estimateTokens(fileBlock(shownFile(file))), file })
  }
  return sized
}

// ── an earlier run ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function readPrevious({ previous, facts, model, emit }: SummaryContext): PreviousSummary | undefined {
  if (!previous) return undefined
  const { cache, summary } = previous
  const sections = parseSummary(summary) ?? cache.summary?.sections
  if (cache.model !== model.name || cache.prompts !== promptVersion || !sections) {
    emit({
      type: 'notice',
      text: 'The earlier run was written by another model or under other instructions; everything is described anew.',
    })
    return undefined
  }
  return { cache, summary, sections, changes: diffCommits(cache, { ...facts }, sha256) }
}

function fillsGaps({ limits }: SummaryContext, { cache }: PreviousSummary): boolean {
  return limits.inputTokens > cache.inputTokens && cache.files.some((file) => file.leftOut)
}

/** No chosen file changed, and every path in the text still exists: a skipped file may be named and be gone. */
function staysAsIs(context: SummaryContext, earlier: PreviousSummary): boolean {
  if (!isUnchanged(earlier.changes) || fillsGaps(context, earlier)) return false
  const { sections } = finishSections(earlier.sections, pathIndexFor(context.facts, earlier.cache.files), context.facts)
  return sections.every((text, index) => text === earlier.sections[index])
}

function sameFiles(changes: CommitDiff): CachedFile[] {
  return [...changes.kept.values(), ...changes.unseen].sort((a, b) => (a.path < b.path ? -1 : 1))
}

function isWorthCarrying(context: SummaryContext, { changes, cache }: PreviousSummary, sized: SizedFile[]): boolean {
  if (changes.overlap < enoughOverlap) {
    context.emit({
      type: 'notice',
      text: 'The earlier run has too little in common with this commit; everything is described anew.',
    })
    return false
  }
  const total = sized.reduce((sum, item) => sum + item.tokens, 0)
  // A repository that no longer fits into one request gets parts; one that shrank loses them.
  return cache.parts.length === 0 ? total <= context.sizes.oneCall : total > context.sizes.oneCall / 2
}

// ── estimates ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export async function estimateDraft(
  context: SummaryContext,
  draft: Draft,
  pathIndex: PathIndex,
  isPaid: (key: string) => boolean,
): Promise<Estimate> {
  const work = draft.work.filter(({ part }) => !isPaid(part.key))
  if (draft.fresh && work.length === draft.work.length) return estimateFresh(draft.chosen, context.sizes)
  const changes = work.length + draft.direct.length + draft.gone.length > 0
  const estimate: Estimate = { calls: 0, input: 0, output: 0 }
  const add = (input: number, output: number) => {
    estimate.calls++
    estimate.input += input
    estimate.output += output
  }
  for (const { part, files, change } of work) {
    const messages = change
      ? partMessages({
          files: change.files,
          earlier: insertPlaceholders(part.text, draft.touched.paths, pathIndex).text,
          news: change,
        })
      : partMessages({ files })
    add(context.queue.size(messages), expectedPartTokens + context.sizes.thinking)
  }
  const above = new Set(work.flatMap(({ part }) => ancestorsOf(draft, part.parent)))
  for (const _ of above) add(overhead + 2 * expectedPartTokens, expectedPartTokens + context.sizes.thinking)
  if (changes || draft.fresh)
    add(await sectionsInput(context, draft), context.sizes.summary.output + context.sizes.thinking)
  return estimate
}

function ancestorsOf(draft: Draft, parent: number | undefined): number[] {
  return parent === undefined ? [] : [parent, ...ancestorsOf(draft, draft.parts.get(parent)?.parent)]
}

/** Upper bound of the input tokens of the last request. */
async function sectionsInput(context: SummaryContext, draft: Draft): Promise<number> {
  const { sizes, queue, facts } = context
  const dirty = new Set(draft.work.map(({ part }) => [part.id, ...ancestorsOf(draft, part.parent)].at(-1)))
  const parts = draft.fresh ? childrenOf(draft, undefined).length : dirty.size
  const known = queue.size(
    summaryMessages({
      tree: draft.fresh ? facts.tree : [],
      parts: [],
      files: draft.direct,
      ...(draft.sections ? { earlier: { sections: draft.sections, shown: [0, 1, 2, 3] } } : {}),
    }),
  )
  return Math.min(sizes.summary.input, known + parts * sizes.part.output)
}

/** Reserves budget for the sections before the parts are written: parts without sections would be wasted money. */
export async function reserveForSections(context: SummaryContext, draft: Draft): Promise<Reservation> {
  const { budget, sizes } = context
  const output = sizes.summary.reply
  for (const input of [await sectionsInput(context, draft), leastInput]) {
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

function limitsTooLow({ limits }: Pick<SummaryContext, 'limits'>): HandoffError {
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
export function partialReason(files: readonly CachedFile[]): string | undefined {
  const left = files.filter((file) => file.leftOut).map((file) => file.path)
  if (left.length === 0) return undefined
  const named = left.slice(0, 4).map(quote).join(', ')
  const more = left.length > 4 ? ` and ${left.length - 4} more` : ''
  return `A limit on tokens or money, or a reply without text, left ${left.length} of ${files.length} chosen files undescribed: ${named}${more}.`
}
