// An answer as a comment on a pull request, found again by its marker: however often it is posted, it stands there once.
import type * as House from '../src/handoff/index.js'
import { placeOf, type Seen, type Viewer } from './_views.js'

export interface Post {
  github: House.GitHub
  viewer: Viewer
  seen: Seen
  record: House.CompletedAnswer
  reused: boolean
  /** What a reader should know first: which run was used, and why. */
  notes?: string[]
  signal: AbortSignal
}

/** The answer in parts, each with room to spare below GitHub's limit. */
export async function commentParts(post: Post, pull: number): Promise<string[]> {
  const { viewer, seen, record, reused, notes } = post
  const stale = await staleWords(post, pull)
  const markdown = viewer.house.answerMarkdown(record, placeOf(viewer, seen.handoff), {
    form: 'comment',
    reused,
    ...(notes === undefined ? {} : { notes }),
    ...(stale === undefined ? {} : { stale }),
  })
  return viewer.house.splitComment(markdown)
}

/** The head as it is now, when the answer is ready. A failure to look costs the remark, not the answer. */
async function staleWords({ github, viewer, seen, record, signal }: Post, pull: number): Promise<string | undefined> {
  const { repository } = seen.handoff
  const call = { signal: AbortSignal.any([signal, AbortSignal.timeout(15_000)]), patient: false }
  try {
    const { head } = await github.pull(repository, pull, call)
    const citations = record.citations.filter((citation) => citation.verified)
    const asked = { repository, answered: record.commit, head: head.sha, citations }
    const note = await viewer.house.staleNote(github, asked, call)
    const words = note?.replace(/^answered at `\w+`; /, '').replaceAll('`', '')
    return words === undefined ? undefined : `${words.charAt(0).toUpperCase()}${words.slice(1)}.`
  } catch {
    return undefined
  }
}

export async function postOnPull(post: Post, pull: number): Promise<{ url: string }> {
  const { github, seen, record, signal } = post
  const thread = { kind: 'issue' as const, repository: seen.handoff.repository, number: pull }
  const parts = await commentParts(post, pull)
  const urls: string[] = []
  for (const [index, part] of parts.entries()) {
    const marker = `<!-- handoff:answer v=1 id=${record.id} part=${index + 1} -->`
    const body = `${marker}\n${part}`
    const { comment } = await github.ensureComment(thread, { marker, body }, { signal })
    const { kind, repository, id } = comment
    if (comment.body !== body) await github.updateComment({ kind, repository, id }, body, { signal })
    urls.push(comment.url)
  }
  return { url: urls[0] ?? '' }
}
