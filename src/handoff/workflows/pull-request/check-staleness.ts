// Compares the answered commit with the present head on GitHub, and describes how much of the cited code changed.

import { type CitedRange, changesOf, staleness } from '../../domain/citations/line-diff.js'
import { isHandoffError } from '../../domain/errors.js'
import type { Call, ChangedFile, Comparison, GitHub } from '../../domain/github.js'

interface Difference {
  /** By their paths at the head. Files that can be compared by lines have a patch. */
  files: (ChangedFile & { whole?: true })[]
  /** True if `files` holds every change. */
  complete: boolean
}

/** One sentence about the present head; null if it is the answered commit. Fails only when aborted. */
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

/** The difference between two commits, however they are related; null if GitHub lacks one of them. */
export async function compareCommits(
  github: GitHub,
  { repository, answered, head }: { repository: string; answered: string; head: string },
  call: Call,
): Promise<Difference | null> {
  const there = await github.compare(repository, answered, head, call)
  if (there === null) return null
  if (there.status === 'ahead' || there.status === 'identical') return there
  // GitHub compares from the merge base. After a force-push the answered commit has changes of its own since then.
  const back = await github.compare(repository, head, answered, call)
  if (back === null) return null
  return { files: differingFiles(blobsAt(there), blobsAt(back)), complete: there.complete && back.complete }
}

/** The blob of each changed path on that side; null if it was removed. */
function blobsAt(comparison: Comparison): Map<string, string | null> {
  const blobs = new Map<string, string | null>()
  for (const file of comparison.files) if (file.previousPath !== undefined) blobs.set(file.previousPath, null)
  for (const file of comparison.files) blobs.set(file.path, file.blob)
  return blobs
}

/** A path that one side changed differs; a path that both sides changed to the same blob does not. The changed lines are unknown. */
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
