// How much of what an answer rests on has changed since. A later push does not make an answer wrong; it says where to look again.
import type { Citation } from '../library/answer.js'
import { isHandoffError } from '../library/errors.js'
import type { Call, ChangedFile, Comparison, GitHub } from '../library/github.js'

/** The sentence, without a full stop; null when the head is the commit that was answered about. Fails only when stopped. */
export async function staleNote(
  github: GitHub,
  request: { repository: string; answered: string; head: string; citations: Pick<Citation, 'path' | 'from' | 'to'>[] },
  call: Call,
): Promise<string | null> {
  const { answered, head, citations } = request
  if (answered === head) return null
  const start = `answered at \`${answered.slice(0, 7)}\`; the head is now \`${head.slice(0, 7)}\``
  if (citations.length === 0) return start
  try {
    const changes = await changesBetween(github, request, call)
    return changes === null ? start : `${start}${sentence(changes, citations)}`
  } catch (error) {
    if (!isHandoffError(error) || error.code === 'cancelled' || error.code === 'timeout') throw error
    return start
  }
}

interface Changes {
  paths: Set<string>
  /** All that changed is in `paths`. */
  complete: boolean
  /** With the lines of the answered commit, where they can be had. */
  files: ChangedFile[] | null
}

async function changesBetween(
  github: GitHub,
  { repository, answered, head }: { repository: string; answered: string; head: string },
  call: Call,
): Promise<Changes | null> {
  const there = await github.compare(repository, answered, head, call)
  if (there === null) return null
  if (there.status === 'ahead' || there.status === 'identical') {
    const paths = new Set(there.files.flatMap((file) => [file.path, file.previousPath ?? file.path]))
    return { paths, complete: there.complete, files: there.files }
  }
  // GitHub compares from where the two parted. After a force-push the answered commit has changes of its own since then.
  const back = await github.compare(repository, head, answered, call)
  if (back === null) return null
  return { paths: differing(blobsAt(there), blobsAt(back)), complete: there.complete && back.complete, files: null }
}

/** What each changed path holds at the head; null where it is no more. */
function blobsAt(comparison: Comparison): Map<string, string | null> {
  const blobs = new Map<string, string | null>()
  for (const file of comparison.files) if (file.previousPath !== undefined) blobs.set(file.previousPath, null)
  for (const file of comparison.files) blobs.set(file.path, file.blob)
  return blobs
}

/** A path that only one side changed differs; one that both changed to the same does not. */
function differing(left: Map<string, string | null>, right: Map<string, string | null>): Set<string> {
  const paths = new Set([...left.keys(), ...right.keys()])
  return new Set([...paths].filter((path) => !left.has(path) || !right.has(path) || left.get(path) !== right.get(path)))
}

function sentence(changes: Changes, citations: Pick<Citation, 'path' | 'from' | 'to'>[]): string {
  const cited = new Set(citations.map((citation) => citation.path))
  const changed = [...cited].filter((path) => changes.paths.has(path))
  if (changed.length === 0) return changes.complete ? ', none of the cited files changed' : ''
  const count = `${changes.complete ? '' : 'at least '}${changed.length} cited ${changed.length === 1 ? 'file' : 'files'} changed`
  const { files } = changes
  const touched = files === null || citations.some((citation) => touches(files, citation))
  return `, ${count}${touched ? '' : ', but none of the cited lines'}`
}

function touches(files: ChangedFile[], citation: Pick<Citation, 'path' | 'from' | 'to'>): boolean {
  return files
    .filter((file) => file.path === citation.path || file.previousPath === citation.path)
    .some((file) => {
      // Its lines count from the old name; where GitHub shows no lines, any may have changed.
      if (file.previousPath === undefined ? file.status === 'added' : file.path === citation.path) return true
      return file.patch === undefined ? file.status !== 'renamed' : patchTouches(file.patch, citation.from, citation.to)
    })
}

/** Whether a hunk takes away one of these lines or puts some between them. */
export function patchTouches(patch: string, from: number, to: number): boolean {
  let line = 0
  for (const text of patch.split('\n')) {
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+/.exec(text)
    // A hunk that takes nothing away is numbered by the line before it.
    if (hunk) line = Number(hunk[1]) + (hunk[2] === '0' ? 1 : 0)
    else if (text.startsWith('+')) {
      if (line > from && line <= to) return true
    } else if (text.startsWith('-')) {
      if (line >= from && line <= to) return true
      line += 1
    } else if (text.startsWith(' ')) line += 1
  }
  return false
}
