// Checks whether an answer is stale at a newer commit. GitHub's comparison shows changed lines. Without GitHub, or if it lacks a commit, the
// file tables of both sealed runs show changed files. No model takes part.

import type { ReadContext } from '../../context.js'
import type { CompletedAnswer } from '../../domain/answer.js'
import {
  type CitedRange,
  type ComparedFile,
  type Staleness,
  staleness,
  staleSentence,
} from '../../domain/citations/line-diff.js'
import { isHandoffError } from '../../domain/errors.js'
import type { GitHub } from '../../domain/github.js'
import { fullName, layout, olderLayout, type Repository } from '../../domain/run.js'
import { readSealed } from '../../store/run-store.js'
import { type BlobsByPath, readBlobs } from '../read-sealed-files.js'
import { compareCommits } from './check-staleness.js'

export interface AnswerStaleness extends Staleness {
  /** The commit it was answered at. */
  answered: string
  head: string
  /** `lines`: by GitHub's comparison; `files`: by the file tables of two runs. */
  precision: 'lines' | 'files'
  /** The whole of it as one sentence for people, as `answerMarkdown` takes it. Paths in it are foreign text. */
  text: string
}

type CitingAnswer = Pick<CompletedAnswer, 'commit' | 'citations' | 'excerpts'>

/** The verified citations of the answer's own commit. Citations of the earlier commit of a comparison cannot become stale. */
export function currentCitations({ commit, citations }: Pick<CompletedAnswer, 'commit' | 'citations'>): CitedRange[] {
  return citations
    .filter((citation) => citation.verified && (citation.commit ?? commit) === commit)
    .map(({ path, from, to }) => ({ path, from, to }))
}

/**
 * Undefined if the head is the answered commit, if the answer cites nothing, or if staleness is unknown. Fails only when aborted: an unknown
 * staleness must not prevent the answer.
 */
export async function checkStaleness(
  request: { repository: Repository; record: CitingAnswer; head: string },
  context: ReadContext,
  github: GitHub | undefined,
  signal: AbortSignal,
): Promise<AnswerStaleness | undefined> {
  const { record, head } = request
  if (record.commit === head || currentCitations(record).length === 0) return undefined
  const ways = [
    () => github && checkStalenessByGitHub(request, github, signal),
    () => checkStalenessByRuns(request, context, signal),
  ]
  for (const way of ways) {
    try {
      const found = await way()
      if (found) return found
    } catch (error) {
      if (!isHandoffError(error) || signal.aborted) throw error
    }
  }
  return undefined
}

async function checkStalenessByGitHub(
  { repository, record, head }: { repository: Repository; record: CitingAnswer; head: string },
  github: GitHub,
  signal: AbortSignal,
): Promise<AnswerStaleness | undefined> {
  const asked = { repository: fullName(repository), answered: record.commit, head }
  const difference = await compareCommits(github, asked, { signal })
  if (difference === null) return undefined
  const own = record.excerpts.filter((excerpt) => (excerpt.commit ?? record.commit) === record.commit)
  const blobs = new Map(own.map(({ path, blob }) => [path, blob]))
  const found = staleness(currentCitations(record), difference.files, { complete: difference.complete, blobs })
  return describeStaleness(record, head, found, 'lines')
}

/** Undefined unless both commits have a valid sealed run. */
export async function checkStalenessByRuns(
  { repository, record, head }: { repository: Repository; record: CitingAnswer; head: string },
  context: ReadContext,
  signal: AbortSignal,
): Promise<AnswerStaleness | undefined> {
  const places = [layout(context.root, repository), olderLayout(context.root, repository)]
  const [then, now] = await Promise.all(
    [record.commit, head].map(async (sha) => {
      for (const place of places) {
        const run = place && (await readSealed(context.ports.drive, place, sha, signal))
        if (run) return readBlobs(context, { handoff: run.handoff, directory: place.run(run.handoff.run) }, signal)
      }
      return undefined
    }),
  )
  if (!then || !now) return undefined
  const cited = currentCitations(record)
  const paths = [...new Set(cited.map(({ path }) => path))]
  const files = paths.flatMap((path) => changeOf(path, then, now) ?? [])
  return describeStaleness(record, head, staleness(cited, files, { blobs: then }), 'files')
}

function describeStaleness(
  record: CitingAnswer,
  head: string,
  found: Staleness,
  precision: AnswerStaleness['precision'],
): AnswerStaleness {
  const { commit } = record
  return { ...found, answered: commit, head, precision, text: staleSentence(commit, head, found) }
}

/** The change of a file between two runs; undefined if it is unchanged. */
function changeOf(path: string, then: BlobsByPath, now: BlobsByPath): ComparedFile | undefined {
  const blob = then.get(path)
  const after = now.get(path)
  if (blob !== undefined && blob === after) return undefined
  if (blob !== undefined && after !== undefined) return { path, status: 'modified', blob: after, whole: true }
  if (blob === undefined) return { path, status: 'modified', blob: null }
  const moved = [...now].find(([other, found]) => found === blob && !then.has(other))
  return moved
    ? { path: moved[0], previousPath: path, status: 'renamed', blob }
    : { path, status: 'removed', blob: null }
}
