// Writes the summary of a survey: plans the model requests, reuses texts of an earlier run, and stays within the limits.
//
// A push that changes no chosen file keeps the earlier summary byte for byte and sends no request. Otherwise the model rewrites the parts with
// changed files, then the parts that combine them, then the affected sections. All other texts are carried over without a request.

import type { Cost, Usage } from '../../domain/answer.js'
import { HandoffError } from '../../domain/errors.js'
import type { RunEvent } from '../../domain/run-events.js'
import { commitFacts, pathIndexFor } from '../../domain/summary/commit-facts.js'
import { estimateFresh } from '../../domain/summary/estimate-cost.js'
import { requestSizesFor } from '../../domain/summary/request-sizes.js'
import { pruneSummaryCache, type SummaryCache } from '../../domain/summary/summary-cache.js'
import type { Sections, Verification } from '../../domain/summary/summary-document.js'
import { type Draft, draftToCache, setKeys, summaryKey } from '../../domain/summary/summary-draft.js'
import { promptVersion } from '../../domain/summary/summary-prompt.js'
import { createTokenBudget } from '../../domain/summary/token-budget.js'
import { sha256 } from '../../store/run-store.js'
import { startCheckpointWriter } from './checkpoint.js'
import { createModelQueue } from './model-queue.js'
import { estimateDraft, partialReason, planSummary, reserveForSections, type SummaryPlan } from './plan-summary.js'
import type { SummaryContext, SummaryInput } from './types.js'
import { writeJoined, writeLeaf } from './write-parts.js'
import { finishSections, type SectionWriting, writeSections } from './write-sections.js'

export interface WrittenSummary {
  sections: Sections
  /** The earlier `code-summary.md`, if no chosen file changed. It is sealed as it is. */
  unchanged?: string
  cache: SummaryCache
  claims: Verification
  usage: Usage
  cost?: Cost
  calls: number
  /** The share of a full run's input tokens that was not sent, in percent. */
  reusedPercent: number
  saved: { inputTokens: number; cost?: Cost }
  /** Why some chosen files are not described. */
  partial?: string
  /** Remarks for readers about how the summary was written. */
  notices: string[]
}

type Written = Omit<WrittenSummary, 'notices'>

export async function writeSummary(given: SummaryInput): Promise<WrittenSummary> {
  const notices: string[] = []
  const emit = (event: RunEvent) => {
    if (event.type === 'notice') notices.push(event.text)
    given.emit(event)
  }
  const order = { ...given, emit }
  const { model, limits, signal } = order
  const budget = createTokenBudget(limits, model.name)
  const context: SummaryContext = {
    ...order,
    facts: commitFacts(order.survey, order.table),
    sizes: requestSizesFor(model),
    budget,
    queue: createModelQueue(model, budget, limits, emit, signal),
  }
  const [planned, paid] = await Promise.all([planSummary(context), loadCheckpoint(context)])
  const written = await (planned.draft
    ? write(context, planned, planned.draft, paid)
    : summaryWithoutModel(context, planned))
  return { ...written, notices }
}

const cacheHeader = ({ facts, model, limits }: SummaryContext) => ({
  commit: facts.commit,
  model: model.name,
  prompts: promptVersion,
  inputTokens: limits.inputTokens,
  trees: Object.fromEntries(facts.trees),
})

/** No chosen file changed, or there are no chosen files. */
function summaryWithoutModel(context: SummaryContext, planned: SummaryPlan): Written {
  const { facts, emit } = context
  emit({ type: 'model-estimate', calls: 0, inputTokens: 0 })
  const { kept } = planned
  const nothing = 'The commit has no text that could be read; the table below says what it holds.'
  const pathIndex = pathIndexFor(facts, kept?.cache.files ?? [])
  const { sections, claims } = finishSections(kept?.sections ?? [nothing, nothing, nothing, nothing], pathIndex, facts)
  const cache: SummaryCache = kept
    ? { ...kept.cache, ...cacheHeader(context), inputTokens: kept.cache.inputTokens, files: kept.files }
    : { version: 1, ...cacheHeader(context), files: [], parts: [], summary: { key: sha256(facts.commit), sections } }
  const full = estimateFresh(planned.sized, context.sizes)
  return {
    ...result(context, sections, claims, pruneSummaryCache(cache)),
    ...(kept ? { unchanged: kept.summary } : {}),
    reusedPercent: kept ? 100 : 0,
    saved: kept ? savedOf(context, full) : { inputTokens: 0 },
  }
}

async function write(
  context: SummaryContext,
  planned: SummaryPlan,
  draft: Draft,
  paid: CheckpointTexts,
): Promise<Written> {
  const written = { model: context.model.name, prompts: promptVersion }
  setKeys(draft, written, sha256)
  const hold = await reserveForSections(context, draft)
  const pathIndex = pathIndexFor(context.facts, draft.files.values(), planned.before)
  const estimate = await estimateDraft(context, draft, pathIndex, (key) => paid.texts.has(key))
  const cost = context.budget.cost(estimate)
  const { calls, input: inputTokens } = estimate
  context.emit({ type: 'model-estimate', calls, inputTokens, ...(cost ? { cost: cost.amount } : {}) })

  let summary: SummaryCache['summary']
  const done = new Set<number>()
  const notice = (text: string) => context.emit({ type: 'notice', text })
  const checkpointWriter = startCheckpointWriter(
    context.checkpoint,
    () => snapshot(context, draft, done, summary),
    notice,
  )
  const save = checkpointWriter.requestSave
  const writing: SectionWriting = {
    ...context,
    draft,
    pathIndex,
    paid: paid.texts,
    done,
    dirty: new Map(),
    save,
    notice,
  }
  try {
    await context.queue.all(draft.work, (work) => writeLeaf(writing, work))
    await writeJoined(writing)
    hold.settle()
    const key = summaryKey(draft, written, sha256)
    const raw = paid.summary?.key === key ? paid.summary.sections : await writeSections(writing)
    const emptyReply = context.queue.emptyReplyError()
    if (emptyReply) throw emptyReply
    const { sections, claims } = finishSections(raw ?? draft.sections ?? ['', '', '', ''], pathIndex, context.facts)
    draft.sections = sections
    summary = { key, sections }
    checkpointWriter.requestSave()
    setKeys(draft, written, sha256)
    const cache = pruneSummaryCache(draftToCache(draft, cacheHeader(context), key))
    return { ...result(context, sections, claims, cache), ...savings(context, planned, draft, paid.texts.size > 0) }
  } finally {
    await checkpointWriter.finish()
  }
}

function result(context: SummaryContext, sections: Sections, claims: Verification, cache: SummaryCache) {
  const { usage, cost, calls } = context.budget.used()
  const partial = partialReason(cache.files)
  return {
    sections,
    cache,
    claims,
    usage,
    calls,
    ...(cost ? { cost } : {}),
    ...(partial === undefined ? {} : { partial }),
  }
}

function savings(
  context: SummaryContext,
  planned: SummaryPlan,
  draft: Draft,
  resumed: boolean,
): Pick<WrittenSummary, 'reusedPercent' | 'saved'> {
  if (draft.fresh && !resumed) return { reusedPercent: 0, saved: { inputTokens: 0 } }
  const full = estimateFresh(planned.sized, context.sizes)
  const share = 1 - context.budget.used().usage.inputTokens / full.input
  return { reusedPercent: Math.max(0, Math.round(share * 1_000) / 10), saved: savedOf(context, full) }
}

function savedOf(context: SummaryContext, full: { input: number; output: number }): WrittenSummary['saved'] {
  const { usage } = context.budget.used()
  const input = Math.max(0, full.input - usage.inputTokens)
  const cost = context.budget.cost({ input, output: Math.max(0, full.output - usage.outputTokens) })
  return { inputTokens: input, ...(cost ? { cost } : {}) }
}

interface CheckpointTexts {
  texts: Map<string, string>
  summary?: SummaryCache['summary']
}

/** Texts that an earlier attempt at this commit paid for. */
async function loadCheckpoint(context: SummaryContext): Promise<CheckpointTexts> {
  const found = await context.checkpoint?.load().catch((error: unknown) => {
    if (!(error instanceof HandoffError)) throw error
    context.emit({ type: 'notice', text: `The checkpoint of an earlier attempt could not be read: ${error.message}` })
    return undefined
  })
  if (!found || found.model !== context.model.name || found.prompts !== promptVersion) return { texts: new Map() }
  return { texts: new Map(found.parts.map((part) => [part.key, part.text])), summary: found.summary }
}

/** Finished parts only. An unfinished part has the key of its new text but still the old text. */
function snapshot(
  context: SummaryContext,
  draft: Draft,
  done: ReadonlySet<number>,
  summary: SummaryCache['summary'],
): SummaryCache {
  const cache = draftToCache(draft, cacheHeader(context))
  return pruneSummaryCache({
    ...cache,
    files: cache.files.filter((file) => file.part !== undefined && done.has(file.part)),
    parts: cache.parts.filter((part) => done.has(part.id)),
    ...(summary ? { summary } : {}),
  })
}
