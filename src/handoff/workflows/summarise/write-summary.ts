// Survey → Summary, on the host: what is asked of the model, what is reused from an earlier run, and what it may cost.
//
// A source change is a change of what was chosen for the model: a file that is described, at another blob or path, or a newly chosen one. A
// push without any keeps the earlier file byte for byte and asks for nothing. With one, only the parts it touches are asked for, then what
// joins them, then the sections it can touch. Everything else is carried over, renamed and checked here, for nothing.

import type { Cost, Usage } from '../../domain/answer.js'
import { HandoffError } from '../../domain/errors.js'
import type { RunEvent } from '../../domain/run-events.js'
import { commitFacts, worldFor } from '../../domain/summary/commit-facts.js'
import { estimateFresh } from '../../domain/summary/estimate-cost.js'
import { sizesFor } from '../../domain/summary/request-sizes.js'
import { type Prose, pruneProse } from '../../domain/summary/summary-cache.js'
import type { Sections, Verification } from '../../domain/summary/summary-document.js'
import { type Draft, proseOf, setKeys, summaryKey } from '../../domain/summary/summary-draft.js'
import { promptVersion } from '../../domain/summary/summary-prompt.js'
import { startSpending } from '../../domain/summary/token-budget.js'
import { sha256 } from '../../store/run-store.js'
import { startKeeping } from './checkpoint.js'
import { modelCalls } from './model-queue.js'
import { estimateDraft, holdForSections, type Planned, partialReason, planSummary } from './plan-summary.js'
import type { Job, SummaryOrder } from './types.js'
import { writeJoined, writeLeaf } from './write-parts.js'
import { finished, type SectionWriting, writeSections } from './write-sections.js'

export type { Checkpoint } from './checkpoint.js'
export type { SummaryOrder } from './types.js'

export interface WrittenSummary {
  sections: Sections
  /** Set when nothing of the source changed: the earlier file, to be sealed as it is. */
  unchanged?: string
  prose: Prose
  claims: Verification
  usage: Usage
  cost?: Cost
  calls: number
  /** How much of what a full run reads was not read again. */
  reusedPercent: number
  saved: { inputTokens: number; cost?: Cost }
  /** Why not everything that was chosen is described. */
  partial?: string
  /** What a reader of the summary should know of how it was written. */
  notices: string[]
}

type Written = Omit<WrittenSummary, 'notices'>

export async function writeSummary(given: SummaryOrder): Promise<WrittenSummary> {
  const notices: string[] = []
  const emit = (event: RunEvent) => {
    if (event.type === 'notice') notices.push(event.text)
    given.emit(event)
  }
  const order = { ...given, emit }
  const { model, limits, signal } = order
  const spending = startSpending(limits, model.name)
  const job: Job = {
    ...order,
    facts: commitFacts(order.survey, order.table),
    sizes: sizesFor(model),
    spending,
    calls: modelCalls(model, spending, limits, emit, signal),
  }
  const [planned, paid] = await Promise.all([planSummary(job), paidBefore(job)])
  const written = await (planned.draft ? write(job, planned, planned.draft, paid) : withoutModel(job, planned))
  return { ...written, notices }
}

const headOf = ({ facts, model, limits }: Job) => ({
  commit: facts.commit,
  model: model.name,
  prompts: promptVersion,
  inputTokens: limits.inputTokens,
  trees: Object.fromEntries(facts.trees),
})

/** Nothing changed, or there is nothing to read. */
function withoutModel(job: Job, planned: Planned): Written {
  const { facts, emit } = job
  emit({ type: 'model-estimate', calls: 0, inputTokens: 0 })
  const { kept } = planned
  const nothing = 'The commit has no text that could be read; the table below says what it holds.'
  const world = worldFor(facts, kept?.prose.files ?? [])
  const { sections, claims } = finished(kept?.sections ?? [nothing, nothing, nothing, nothing], world, facts)
  const prose: Prose = kept
    ? { ...kept.prose, ...headOf(job), inputTokens: kept.prose.inputTokens, files: kept.files }
    : { version: 1, ...headOf(job), files: [], parts: [], summary: { key: sha256(facts.commit), sections } }
  const full = estimateFresh(planned.sized, job.sizes)
  return {
    ...result(job, sections, claims, pruneProse(prose)),
    ...(kept ? { unchanged: kept.summary } : {}),
    reusedPercent: kept ? 100 : 0,
    saved: kept ? savedOf(job, full) : { inputTokens: 0 },
  }
}

async function write(job: Job, planned: Planned, draft: Draft, paid: Paid): Promise<Written> {
  const written = { model: job.model.name, prompts: promptVersion }
  setKeys(draft, written, sha256)
  const hold = await holdForSections(job, draft)
  const world = worldFor(job.facts, draft.files.values(), planned.before)
  const estimate = await estimateDraft(job, draft, world, (key) => paid.texts.has(key))
  const cost = job.spending.cost(estimate)
  const { calls, input: inputTokens } = estimate
  job.emit({ type: 'model-estimate', calls, inputTokens, ...(cost ? { cost: cost.amount } : {}) })

  let summary: Prose['summary']
  const done = new Set<number>()
  const notice = (text: string) => job.emit({ type: 'notice', text })
  const keeping = startKeeping(job.checkpoint, () => snapshot(job, draft, done, summary), notice)
  const keep = keeping.soon
  const writing: SectionWriting = { ...job, draft, world, paid: paid.texts, done, dirty: new Map(), keep, notice }
  try {
    await job.calls.all(draft.work, (work) => writeLeaf(writing, work))
    await writeJoined(writing)
    hold.settle()
    const key = summaryKey(draft, written, sha256)
    const raw = paid.summary?.key === key ? paid.summary.sections : await writeSections(writing)
    const silence = job.calls.silence()
    if (silence) throw silence
    const { sections, claims } = finished(raw ?? draft.sections ?? ['', '', '', ''], world, job.facts)
    draft.sections = sections
    summary = { key, sections }
    keeping.soon()
    setKeys(draft, written, sha256)
    const prose = pruneProse(proseOf(draft, headOf(job), key))
    return { ...result(job, sections, claims, prose), ...savings(job, planned, draft, paid.texts.size > 0) }
  } finally {
    await keeping.finish()
  }
}

function result(job: Job, sections: Sections, claims: Verification, prose: Prose) {
  const { usage, cost, calls } = job.spending.used()
  const partial = partialReason(prose.files)
  return {
    sections,
    prose,
    claims,
    usage,
    calls,
    ...(cost ? { cost } : {}),
    ...(partial === undefined ? {} : { partial }),
  }
}

function savings(
  job: Job,
  planned: Planned,
  draft: Draft,
  resumed: boolean,
): Pick<WrittenSummary, 'reusedPercent' | 'saved'> {
  if (draft.fresh && !resumed) return { reusedPercent: 0, saved: { inputTokens: 0 } }
  const full = estimateFresh(planned.sized, job.sizes)
  const share = 1 - job.spending.used().usage.inputTokens / full.input
  return { reusedPercent: Math.max(0, Math.round(share * 1_000) / 10), saved: savedOf(job, full) }
}

function savedOf(job: Job, full: { input: number; output: number }): WrittenSummary['saved'] {
  const { usage } = job.spending.used()
  const input = Math.max(0, full.input - usage.inputTokens)
  const cost = job.spending.cost({ input, output: Math.max(0, full.output - usage.outputTokens) })
  return { inputTokens: input, ...(cost ? { cost } : {}) }
}

interface Paid {
  texts: Map<string, string>
  summary?: Prose['summary']
}

/** What an earlier attempt at this commit got and paid for. */
async function paidBefore(job: Job): Promise<Paid> {
  const found = await job.checkpoint?.load().catch((error: unknown) => {
    if (!(error instanceof HandoffError)) throw error
    job.emit({ type: 'notice', text: `What an earlier attempt kept could not be read: ${error.message}` })
    return undefined
  })
  if (!found || found.model !== job.model.name || found.prompts !== promptVersion) return { texts: new Map() }
  return { texts: new Map(found.parts.map((part) => [part.key, part.text])), summary: found.summary }
}

/** Only what is finished: a part that waits for its change has the key of the new text and the words of the old. */
function snapshot(job: Job, draft: Draft, done: ReadonlySet<number>, summary: Prose['summary']): Prose {
  const prose = proseOf(draft, headOf(job))
  return pruneProse({
    ...prose,
    files: prose.files.filter((file) => file.part !== undefined && done.has(file.part)),
    parts: prose.parts.filter((part) => done.has(part.id)),
    ...(summary ? { summary } : {}),
  })
}
