// Between the survey and the seal: the summary is written (or taken over), and becomes the files that only the host may write.

import type { AppContext } from '../../context.js'
import { readFileTable } from '../../domain/file-table.js'
import type { Handoff } from '../../domain/handoff-record.js'
import { artifact, fullName } from '../../domain/run.js'
import {
  decodeSummaryCache,
  encodeSummaryCache,
  readSummaryCache,
  summaryCacheLimit,
} from '../../domain/summary/summary-cache.js'
import { renderSummary } from '../../domain/summary/summary-document.js'
import type { FileTable, Survey } from '../../domain/survey.js'
import { sha256 } from '../../store/run-store.js'
import type { PreviousRun } from './previous-run.js'
import type { SummariseRequest } from './summarise-commit.js'
import type { SummaryInput } from './types.js'
import { type Checkpoint, type WrittenSummary, writeSummary } from './write-summary.js'

export interface SummaryFiles {
  /** The text of `code-summary.md`. */
  summary: string
  /** What is still to be written into the run directory. */
  files: { path: string; bytes: Uint8Array }[]
  /** What a reader should know of how it was written. */
  notices: string[]
  /** The summary's part of the handoff. */
  record: Pick<Handoff, 'artifacts' | 'claims' | 'usage' | 'reusedPercent'> & Partial<Pick<Handoff, 'cost' | 'partial'>>
}

/** Requests that are sent at once, where no setting says how many. */
const usualConcurrency = 8

/** What one summary may spend, and how fast. */
export function summaryLimits({ limits, prices }: Pick<AppContext, 'limits' | 'prices'>): SummaryInput['limits'] {
  return {
    inputTokens: limits.inputTokens,
    ...(limits.maxCost === undefined ? {} : { maxCost: limits.maxCost }),
    ...(prices === undefined ? {} : { prices }),
    concurrency: limits.modelRequests ?? usualConcurrency,
  }
}

export async function summaryOf(
  request: SummariseRequest,
  context: AppContext,
  survey: Survey,
  known: KnownBefore,
  signal: AbortSignal,
): Promise<SummaryFiles> {
  const { ports } = context
  const notice = (text: string) => ports.emit({ type: 'notice', text })
  const { previous, table, checkpoint } = known
  const cache = previous && readSummaryCache(previous.cache, notice)
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
  return buildFiles(request, context, survey, written)
}

/** What is read while the sandbox works or while what it stored is being read back, so that the model need not wait for it. */
export interface KnownBefore {
  previous: PreviousRun | undefined
  /** Every path of the commit. */
  table: FileTable | undefined
  checkpoint: Checkpoint
}

/** Every path of the commit, to check what the model names. It was hashed a moment ago; it is still data of a sandbox and is read as such. */
export async function readFileTableOf(
  context: AppContext,
  directory: string,
  signal: AbortSignal,
): Promise<FileTable | undefined> {
  const bytes = await context.ports.drive.read(`${directory}/${artifact.files}`, { maxBytes: 60_000_000, signal })
  return bytes === null ? undefined : readFileTable(bytes)
}

/** Prose that an attempt before this one paid for. Its reading starts now; a failure shows when it is asked for. */
export function openCheckpoint(context: AppContext, path: string, signal: AbortSignal): Checkpoint {
  const { drive } = context.ports
  const reading = drive.read(path, { maxBytes: summaryCacheLimit, signal })
  reading.catch(() => undefined)
  return {
    async load() {
      const bytes = await reading
      return bytes === null ? undefined : decodeSummaryCache(bytes)
    },
    async save(cache) {
      // With a time of its own: what was paid for is kept also when the walk has just been cancelled.
      await drive.write(path, encodeSummaryCache(cache), { signal: AbortSignal.timeout(10_000) })
    },
  }
}

function buildFiles(
  request: SummariseRequest,
  context: AppContext,
  survey: Survey,
  written: WrittenSummary,
): SummaryFiles {
  const { commit } = request
  const summary =
    written.unchanged ??
    renderSummary({
      repository: fullName(commit.repository),
      commit: commit.sha,
      sections: written.sections,
      counts: survey.counts,
      secrets: survey.secrets.length,
      model: context.ports.model.name,
      ...(written.partial === undefined ? {} : { partial: written.partial }),
    })
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
