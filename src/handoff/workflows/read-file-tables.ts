// Reads the blobs by path of a sealed run, if the file table matches its sealed hash.

import type { ReadContext } from '../context.js'
import { HandoffError } from '../domain/errors.js'
import { readFileTable } from '../domain/file-table.js'
import { artifact } from '../domain/run.js'
import { sha256 } from '../store/run-store.js'
import type { ChosenRun } from './answer/resolve-run.js'

const mostBytes = 64_000_000

/** Paths that are not UTF-8 may look alike; they have no single blob and are left out. */
export type BlobsByPath = ReadonlyMap<string, string>

export async function readBlobs(
  context: ReadContext,
  run: Pick<ChosenRun, 'directory' | 'handoff'>,
  signal: AbortSignal,
): Promise<BlobsByPath> {
  const { handoff, directory } = run
  const recorded = handoff.artifacts.find((entry) => entry.path === artifact.files)
  const bytes = await context.ports.drive.read(`${directory}/${artifact.files}`, { maxBytes: mostBytes, signal })
  if (bytes === null || recorded === undefined || sha256(bytes) !== recorded.sha256) {
    throw new HandoffError('corrupt', `The table of files of run ${handoff.run} is not the one that was sealed.`, {
      next: 'Summarise the commit again with force.',
    })
  }
  return new Map(readFileTable(bytes).files.flatMap((file) => (file.pathBase64 ? [] : [[file.path, file.blob]])))
}
