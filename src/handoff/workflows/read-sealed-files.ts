// Reads the files of a run, if they match their sealed hashes.

import type { ReadContext } from '../context.js'
import { type ChangeReport, changeReportBytes, decodeChangeReport } from '../domain/change/change-report.js'
import { HandoffError, isHandoffError } from '../domain/errors.js'
import { readFileTable } from '../domain/file-table.js'
import { type Diagram, diagramShape } from '../domain/graph/diagram.js'
import { artifact } from '../domain/run.js'
import { decodeSummaryRecord, type SummaryRecord, summaryRecordLimits } from '../domain/summary/summary-record.js'
import { sha256 } from '../store/run-store.js'
import { DecodeError, decodeJson } from '../util/decode.js'
import { mapConcurrent } from '../util/map-concurrent.js'
import type { ChosenRun } from './answer/resolve-run.js'

export type RunFiles = Pick<ChosenRun, 'directory' | 'handoff'>

export async function readSummary(context: ReadContext, run: RunFiles, signal: AbortSignal): Promise<string> {
  return new TextDecoder().decode(await readSealedFile(context, run, artifact.summary, signal))
}

/** The summary for a model: with the places of its statements, without addresses. */
export async function readSummaryForModel(context: ReadContext, run: RunFiles, signal: AbortSignal): Promise<string> {
  const summary = await readSummary(context, run, signal)
  return summary.replace(/\[(`[^`\n]+`)\]\([^()\s]*\)/g, '$1')
}

/** The statements of a run's summary; undefined for a run of an earlier version. */
export async function readStatements(
  context: ReadContext,
  run: RunFiles,
  signal: AbortSignal,
): Promise<SummaryRecord | undefined> {
  if (!run.handoff.artifacts.some(({ path }) => path === artifact.summaryRecord)) return undefined
  return decodeSummaryRecord(await readSealedFile(context, run, artifact.summaryRecord, signal))
}

async function readSealedFile(
  context: ReadContext,
  run: RunFiles,
  path: string,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const bytes = await findSealedFile(context, run, path, summaryRecordLimits.bytes, signal)
  if (bytes !== undefined) return bytes
  throw new HandoffError('corrupt', `The summary of run ${run.handoff.run} is not the one that was sealed.`, {
    next: 'Summarise the commit again with force.',
  })
}

/** The diagram of a run; undefined for a run without one. */
export async function readDiagram(
  context: ReadContext,
  run: RunFiles,
  signal: AbortSignal,
): Promise<Diagram | undefined> {
  const bytes = await findSealedFile(context, run, artifact.diagram, 1_000_000, signal)
  return bytes && unlessUnreadable(() => decodeJson(new TextDecoder().decode(bytes), diagramShape))
}

/** What the run's commit changes against this base; undefined when the run was made without it. */
export async function readChange(
  context: ReadContext,
  run: RunFiles,
  base: string,
  signal: AbortSignal,
): Promise<ChangeReport | undefined> {
  const path = artifact.change(base)
  const bytes = await findSealedFile(context, run, path, changeReportBytes, signal)
  return bytes && unlessUnreadable(() => decodeChangeReport(bytes))
}

/** What it changes against each base that it was compared with. */
export async function readChanges(context: ReadContext, run: RunFiles, signal: AbortSignal): Promise<ChangeReport[]> {
  const paths = run.handoff.artifacts.map(({ path }) => path).filter((path) => path.startsWith(artifact.changes))
  const found = await mapConcurrent(4, paths, async (path) => {
    const bytes = await findSealedFile(context, run, path, changeReportBytes, signal)
    return bytes && unlessUnreadable(() => decodeChangeReport(bytes))
  })
  return found.filter((report) => report !== undefined)
}

/** Undefined for a file that the run does not have, and for one that is not what was sealed. */
export async function findSealedFile(
  context: ReadContext,
  { directory, handoff }: RunFiles,
  path: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const recorded = handoff.artifacts.find((entry) => entry.path === path)
  if (recorded === undefined) return undefined
  const bytes = await context.ports.drive.read(`${directory}/${path}`, { maxBytes, signal })
  return bytes !== null && sha256(bytes) === recorded.sha256 ? bytes : undefined
}

/** These files only add to the summary: one that was changed, or that is newer, is no reason to fail. */
function unlessUnreadable<T>(decode: () => T): T | undefined {
  try {
    return decode()
  } catch (error) {
    if (error instanceof DecodeError || isHandoffError(error)) return undefined
    throw error
  }
}

const mostTableBytes = 64_000_000

/** Paths that are not UTF-8 may look alike; they have no single blob and are left out. */
export type BlobsByPath = ReadonlyMap<string, string>

/** The blobs of the commit, by the table of its files. */
export async function readBlobs(context: ReadContext, run: RunFiles, signal: AbortSignal): Promise<BlobsByPath> {
  const bytes = await findSealedFile(context, run, artifact.files, mostTableBytes, signal)
  if (bytes === undefined) {
    throw new HandoffError('corrupt', `The table of files of run ${run.handoff.run} is not the one that was sealed.`, {
      next: 'Summarise the commit again with force.',
    })
  }
  return new Map(readFileTable(bytes).files.flatMap((file) => (file.pathBase64 ? [] : [[file.path, file.blob]])))
}
