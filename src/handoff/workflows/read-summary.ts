// Reads the summary of a run, if it matches its sealed hash.

import type { ReadContext } from '../context.js'
import { HandoffError } from '../domain/errors.js'
import type { Handoff } from '../domain/handoff-record.js'
import { artifact } from '../domain/run.js'
import { sha256 } from '../store/run-store.js'

export async function readSummary(
  context: ReadContext,
  directory: string,
  handoff: Handoff,
  signal: AbortSignal,
): Promise<string> {
  const recorded = handoff.artifacts.find((entry) => entry.path === artifact.summary)
  const bytes = await context.ports.drive.read(`${directory}/${artifact.summary}`, { maxBytes: 2_000_000, signal })
  if (bytes !== null && recorded !== undefined && sha256(bytes) === recorded.sha256)
    return new TextDecoder().decode(bytes)
  throw new HandoffError('corrupt', `The summary of run ${handoff.run} is not the one that was sealed.`, {
    next: 'Summarise the commit again with force.',
  })
}
