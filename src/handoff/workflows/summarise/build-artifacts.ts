// Has the summary written, or takes over the previous one, and builds the files that only the host writes.

import type { AppContext } from '../../context.js'
import type { Correction } from '../../domain/corrections/correction.js'
import { readFileTable } from '../../domain/file-table.js'
import type { Handoff } from '../../domain/handoff-record.js'
import { artifact, fullName } from '../../domain/run.js'
import type { Relocation } from '../../domain/sandbox-protocol-decoder.js'
import { encodeNotes } from '../../domain/summary/notes.js'
import { renderSummary } from '../../domain/summary/render-summary.js'
import { encodeSummaryRecord, type SummaryRecord } from '../../domain/summary/summary-record.js'
import type { FileTable, Survey } from '../../domain/survey.js'
import type { Checkpoint } from './checkpoint.js'
import type { PreviousRun } from './previous-run.js'
import type { SummariseRequest, SummaryInput } from './types.js'
import { type WrittenSummary, writeSummary } from './write-summary.js'

export interface SummaryArtifacts {
  /** The text of `code-summary.md`. */
  summary: string
  /** The statements of the summary. */
  statements: SummaryRecord
  /** The files that remain to be written into the run directory. */
  files: { path: string; bytes: Uint8Array }[]
  /** Remarks for readers about how the summary was written. */
  notices: string[]
  /** The summary's fields of the handoff record. */
  record: Pick<Handoff, 'claims' | 'usage' | 'reusedPercent'> & Partial<Pick<Handoff, 'cost' | 'partial'>>
}

/** What was read while the sandbox worked or while its files were verified. */
interface PreparedInput {
  previous: PreviousRun | undefined
  /** What became of the lines that the previous summary cites. */
  relocations: readonly Relocation[]
  /** What people corrected, where its lines are there. */
  corrections: readonly Correction[]
  /** Every path of the commit. */
  table: FileTable | undefined
  checkpoint: Checkpoint
}

/** Model requests that run at once if no setting says how many. */
const defaultConcurrency = 8

/** What one summary may spend, and how fast. */
export function summaryLimits({ limits, prices }: Pick<AppContext, 'limits' | 'prices'>): SummaryInput['limits'] {
  return {
    inputTokens: limits.inputTokens,
    ...(limits.maxCost === undefined ? {} : { maxCost: limits.maxCost }),
    ...(prices === undefined ? {} : { prices }),
    concurrency: limits.modelRequests ?? defaultConcurrency,
  }
}

/** Every path of the commit, to check the paths in the summary. The table is data of a sandbox and is decoded as such. */
export async function readCommitFiles(
  context: AppContext,
  directory: string,
  signal: AbortSignal,
): Promise<FileTable | undefined> {
  const bytes = await context.ports.drive.read(`${directory}/${artifact.files}`, { maxBytes: 60_000_000, signal })
  return bytes === null ? undefined : readFileTable(bytes)
}

export async function buildArtifacts(
  request: SummariseRequest,
  context: AppContext,
  survey: Survey,
  { previous, relocations, corrections, table, checkpoint }: PreparedInput,
  signal: AbortSignal,
): Promise<SummaryArtifacts> {
  const { ports } = context
  const written = await writeSummary({
    survey,
    ...(table ? { table } : {}),
    model: ports.model,
    limits: summaryLimits(context),
    ...(previous ? { previous: previous.summary, relocations, anew: request.force === true } : {}),
    corrections,
    checkpoint,
    emit: ports.emit,
    signal,
  })
  const { counts } = written
  const summary = written.unchanged ?? renderDocument(request, survey, written)
  const files = [
    { path: artifact.summary as string, bytes: new TextEncoder().encode(summary) },
    { path: artifact.summaryRecord as string, bytes: encodeSummaryRecord(written.record) },
    { path: artifact.notes as string, bytes: encodeNotes(written.notes) },
  ]
  return {
    summary,
    statements: written.record,
    files,
    notices: written.notices,
    record: {
      claims: { checked: counts.checked, repaired: counts.repaired, removed: counts.removed },
      usage: written.usage,
      reusedPercent: written.reusedPercent,
      ...(written.cost === undefined ? {} : { cost: written.cost }),
      ...(written.partial === undefined ? {} : { partial: written.partial }),
    },
  }
}

function renderDocument(
  { commit, links }: SummariseRequest,
  survey: Survey,
  { record, partial }: WrittenSummary,
): string {
  const repository = fullName(commit.repository)
  return renderSummary({
    record,
    target: { place: { host: commit.repository.host, repository, ...links }, commit: record.commit },
    repository,
    counts: survey.counts,
    secrets: survey.secrets.length,
    ...(partial === undefined ? {} : { partial }),
  })
}
