// Decides how a summary begins: as it was, carried over from an earlier commit, or from nothing; and what it will take.

import { HandoffError } from '../../domain/errors.js'
import { fileBlock } from '../../domain/prompt-blocks.js'
import { quote } from '../../domain/run.js'
import { carriedDraft } from '../../domain/summary/carry-over.js'
import { worldFor } from '../../domain/summary/commit-facts.js'
import { type Changes, compare, isSame } from '../../domain/summary/diff-commits.js'
import { chooseWithin, type Estimate, estimateFresh } from '../../domain/summary/estimate-cost.js'
import type { World } from '../../domain/summary/path-index.js'
import { abridge } from '../../domain/summary/placeholders.js'
import { expectedProse, overhead, sizesFor } from '../../domain/summary/request-sizes.js'
import type { Prose, ProseFile } from '../../domain/summary/summary-cache.js'
import { readSummaryFile, type Sections } from '../../domain/summary/summary-document.js'
import { childrenOf, type Draft, freshDraft, type SizedFile, shownFile } from '../../domain/summary/summary-draft.js'
import { partMessages, promptVersion, summaryMessages } from '../../domain/summary/summary-prompt.js'
import { type Reservation, startSpending } from '../../domain/summary/token-budget.js'
import { sha256 } from '../../store/run-store.js'
import type { Job } from './types.js'
import { finished } from './write-sections.js'

export interface Planned {
  sized: SizedFile[]
  /** Absent when the model is not needed. */
  draft?: Draft
  /** What stays as it is, entirely. */
  kept?: Earlier & { files: ProseFile[] }
  /** The paths that the earlier commit had. */
  before: string[]
}

interface Earlier {
  prose: Prose
  sections: Sections
  summary: string
  changes: Changes
}

/** Below this share of what was described, an earlier commit is another history, and nothing is built on it. */
const enoughOverlap = 0.5

export async function planSummary(job: Job): Promise<Planned> {
  const earlier = earlierOf(job)
  const before = earlier?.prose.files.map((file) => file.path) ?? []
  const sized = await sizeFiles(job)
  if (earlier && staysAsIs(job, earlier)) {
    return { sized, before, kept: { ...earlier, files: sameFiles(earlier.changes) } }
  }
  if (sized.length === 0) return { sized, before: [] }
  if (earlier && isWorthCarrying(job, earlier, sized)) {
    const tokens = new Map(sized.map((item) => [item.path, item.tokens]))
    const tokensOf = (path: string) => tokens.get(path) ?? 0
    const { facts, sizes } = job
    const draft = carriedDraft({ ...earlier, facts, sizes, tokensOf, fillGaps: fillsGaps(job, earlier) })
    return { sized, before, draft: byRank(draft) }
  }
  const { chosen, left } = chooseWithin(sized, job.sizes, job.spending.fits)
  if (chosen.length === 0) throw tooLittle(job)
  const files = left.map((item) => item.file)
  return { sized, before: [], draft: byRank(freshDraft(chosen, files, job.sizes, sha256)) }
}

/** The most central parts first: if a limit ends the run, it ends with the least. */
function byRank(draft: Draft): Draft {
  const rank = (work: Draft['work'][number]) => Math.min(...work.files.map((file) => file.rank))
  draft.work.sort((a, b) => rank(a) - rank(b) || a.part.id - b.part.id)
  return draft
}

async function sizeFiles({ facts, model }: Job): Promise<SizedFile[]> {
  const sized: SizedFile[] = []
  for (const file of facts.files) {
    sized.push({ path: file.path, tokens: await model.countTokens(fileBlock(shownFile(file))), file })
  }
  return sized
}

// ── an earlier run ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function earlierOf({ previous, facts, model, emit }: Job): Earlier | undefined {
  if (!previous) return undefined
  const { prose, summary } = previous
  const sections = readSummaryFile(summary) ?? prose.summary?.sections
  if (prose.model !== model.name || prose.prompts !== promptVersion || !sections) {
    emit({
      type: 'notice',
      text: 'The earlier run was written by another model or under other instructions; everything is described afresh.',
    })
    return undefined
  }
  return { prose, summary, sections, changes: compare(prose, { ...facts }, sha256) }
}

function fillsGaps({ limits }: Job, { prose }: Earlier): boolean {
  return limits.inputTokens > prose.inputTokens && prose.files.some((file) => file.leftOut)
}

/** No source change, and every word still holds: something that is named may have been skipped, and be gone. */
function staysAsIs(job: Job, earlier: Earlier): boolean {
  if (!isSame(earlier.changes) || fillsGaps(job, earlier)) return false
  const { sections } = finished(earlier.sections, worldFor(job.facts, earlier.prose.files), job.facts)
  return sections.every((text, index) => text === earlier.sections[index])
}

function sameFiles(changes: Changes): ProseFile[] {
  return [...changes.kept.values(), ...changes.unseen].sort((a, b) => (a.path < b.path ? -1 : 1))
}

function isWorthCarrying(job: Job, { changes, prose }: Earlier, sized: SizedFile[]): boolean {
  if (changes.overlap < enoughOverlap) {
    job.emit({
      type: 'notice',
      text: 'The earlier run has too little in common with this commit; everything is described afresh.',
    })
    return false
  }
  const total = sized.reduce((sum, item) => sum + item.tokens, 0)
  // A repository that outgrew one request gets parts; one that shrank to a small one loses them.
  return prose.parts.length === 0 ? total <= job.sizes.oneCall : total > job.sizes.oneCall / 2
}

// ── what it takes ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export async function estimateDraft(
  job: Job,
  draft: Draft,
  world: World,
  isPaid: (key: string) => boolean,
): Promise<Estimate> {
  const work = draft.work.filter(({ part }) => !isPaid(part.key))
  if (draft.fresh && work.length === draft.work.length) return estimateFresh(draft.chosen, job.sizes)
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
          earlier: abridge(part.text, draft.touched.paths, world).text,
          news: change,
        })
      : partMessages({ files })
    add(await job.calls.size(messages), expectedProse + job.sizes.thinking)
  }
  const above = new Set(work.flatMap(({ part }) => ancestorsOf(draft, part.parent)))
  for (const _ of above) add(overhead + 2 * expectedProse, expectedProse + job.sizes.thinking)
  if (changes || draft.fresh) add(await sectionsInput(job, draft), job.sizes.summary.output + job.sizes.thinking)
  return estimate
}

function ancestorsOf(draft: Draft, parent: number | undefined): number[] {
  return parent === undefined ? [] : [parent, ...ancestorsOf(draft, draft.parts.get(parent)?.parent)]
}

/** Tokens that the last request is expected to send at most. */
async function sectionsInput(job: Job, draft: Draft): Promise<number> {
  const { sizes, calls, facts } = job
  const dirty = new Set(draft.work.map(({ part }) => [part.id, ...ancestorsOf(draft, part.parent)].at(-1)))
  const parts = draft.fresh ? childrenOf(draft, undefined).length : dirty.size
  const known = await calls.size(
    summaryMessages({
      tree: draft.fresh ? facts.tree : [],
      parts: [],
      files: draft.direct,
      ...(draft.sections ? { earlier: { sections: draft.sections, shown: [0, 1, 2, 3] } } : {}),
    }),
  )
  return Math.min(sizes.summary.input, known + parts * sizes.part.output)
}

/** Keeps room for the sections while the parts are written: parts that no section tells of are money lost. */
export async function holdForSections(job: Job, draft: Draft): Promise<Reservation> {
  const { spending, sizes } = job
  const output = sizes.summary.reply
  for (const input of [await sectionsInput(job, draft), leastInput]) {
    const hold = spending.reserve({ input, output })
    if (hold) return hold
  }
  throw tooLittle(job)
}

/** What the sections take of the model, however little they are shown. */
const leastInput = overhead * 2

/** What can be known before a machine is paid for: a model that takes too little, limits that no summary fits, money without a price. */
export function refuseImpossible({ model, limits }: Pick<Job, 'model' | 'limits'>): void {
  const { summary } = sizesFor(model)
  const { fits } = startSpending(limits, model.name)
  if (!fits({ input: leastInput, output: summary.reply })) throw tooLittle({ limits })
}

function tooLittle({ limits }: Pick<Job, 'limits'>): HandoffError {
  const money = limits.maxCost === undefined ? '' : ` and ${limits.maxCost} US dollars`
  return new HandoffError(
    'budget',
    `The limits of ${limits.inputTokens} input tokens${money} do not allow a summary of this repository, however short.`,
    {
      next: 'Raise HANDOFF_MAX_INPUT_TOKENS or HANDOFF_MAX_COST.',
    },
  )
}

/** The same words whenever the same files are missing, so that a file that did not change can be kept. */
export function partialReason(files: readonly ProseFile[]): string | undefined {
  const left = files.filter((file) => file.leftOut).map((file) => file.path)
  if (left.length === 0) return undefined
  const named = left.slice(0, 4).map(quote).join(', ')
  const more = left.length > 4 ? ` and ${left.length - 4} more` : ''
  return `A limit on tokens or money, or a reply without words, left ${left.length} of ${files.length} chosen files undescribed: ${named}${more}.`
}
