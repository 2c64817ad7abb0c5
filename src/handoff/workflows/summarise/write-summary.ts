// Writes the summary of a survey: keeps what an earlier summary says of unchanged lines, and stays within the limits.
//
// A push that takes no statement's lines away and brings nothing new keeps the earlier summary byte for byte and sends no request.

import type { RunEvent } from '../../domain/run-events.js'
import { commitFacts } from '../../domain/summary/commit-facts.js'
import { compareTables } from '../../domain/summary/compare-tables.js'
import { type Estimate, estimateFresh } from '../../domain/summary/estimate-cost.js'
import type { Note } from '../../domain/summary/notes.js'
import { noCounts, type StatementCounts } from '../../domain/summary/parse-statements.js'
import { requestSizesFor } from '../../domain/summary/request-sizes.js'
import type { SizedFile } from '../../domain/summary/source-files.js'
import { promptVersion } from '../../domain/summary/summary-prompt.js'
import {
  type DirectoryWords,
  headings,
  type Section,
  type SummaryRecord,
  statementsOf,
  summaryRecordLimits,
} from '../../domain/summary/summary-record.js'
import { createTokenBudget } from '../../domain/summary/token-budget.js'
import type { Cost, Usage } from '../../domain/usage.js'
import { uncoveredDirectories, withFallback } from './finish-sections.js'
import { createModelQueue } from './model-queue.js'
import { limitsTooLow, partialReason, planFresh, reserveForSections, sizeFiles } from './plan-summary.js'
import { createAsker } from './reuse-replies.js'
import type { SummaryContext, SummaryInput } from './types.js'
import { isMostlyLost, planUpdate, planUsage, type UpdatePlan, updateSections } from './update-summary.js'
import { writeNotes } from './write-notes.js'
import { writeSections } from './write-sections.js'

export interface WrittenSummary {
  record: SummaryRecord
  /** The earlier `code-summary.md`, if nothing of it changed. It is sealed as it is. */
  unchanged?: string
  notes: Note[]
  counts: StatementCounts
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

type Written = Pick<WrittenSummary, 'record' | 'unchanged' | 'partial'>

export async function writeSummary(input: SummaryInput): Promise<WrittenSummary> {
  const notices: string[] = []
  const context = await createContext(input, notices)
  const sized = sizeFiles(context)
  const plan = planFromPrevious(context)
  try {
    const written = plan ? await writeUpdate(context, plan) : await writeFresh(context, sized)
    return { ...written, ...spent(context, sized, plan !== undefined), notes: context.asker.notes(), notices }
  } finally {
    await context.asker.finish()
  }
}

async function createContext(input: SummaryInput, notices: string[]): Promise<SummaryContext> {
  const { checkpoint, previous, model, limits, signal, ...rest } = input
  const emit = (event: RunEvent) => {
    if (event.type === 'notice') notices.push(event.text)
    input.emit(event)
  }
  const notice = (text: string) => emit({ type: 'notice', text })
  const budget = createTokenBudget(limits, model.name)
  const queue = createModelQueue(model, budget, limits, emit, signal)
  const earlier = previous?.notes ?? new Map()
  return {
    ...rest,
    ...(previous ? { previous } : {}),
    model,
    limits,
    signal,
    emit,
    notice,
    budget,
    queue,
    facts: commitFacts(
      input.survey,
      input.table,
      previous?.table.files.map(({ path }) => path),
    ),
    sizes: requestSizesFor(model),
    asker: await createAsker({ model: model.name, queue, earlier, checkpoint, notice }),
    counts: noCounts(),
  }
}

// ── from an earlier summary ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** Below this share of known content nothing is kept: the earlier commit is too different. */
const enoughOverlap = 0.5

/** Undefined if the summary is written anew. */
function planFromPrevious(context: SummaryContext): UpdatePlan | undefined {
  const { previous, table, model, limits, notice, anew } = context
  if (!previous || !table || anew) return undefined
  const { record } = previous
  if (record.model !== model.name || record.prompts !== promptVersion) {
    notice('The earlier run was written by another model or under other instructions; everything is described anew.')
    return undefined
  }
  // A higher limit may complete a summary that an earlier limit cut.
  if (previous.partial !== undefined && limits.inputTokens > record.inputTokens) return undefined
  const changes = compareTables(previous.table, table)
  const plan = planUpdate(context, previous, changes)
  if (changes.overlap >= enoughOverlap && !isMostlyLost(plan)) return plan
  notice('The earlier run has too little in common with this commit; everything is described anew.')
  return undefined
}

async function writeUpdate(context: SummaryContext, plan: UpdatePlan): Promise<Written> {
  const { previous, kept } = plan
  announce(context, planUsage(context, plan))
  const sections = withFallback(await updateSections(context, plan), context.facts)
  const words = presentWords(context, previous.record.words)
  const record = createRecord(context, previous.record.inputTokens, sections, words)
  const partial = previous.partial === undefined ? {} : { partial: previous.partial }
  const isSame = kept.unchanged && addsNothing(record, previous.record)
  return isSame ? { record: previous.record, unchanged: previous.summary, ...partial } : { record, ...partial }
}

/** A count is not enough: a statement on a new file may stand in place of one that said nothing. Blobs may differ around equal lines. */
function addsNothing(record: SummaryRecord, before: SummaryRecord): boolean {
  const content = (one: SummaryRecord) =>
    JSON.stringify([
      statementsOf(one).map(({ text, citations }) => [text, citations.map(({ path, from, to }) => [path, from, to])]),
      one.directories,
      one.words,
    ])
  return content(record) === content(before)
}

const presentWords = ({ facts }: SummaryContext, words: readonly DirectoryWords[]) =>
  words.filter(({ directory }) => directory === '' || facts.pathIndex.exists(directory))

// ── from nothing ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const nothingRead = 'The commit has no text that could be read; the table below says what it holds.'

async function writeFresh(context: SummaryContext, sized: SizedFile[]): Promise<Written> {
  const { facts, limits, queue } = context
  if (sized.length === 0) {
    announce(context, { calls: 0, input: 0, output: 0 })
    const sections = headings.map((heading) => ({ heading, statements: [{ text: nothingRead, citations: [] }] }))
    return { record: createRecord(context, limits.inputTokens, sections, []) }
  }
  const plan = planFresh(context, sized)
  announce(context, plan.estimate)
  const hold = reserveForSections(context, plan)
  const written = plan.isOneRequest ? { notes: [], leaves: [], left: [] } : await writeNotes(context, plan.chosen)
  hold.settle()
  const files = plan.isOneRequest ? plan.files : []
  const found = await writeSections(context, { notes: written.notes, files })
  const emptyReply = queue.emptyReplyError()
  if (emptyReply) throw emptyReply
  if (!found && written.leaves.length === 0) throw limitsTooLow(context)
  const sections = found?.sections ?? headings.map((heading) => ({ heading, statements: [] }))
  const words = [
    ...written.leaves.map(({ directory, words: list }) => ({ directory, words: [...list] })),
    ...(found?.words ?? []),
  ]
  const left = [...plan.left, ...written.left].map(({ path }) => path)
  const partial = partialReason(left, sized.length)
  return {
    record: createRecord(
      context,
      limits.inputTokens,
      withFallback(sections, facts),
      presentWords(context, mergeWords(words)),
    ),
    ...(partial === undefined ? {} : { partial }),
  }
}

/** One entry for each directory. */
function mergeWords(words: readonly DirectoryWords[]): DirectoryWords[] {
  return [...Map.groupBy(words, ({ directory }) => directory)]
    .map(([directory, same]) => ({
      directory,
      words: [...new Set(same.flatMap((one) => one.words))].slice(0, summaryRecordLimits.words),
    }))
    .filter((one) => one.words.length > 0)
    .sort((a, b) => (a.directory < b.directory ? -1 : 1))
    .slice(0, summaryRecordLimits.directories)
}

function createRecord(
  { facts, model }: SummaryContext,
  inputTokens: number,
  sections: Section[],
  words: DirectoryWords[],
): SummaryRecord {
  const directories = uncoveredDirectories(sections, facts.topLevel).slice(0, summaryRecordLimits.directories)
  return {
    version: 1,
    commit: facts.commit,
    model: model.name,
    prompts: promptVersion,
    inputTokens,
    sections,
    directories,
    words,
  }
}

// ── cost ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function announce({ budget, emit }: SummaryContext, estimate: Estimate): void {
  const cost = budget.cost(estimate)
  const { calls, input: inputTokens } = estimate
  emit({ type: 'model-estimate', calls, inputTokens, ...(cost ? { cost: cost.amount } : {}) })
}

/** What was used, and how much less that is than a full run from nothing. */
function spent(context: SummaryContext, sized: SizedFile[], isUpdate: boolean) {
  const { asker, budget, sizes, counts } = context
  const { usage, cost, calls } = budget.used()
  const full = sized.length === 0 ? { input: 0, output: 0 } : estimateFresh(sized, sizes)
  const input = Math.max(0, full.input - usage.inputTokens)
  const savedCost = budget.cost({ input, output: Math.max(0, full.output - usage.outputTokens) })
  const reused = isUpdate || asker.reused() > 0
  const share = full.input === 0 ? 0 : 1 - usage.inputTokens / full.input
  return {
    usage,
    calls,
    counts,
    ...(cost ? { cost } : {}),
    reusedPercent: reused ? Math.max(0, Math.round(share * 1_000) / 10) : 0,
    saved: reused ? { inputTokens: input, ...(savedCost ? { cost: savedCost } : {}) } : { inputTokens: 0 },
  }
}
