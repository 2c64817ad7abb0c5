// Reads the summary of a run, if it matches its sealed hash.

import type { ReadContext } from '../context.js'
import { HandoffError } from '../domain/errors.js'
import type { Handoff } from '../domain/handoff-record.js'
import { artifact } from '../domain/run.js'
import { decodeSummaryRecord, type SummaryRecord, summaryRecordLimits } from '../domain/summary/summary-record.js'
import { sha256 } from '../store/run-store.js'

export async function readSummary(
  context: ReadContext,
  directory: string,
  handoff: Handoff,
  signal: AbortSignal,
): Promise<string> {
  return new TextDecoder().decode(await readSealedFile(context, directory, handoff, artifact.summary, signal))
}

/** The summary for a model: with the places of its statements, without addresses. */
export async function readSummaryForModel(
  ...[context, directory, handoff, signal]: Parameters<typeof readSummary>
): Promise<string> {
  const summary = await readSummary(context, directory, handoff, signal)
  return summary.replace(/\[(`[^`\n]+`)\]\([^()\s]*\)/g, '$1')
}

/** The statements of a run's summary; undefined for a run of an earlier version. */
export async function readStatements(
  ...[context, directory, handoff, signal]: Parameters<typeof readSummary>
): Promise<SummaryRecord | undefined> {
  if (!handoff.artifacts.some(({ path }) => path === artifact.summaryRecord)) return undefined
  return decodeSummaryRecord(await readSealedFile(context, directory, handoff, artifact.summaryRecord, signal))
}

async function readSealedFile(
  context: ReadContext,
  directory: string,
  handoff: Handoff,
  path: string,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const recorded = handoff.artifacts.find((entry) => entry.path === path)
  const options = { maxBytes: summaryRecordLimits.bytes, signal }
  const bytes = await context.ports.drive.read(`${directory}/${path}`, options)
  if (bytes !== null && recorded !== undefined && sha256(bytes) === recorded.sha256) return bytes
  throw new HandoffError('corrupt', `The summary of run ${handoff.run} is not the one that was sealed.`, {
    next: 'Summarise the commit again with force.',
  })
}
