// Has the model write the four sections, or update the sections that a push affects.

import type { ModelReply } from '../../domain/ports.js'
import { cleanModelText } from '../../domain/summary/clean-model-text.js'
import type { CommitFacts } from '../../domain/summary/commit-facts.js'
import type { PathIndex } from '../../domain/summary/path-index.js'
import { insertPlaceholders, type TextWithPlaceholders } from '../../domain/summary/placeholders.js'
import type { SourceFile } from '../../domain/summary/source-files.js'
import type { CachedPart } from '../../domain/summary/summary-cache.js'
import {
  addMissingTopLevel,
  mapSections,
  parseSections,
  removeAddedTopLevel,
  type Sections,
  type Verification,
  verifyPaths,
} from '../../domain/summary/summary-document.js'
import { childrenOf, shownFile } from '../../domain/summary/summary-draft.js'
import {
  type DescribedPart,
  type Messages,
  type ShownFile,
  summaryMessages,
} from '../../domain/summary/summary-prompt.js'
import { affectedSections, mergeSections } from '../../domain/summary/update-sections.js'
import { changesToReport, fitMessages, shortenParts, type Writing } from './write-parts.js'

export interface SectionWriting extends Writing {
  facts: CommitFacts
}

/** Undefined if the budget had no room or the model wrote nothing. */
export async function writeSections(writing: SectionWriting): Promise<Sections | undefined> {
  const { draft, dirty } = writing
  const tops = childrenOf(draft, undefined).filter((part) => part.text !== '')
  const changed = tops.filter((part) => dirty.has(part.id))
  const touchesNothing = changed.length + draft.direct.length + draft.gone.length === 0
  if (draft.sections && !draft.fresh) {
    if (touchesNothing) return draft.sections
    const few = changed.length <= tops.length / 2 || tops.length < 3
    if (few && (tops.length > 0 || isSmall(writing))) return changeSections(writing, changed)
  }
  return freshSections(writing, tops)
}

/** In a repository without parts a change may be as large as the whole; then the whole is sent again. */
function isSmall({ queue, draft, facts }: SectionWriting): boolean {
  const change = queue.size(summaryMessages({ tree: [], parts: [], files: draft.direct }))
  const whole = queue.size(summaryMessages({ tree: [], parts: [], files: facts.files.map(shownFile) }))
  return change < whole * 0.4
}

async function freshSections(writing: SectionWriting, tops: readonly DescribedPart[]): Promise<Sections | undefined> {
  const { draft, facts } = writing
  const paths = new Set(draft.direct.map((file) => file.path))
  const isDescribed = (file: SourceFile) => draft.parts.size === 0 && !draft.files.get(file.path)?.leftOut
  const files = facts.files.filter(isDescribed)
  // Changed files go last, so that the service's prompt cache matches everything before them.
  const unchanged = draft.fresh ? files : files.filter((file) => !paths.has(file.path))
  const changed = draft.fresh ? [] : files.filter((file) => paths.has(file.path))
  const build = (share: number) =>
    summaryMessages({
      tree: facts.tree,
      parts: shortenParts(tops, share),
      files: shortenFiles(unchanged.map(shownFile), share),
      changedFiles: shortenFiles(changed.map(shownFile), share),
    })
  const first = await askWithin(writing, build)
  if (!first) return undefined
  const parsed = parseSections(first.text)
  if (!first.truncated && parsed.missing.length === 0) return parsed.sections
  // Once more with less data, so that the reply is shorter.
  const second = await askWithin(writing, (share) => build(share * 0.6))
  const again = second && parseSections(second.text)
  return again && again.missing.length <= parsed.missing.length && !second.truncated ? again.sections : parsed.sections
}

async function changeSections(writing: SectionWriting, changed: readonly CachedPart[]): Promise<Sections> {
  const { draft, pathIndex } = writing
  const before = removeAddedTopLevel(draft.sections!)
  const shown = affectedSections(before, draft.touched)
  const briefs = replaceUnaffected(before, writing)
  const sections = mapSections(before, (_, index) => briefs[index]!.text)
  const reply = await askWithin(writing, (share) =>
    summaryMessages({
      tree: [],
      parts: [],
      files: [],
      earlier: { sections, shown },
      changedParts: shortenParts(
        changed.map((part) => changesToReport(writing, part)),
        share,
      ),
      changedFiles: shortenFiles(draft.direct, share),
      news: { gone: draft.gone },
    }),
  )
  return reply && reply.text.trim() !== ''
    ? mergeSections(before, reply.text, shown, briefs, draft.touched, pathIndex)
    : before
}

/** Each section with placeholders. Their numbers are unique across the sections. */
function replaceUnaffected(sections: Sections, { draft, pathIndex }: SectionWriting): TextWithPlaceholders[] {
  const briefs: TextWithPlaceholders[] = []
  let first = 1
  for (const text of sections) {
    const brief = insertPlaceholders(text, draft.touched.paths, pathIndex, first)
    first += brief.held.size
    briefs.push(brief)
  }
  return briefs
}

/** Shows less of the data if the request or the budget has no room for all of it, and emits a notice. */
async function askWithin(writing: SectionWriting, build: (share: number) => Messages): Promise<ModelReply | undefined> {
  const { queue, sizes, notice } = writing
  let shown = 1
  for (const share of [1, 0.5, 0.2, 0.05]) {
    const messages = await fitMessages(queue, sizes.summary.input, (less) => {
      shown = share * less
      return build(shown)
    })
    const reply = messages && (await queue.ask({ purpose: 'summary', messages, answerTokens: sizes.summary.output }))
    if (reply && shown < 1)
      notice(`The last request had room for about ${Math.ceil(shown * 100)} % of each thing that it should show.`)
    if (reply || !messages) return reply
  }
  return undefined
}

/** The first lines of every file, and less of each line. */
function shortenFiles(files: readonly ShownFile[], share: number): ShownFile[] {
  if (share === 1) return [...files]
  const lineLimit = Math.max(20, Math.floor(400 * share))
  return files.map((file) => ({
    ...file,
    lineLimit,
    lines: file.lines.slice(0, Math.max(1, Math.floor(file.lines.length * share))),
  }))
}

// ── what is sealed ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface CheckedSections {
  sections: Sections
  claims: Verification
}

/** Cleans and verifies the sections and names every top-level directory. Idempotent. */
export function finishSections(sections: Sections, pathIndex: PathIndex, facts: CommitFacts): CheckedSections {
  const claims: Verification = { checked: 0, repaired: 0, removed: 0 }
  const kept = mapSections(removeAddedTopLevel(sections), (text, index) => {
    const found = verifyPaths(cleanModelText(text), pathIndex)
    claims.checked += found.checked
    claims.repaired += found.repaired
    claims.removed += found.removed
    return cleanModelText(found.markdown) || emptySection(index, facts)
  })
  return { sections: addMissingTopLevel(kept, facts.topLevel), claims }
}

/** The text of a section that has nothing left after verification. */
function emptySection(index: number, facts: CommitFacts): string {
  const nothing = 'The model wrote nothing here that could be verified.'
  if (index !== 2 || facts.files.length === 0) return nothing
  const central = [...facts.files].sort((a, b) => a.rank - b.rank).filter((file) => /^[\w./-]+$/.test(file.path))
  const places = central.slice(0, 5).map((file) => `${file.path}:${file.lines[0]!.number}`)
  return places.length === 0 ? nothing : `The most central files: ${places.join(', ')}.`
}
