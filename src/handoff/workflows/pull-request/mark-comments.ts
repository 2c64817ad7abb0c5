// Marks stale answers after a push to a pull request: adds a warning above the first line of the comment, or removes it if the answer is valid
// again. GitHub notifies no one of an edit.
//
// The comment names a run and an answer; the citations are read from the answer store, not from the comment.

import type { ReadContext } from '../../context.js'
import type { CompletedAnswer } from '../../domain/answer.js'
import { anyMarker, readShownAnswer, stalePattern, writeStaleMarker } from '../../domain/answers/comment-marker.js'
import { isHandoffError } from '../../domain/errors.js'
import type { Call, Comment, Comparison, GitHub, Thread } from '../../domain/github.js'
import { safeInline } from '../../domain/markdown/escape.js'
import { fullName, type Layout, layout, olderLayout, parseRunId, type Repository } from '../../domain/run.js'
import { readAnswer } from '../../store/run-store.js'
import { type AnswerStaleness, checkStaleness } from './check-answer.js'

interface MarkRequest {
  context: ReadContext
  repository: Repository
  /** Its number. */
  pull: number
  /** Called with a sentence about each comment that could not be checked. */
  onNotice?: (text: string) => void
}

interface MarkResult {
  /** The present head of the pull request. */
  head: string
  marked: CommentPlace[]
  /** Comments whose warning was removed. */
  cleared: CommentPlace[]
  /** The number of unchanged comments. */
  untouched: number
}

type CommentPlace = Pick<Comment, 'kind' | 'id' | 'url'>

/** Idempotent per head. Concurrent calls write the same bodies. */
export async function markStaleComments(
  github: GitHub,
  request: MarkRequest,
  signal: AbortSignal,
): Promise<MarkResult> {
  const repository = fullName(request.repository)
  const call = { signal }
  const { head } = await github.pull(repository, request.pull, call)
  const marked: MarkResult = { head: head.sha, marked: [], cleared: [], untouched: 0 }
  const once = cacheComparisons(github)
  // One after the other, as GitHub asks for writes.
  for (const answer of await ownAnswers(github, repository, request.pull, call)) {
    const outcome = await markComment(once, request, answer, head.sha, call)
    const { kind, id, url } = answer
    if (outcome === 'untouched') marked.untouched += 1
    else marked[outcome].push({ kind, id, url })
  }
  return marked
}

/** The first comment of each answer: it gets the warning. */
async function ownAnswers(github: GitHub, repository: string, number: number, call: Call): Promise<Comment[]> {
  const threads: Thread[] = [
    { kind: 'issue', repository, number },
    { kind: 'review', repository, number, root: 0 },
  ]
  const found = await Promise.all(
    threads.map((thread) => github.ownComments(thread, { marker: anyMarker, everyThread: true }, call)),
  )
  return found.flat().filter(({ body }) => readShownAnswer(body) !== undefined)
}

async function markComment(
  github: GitHub,
  { context, repository, onNotice }: MarkRequest,
  answer: Comment,
  head: string,
  call: Call,
): Promise<'marked' | 'cleared' | 'untouched'> {
  if (readStaleHead(answer.body) === head) return 'untouched'
  try {
    const record = await readRecord(context, repository, answer.body, call.signal)
    if (!record) return 'untouched'
    const found = await checkStaleness({ repository, record, head }, context, github, call.signal)
    // If staleness is unknown, the comment stays unchanged.
    if (!found && record.commit !== head) return 'untouched'
    const gone = found !== undefined && !found.valid
    if (!gone && readStaleHead(answer.body) === undefined) return 'untouched'
    const body = setStaleWarning(answer.body, gone ? { head, words: warningText(found) } : undefined)
    if ((await github.updateComment(answer, body, call)) === null) return 'untouched'
    return gone ? 'marked' : 'cleared'
  } catch (error) {
    if (!isHandoffError(error) || call.signal.aborted) throw error
    onNotice?.(`The answer in ${answer.url} could not be checked: ${error.message}`)
    return 'untouched'
  }
}

async function readRecord(
  context: ReadContext,
  repository: Repository,
  body: string,
  signal: AbortSignal,
): Promise<CompletedAnswer | undefined> {
  const shown = readShownAnswer(body)
  if (!shown) return undefined
  const read = (place: Layout | undefined) =>
    place &&
    readAnswer({ drive: context.ports.drive, directory: place.run(parseRunId(shown.run)), id: shown.id }, signal)
  const record = (await read(layout(context.root, repository))) ?? (await read(olderLayout(context.root, repository)))
  return record?.status === 'done' ? record : undefined
}

/** Comments leave 500 characters free, and the warning must not exceed GitHub's limit. */
const longestWords = 300

function warningText({ text: reported, citations, head }: AnswerStaleness): string {
  const words = safeInline(reported)
  if (words.length <= longestWords) return words
  const changed = citations.filter(({ verdict }) => verdict !== 'same' && verdict !== 'moved').length
  return safeInline(`The head is now ${head.slice(0, 7)}; ${changed} of the cited ranges changed.`)
}

/** Several answers at one commit share one comparison. */
function cacheComparisons(github: GitHub): GitHub {
  const known = new Map<string, Promise<Comparison | null>>()
  return {
    ...github,
    compare(repository, base, head, call) {
      const key = `${repository} ${base} ${head}`
      const asked = known.get(key) ?? github.compare(repository, base, head, call)
      known.set(key, asked)
      return asked
    },
  }
}

// The warning on a comment whose answer is stale: one line below the comment's own marker. It is added, replaced and removed without changes to
// the rest of the body.

function splitMarker(body: string): { marker: string; rest: string } {
  const end = body.indexOf('\n') + 1
  return { marker: body.slice(0, end), rest: body.slice(end) }
}

/** The head commit of the warning, if the comment has one. */
function readStaleHead(body: string): string | undefined {
  return stalePattern.exec(splitMarker(body).rest)?.[1]
}

/** The body with this warning in place of any earlier one, or without a warning. `words` are one line of safe Markdown. */
function setStaleWarning(body: string, stale: { head: string; words: string } | undefined): string {
  const { marker, rest } = splitMarker(body)
  const text = rest.replace(stalePattern, '')
  if (!stale) return `${marker}${text}`
  const words = stale.words.replaceAll('\n', ' ')
  return `${marker}${writeStaleMarker(stale.head)}\n⚠️ **Some of what this answer rests on is gone.** ${words}\n\n${text}`
}
