// Has the summary written, or takes over the previous one, and builds the files that only the host writes.

import type { AppContext } from '../../context.js'
import { readFileTable } from '../../domain/file-table.js'
import type { Handoff } from '../../domain/handoff-record.js'
import { artifact, fullName } from '../../domain/run.js'
import { encodeSummaryCache, readSummaryCache } from '../../domain/summary/summary-cache.js'
import { renderSummary } from '../../domain/summary/summary-document.js'
import type { FileTable, Survey } from '../../domain/survey.js'
import { sha256 } from '../../store/run-store.js'
import type { Checkpoint } from './checkpoint.js'
import type { PreviousRun } from './previous-run.js'
import type { SummariseRequest, SummaryInput } from './types.js'
import { type WrittenSummary, writeSummary } from './write-summary.js'

export interface SummaryArtifacts {
  /** The text of `code-summary.md`. */
  summary: string
  /** The files that remain to be written into the run directory. */
  files: { path: string; bytes: Uint8Array }[]
  /** Remarks for readers about how the summary was written. */
  notices: string[]
  /** The summary's fields of the handoff record. */
  record: Pick<Handoff, 'artifacts' | 'claims' | 'usage' | 'reusedPercent'> & Partial<Pick<Handoff, 'cost' | 'partial'>>
}

/** What was read while the sandbox worked or while its files were verified. */
export interface PreparedInput {
  previous: PreviousRun | undefined
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
  { previous, table, checkpoint }: PreparedInput,
  signal: AbortSignal,
): Promise<SummaryArtifacts> {
  const { ports } = context
  const cache = previous && readSummaryCache(previous.cache, (text) => ports.emit({ type: 'notice', text }))
  const written = await writeSummary({
    survey,
    ...(table ? { table } : {}),
    model: ports.model,
    limits: summaryLimits(context),
    ...(previous && cache ? { previous: { cache, summary: previous.summary } } : {}),
    checkpoint,
    emit: ports.emit,
    signal,
  })
  const summary = written.unchanged ?? renderDocument(request, context, survey, written)
  const files = [
    { path: artifact.summary as string, bytes: new TextEncoder().encode(summary) },
    { path: artifact.summaryCache as string, bytes: encodeSummaryCache(written.cache) },
  ]
  return {
    summary,
    files,
    notices: written.notices,
    record: {
      artifacts: files.map(({ path, bytes }) => ({ path, bytes: bytes.length, sha256: sha256(bytes) })),
      claims: { checked: written.claims.checked, repaired: written.claims.repaired, removed: written.claims.removed },
      usage: written.usage,
      reusedPercent: written.reusedPercent,
      ...(written.cost === undefined ? {} : { cost: written.cost }),
      ...(written.partial === undefined ? {} : { partial: written.partial }),
    },
  }
}

function renderDocument(
  { commit }: SummariseRequest,
  context: AppContext,
  survey: Survey,
  written: WrittenSummary,
): string {
  return renderSummary({
    repository: fullName(commit.repository),
    commit: commit.sha,
    sections: written.sections,
    counts: survey.counts,
    secrets: survey.secrets.length,
    model: context.ports.model.name,
    ...(written.partial === undefined ? {} : { partial: written.partial }),
  })
}
