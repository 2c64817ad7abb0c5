// Finds the earlier run whose summary is kept as far as it is still true: the first candidate that is sealed and intact. Finding none is no error.

import type { AppContext } from '../../context.js'
import type { Correction } from '../../domain/corrections/correction.js'
import { ignoreFailure } from '../../domain/errors.js'
import { readFileTable } from '../../domain/file-table.js'
import { type Handoff, isOf } from '../../domain/handoff-record.js'
import { artifact, type Layout, type Repository } from '../../domain/run.js'
import type { CitedFile } from '../../domain/sandbox-protocol.js'
import { notesLimit, readNotes } from '../../domain/summary/notes.js'
import {
  decodeSummaryRecord,
  type Evidence,
  type SummaryRecord,
  statementsOf,
  summaryRecordLimits,
} from '../../domain/summary/summary-record.js'
import { readRef } from '../../store/ref-heads.js'
import { readSealed, sha256 } from '../../store/run-store.js'
import type { PreviousSummary } from './types.js'

export interface PreviousRun {
  handoff: Handoff
  summary: PreviousSummary
}

interface ReuseSources {
  reuseFrom?: { commits?: string[]; refs?: string[] }
  commit: { repository: Repository; sha: string; ref?: string }
}

export async function findPreviousRun(
  context: AppContext,
  places: Layout[],
  request: ReuseSources,
  signal: AbortSignal,
): Promise<PreviousRun | undefined> {
  try {
    for (const place of places) {
      const found = await firstReadable(
        context,
        place,
        request,
        await candidates(context, place, request, signal),
        signal,
      )
      if (found) return found
    }
    return undefined
  } catch {
    // Whatever is wrong with an earlier run, also a defect of ours, must not end the summary: everything is written anew, and the notice says so.
    if (!signal.aborted)
      context.ports.emit({ type: 'notice', text: 'No earlier run could be read; everything is summarised anew.' })
    return undefined
  }
}

async function candidates(
  context: AppContext,
  place: Layout,
  request: ReuseSources,
  signal: AbortSignal,
): Promise<string[]> {
  const refs = [...new Set([request.commit.ref, ...(request.reuseFrom?.refs ?? [])])].filter((ref) => ref !== undefined)
  const named = await Promise.all(
    refs.map((ref) => readRef(context.ports.drive, place, ref, signal).catch(ignoreFailure)),
  )
  const commits = [...(request.reuseFrom?.commits ?? []), ...named].filter(
    (sha) => sha !== undefined && /^[0-9a-f]{40}$/.test(sha),
  )
  return [...new Set(commits as string[])]
}

async function firstReadable(
  context: AppContext,
  place: Layout,
  { commit: { repository } }: ReuseSources,
  commits: string[],
  signal: AbortSignal,
): Promise<PreviousRun | undefined> {
  const { drive } = context.ports
  for (const sha of commits) {
    const sealed = await readSealed(drive, place, sha, signal).catch(ignoreFailure)
    // A name may have belonged to another repository before; its summary says nothing about this one.
    if (!sealed || !isOf(sealed.handoff, repository)) continue
    const summary = await readRun(context, sealed.handoff, place.run(sealed.handoff.run), signal)
    if (summary) return { handoff: sealed.handoff, summary }
  }
  return undefined
}

const tableLimit = 64_000_000

/** Undefined for a run of an earlier version, whose sentences cite no lines, and for files that are not those that were sealed. */
async function readRun(
  { ports }: AppContext,
  handoff: Handoff,
  directory: string,
  signal: AbortSignal,
): Promise<PreviousSummary | undefined> {
  const notice = (text: string) => ports.emit({ type: 'notice', text })
  if (!handoff.artifacts.some(({ path }) => path === artifact.summaryRecord)) {
    notice('The earlier run was written before sentences cited lines; everything is described anew.')
    return undefined
  }
  const read = async (path: string, maxBytes: number) => {
    const bytes = await ports.drive.read(`${directory}/${path}`, { maxBytes, signal })
    return bytes && handoff.artifacts.some((entry) => entry.path === path && entry.sha256 === sha256(bytes))
      ? bytes
      : null
  }
  const [record, text, table, notes] = await Promise.all([
    read(artifact.summaryRecord, summaryRecordLimits.bytes),
    read(artifact.summary, summaryRecordLimits.bytes),
    read(artifact.files, tableLimit),
    read(artifact.notes, notesLimit),
  ])
  if (!record || !text || !table) return undefined
  return {
    record: decodeSummaryRecord(record),
    summary: new TextDecoder().decode(text),
    table: readFileTable(table),
    notes: readNotes(notes, notice),
    ...(handoff.partial === undefined ? {} : { partial: handoff.partial }),
  }
}

/** The task of a sandbox program is one environment variable, which may have 128 KiB. */
const citedBytes = 80_000

/** The cited lines of a summary, then those of corrections, by file. What exceeds the room counts as changed. */
export function citedFiles(
  record: SummaryRecord | undefined,
  corrections: readonly Pick<Correction, 'places'>[] = [],
): CitedFile[] {
  const citations = [
    ...(record ? statementsOf(record).flatMap((statement) => statement.citations) : []),
    ...corrections.flatMap(({ places }) => places),
  ]
  let room = citedBytes
  const files = Map.groupBy(citations, ({ path, blob }) => `${blob} ${path}`).values()
  return [...files].flatMap((places) => {
    const { path, blob } = places[0]!
    const file = { path, blob, places: distinctPlaces(places) }
    room -= JSON.stringify(file).length + 1
    return room < 0 ? [] : [file]
  })
}

function distinctPlaces(places: readonly Evidence[]): CitedFile['places'] {
  return [...new Map(places.map(({ from, to, digest }) => [`${from}-${to}`, { from, to, digest }])).values()]
}
