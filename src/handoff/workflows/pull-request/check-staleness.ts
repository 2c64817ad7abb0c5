// How much of what an answer rests on has changed since. A later push does not make an answer wrong; it says where to look again.
//
// GitHub's difference tells lines. Where there is no GitHub, the tables of two sealed runs tell files: the same blob is the same text.

import { type CitedRange, changesOf, staleness } from '../../domain/citations/line-diff.js'
import { isHandoffError } from '../../domain/errors.js'
import type { Call, ChangedFile, Comparison, GitHub } from '../../domain/github.js'

export interface Difference {
  /** By the names they have at the head; those that can be laid over the answered commit have a patch. */
  files: (ChangedFile & { whole?: true })[]
  /** All that changed is in `files`. */
  complete: boolean
}

/** One sentence about the head as it is now; null when the head is the commit that was answered about. Fails only when stopped. */
export async function headNote(
  github: GitHub,
  request: { repository: string; answered: string; head: string; citations: readonly CitedRange[] },
  call: Call,
): Promise<string | null> {
  const { answered, head, citations } = request
  if (answered === head) return null
  const start = `The head is now ${head.slice(0, 7)}`
  if (citations.length === 0) return `${start}.`
  try {
    const difference = await compareCommits(github, request, call)
    return difference === null ? `${start}.` : `${start}${describeChanges(difference, citations)}.`
  } catch (error) {
    if (!isHandoffError(error) || error.code === 'cancelled' || error.code === 'timeout') throw error
    return `${start}.`
  }
}

function describeChanges({ files, complete }: Difference, citations: readonly CitedRange[]): string {
  const changes = changesOf(files)
  const cited = new Set(citations.map(({ path }) => path))
  const changed = [...cited].filter((path) => changes.has(path)).length
  const found = staleness(citations, files, { complete }).sentence
  if (changed === 0) return `; ${found}`
  return `, ${complete ? '' : 'at least '}${changed} cited ${changed === 1 ? 'file' : 'files'} changed; ${found}`
}

/** What differs between two commits, however they are related; null when GitHub does not know one of them (any more). */
export async function compareCommits(
  github: GitHub,
  { repository, answered, head }: { repository: string; answered: string; head: string },
  call: Call,
): Promise<Difference | null> {
  const there = await github.compare(repository, answered, head, call)
  if (there === null) return null
  if (there.status === 'ahead' || there.status === 'identical') return there
  // GitHub compares from where the two parted. After a force-push the answered commit has changes of its own since then.
  const back = await github.compare(repository, head, answered, call)
  if (back === null) return null
  return { files: differingFiles(blobsAt(there), blobsAt(back)), complete: there.complete && back.complete }
}

/** What each changed path holds on that side; null where it is no more. */
function blobsAt(comparison: Comparison): Map<string, string | null> {
  const blobs = new Map<string, string | null>()
  for (const file of comparison.files) if (file.previousPath !== undefined) blobs.set(file.previousPath, null)
  for (const file of comparison.files) blobs.set(file.path, file.blob)
  return blobs
}

/** A path that only one side changed differs; one that both changed to the same does not. Which lines differ nobody has told us. */
function differingFiles(head: Map<string, string | null>, answered: Map<string, string | null>): Difference['files'] {
  const paths = [...new Set([...head.keys(), ...answered.keys()])]
  return paths
    .filter((path) => !head.has(path) || !answered.has(path) || head.get(path) !== answered.get(path))
    .map((path) => {
      const removed = head.get(path) === null
      const blob = head.get(path) ?? null
      return removed ? { path, status: 'removed', blob } : { path, status: 'modified', blob, whole: true }
    })
}
