// Finds the earlier run whose summary cache is reused: the first candidate that is sealed and intact. Finding none is no error.

import type { AppContext } from '../../context.js'
import { type Handoff, isOf } from '../../domain/handoff-record.js'
import { artifact, type Layout, type Repository } from '../../domain/run.js'
import { readRef } from '../../store/ref-store.js'
import { readSealed, sha256 } from '../../store/run-store.js'

export interface PreviousRun {
  handoff: Handoff
  cache: Uint8Array
  summary: string
}

export interface ReuseSources {
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
    // Without an earlier run everything is written anew. If drive9 is down, another step reports it.
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
    refs.map((ref) => readRef(context.ports.drive, place, ref, signal).catch(() => undefined)),
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
    const sealed = await readSealed(drive, place, sha, signal).catch(() => undefined)
    // A name may have belonged to another repository before; its summary says nothing about this one.
    if (!sealed || !isOf(sealed.handoff, repository)) continue
    const directory = place.run(sealed.handoff.run)
    const [cache, summary] = await Promise.all(
      [artifact.summaryCache, artifact.summary].map((path) =>
        drive.read(`${directory}/${path}`, { maxBytes: 20_000_000, signal }),
      ),
    )
    if (
      cache &&
      summary &&
      isRecorded(sealed.handoff, artifact.summaryCache, cache) &&
      isRecorded(sealed.handoff, artifact.summary, summary)
    ) {
      return { handoff: sealed.handoff, cache, summary: new TextDecoder().decode(summary) }
    }
  }
  return undefined
}

function isRecorded(handoff: Handoff, path: string, bytes: Uint8Array): boolean {
  return handoff.artifacts.some((entry) => entry.path === path && entry.sha256 === sha256(bytes))
}
