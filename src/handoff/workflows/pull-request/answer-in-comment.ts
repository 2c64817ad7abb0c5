// Answers a question in a comment: finds the runs that may answer, runs the conversation, and renders the answer as comments. Entry points
// decide who may ask and how an answer is created; the comments are the same for all of them.
import type { CompletedAnswer } from '../../domain/answer.js'
import type { Target } from '../../domain/answers/parse-ask-comment.js'
import type { AnswerPlace } from '../../domain/answers/permalinks.js'
import { answerMarkdown } from '../../domain/answers/render-answer.js'
import type { ShownCorrection } from '../../domain/corrections/correction.js'
import { isHandoffError } from '../../domain/errors.js'
import type { Call, GitHub } from '../../domain/github.js'
import { fitMarkdown } from '../../domain/markdown/fit.js'
import { safeText } from '../../domain/markdown/sanitize.js'
import type { RunEvent } from '../../domain/run-events.js'
import { limited } from '../../util/abort.js'
import type { RunName } from '../answer/resolve-run.js'
import { headNote } from './check-staleness.js'
import { type Conversation, type ConversationResult, runConversation } from './comment-lifecycle.js'

/** A run that may answer, and a note that is shown if it does. */
export interface RunPlace {
  name: RunName
  /** A sentence that explains why a fallback answers. */
  note?: string
}

/** The context of a question in a thread. */
export interface ThreadQuestion {
  /** Answers see the earlier questions of the same thread. */
  thread: string
  /** Best first. */
  places: RunPlace[]
}

interface ShownAnswer {
  record: CompletedAnswer
  reused: boolean
  /** Remarks shown above the answer: which run was used, and why. */
  notes?: readonly string[]
  corrections?: readonly ShownCorrection[]
}

type Spoken = 'github' | 'target' | 'question' | 'asker' | 'clock' | 'link' | 'onNotice' | 'onComment' | 'signal'

interface CommentQuestion<A extends ShownAnswer> extends Pick<Conversation<A>, Spoken> {
  /** Removes secrets from text. */
  redact: (text: string) => string
  /** The repository that links in the answer lead to. */
  place: AnswerPlace
  /** Called again if another process was answering the same question. */
  answer: (wanted: ThreadQuestion, onProgress: (text: string) => void) => Promise<A>
}

/** Many answers are there before; a stored one always is. */
const opensAfterMs = 10_000

export function answerInComment<A extends ShownAnswer>(of: CommentQuestion<A>): Promise<ConversationResult<A>> {
  const { github, target, redact, signal } = of
  const { repository } = target.thread
  let places: RunPlace[] | undefined
  return runConversation<A>({
    ...of,
    opensAfterMs,
    harmless: (text) => safeText(redact(text)),
    async answer(onProgress) {
      // Resolved once, when the question is accepted: what is pushed later is named, not read.
      places ??= await findRunPlaces(github, target, { signal })
      return of.answer({ thread: threadKey(target), places }, onProgress)
    },
    shown: ({ record: { run, id } }) => ({ run, id }),
    render: (answer) => answerComment({ ...of, repository, about: subjectOf(target) }, answer),
  })
}

function threadKey({ thread, branch }: Target): string {
  if (branch !== undefined) return `${thread.kind}/${thread.number}`
  return thread.kind === 'review' ? `pull/${thread.number}/review/${thread.root}` : `pull/${thread.number}`
}

const subjectOf = ({ thread, branch }: Target): CommentContext['about'] =>
  branch === undefined ? { pull: thread.number } : { branch }

async function findRunPlaces(github: GitHub, target: Target, call: Call): Promise<RunPlace[]> {
  if (target.branch !== undefined) return [{ name: { ref: `refs/heads/${target.branch}` } }]
  const { repository, number } = target.thread
  const { head, base } = await github.pull(repository, number, call)
  const note = `The head commit ${head.sha.slice(0, 7)} has no summary yet, so this is answered from the newest one of ${base.ref}.`
  return [{ name: { commit: head.sha } }, { name: { ref: `refs/heads/${base.ref}` }, note }]
}

interface CommentContext
  extends Pick<CommentQuestion<ShownAnswer>, 'github' | 'redact' | 'place' | 'onNotice' | 'signal'> {
  repository: string
  /** The login of the asker, if the comment answers a person. */
  asker?: string | undefined
  /** The pull request or branch whose head is compared with the answered commit. */
  about: { pull: number } | { branch: string }
}

/** GitHub refuses bodies over 65,536 characters; what is left is for a marker and a warning. */
const commentBytes = 60_000

/** The text of the comment with an answer. */
export async function answerComment(
  on: CommentContext,
  { record, reused, notes, corrections = [] }: ShownAnswer,
): Promise<string> {
  const stale = await stalenessNote(on, record)
  const markdown = answerMarkdown(record, on.place, {
    form: 'comment',
    reused,
    corrections,
    asker: on.asker,
    notes,
    stale,
  })
  return fitMarkdown(on.redact(markdown), commentBytes)
}

/** A note about the present head. If GitHub fails, the note is omitted and the answer is still posted. */
async function stalenessNote(on: CommentContext, { commit, citations }: CompletedAnswer): Promise<string | undefined> {
  const { github, repository, about } = on
  using soon = limited(on.signal, 15_000)
  const call = { signal: soon.signal, patient: false }
  try {
    const head =
      'pull' in about
        ? (await github.pull(repository, about.pull, call)).head.sha
        : await github.branchHead(repository, about.branch, call)
    if (head === null) return undefined
    const cited = citations.filter((citation) => citation.verified)
    const asked = { repository, answered: commit, head, citations: cited }
    return (await headNote(github, asked, call)) ?? undefined
  } catch (error) {
    const why = isHandoffError(error) ? error.message : 'an unexpected error'
    on.onNotice(`The present head could not be checked: ${why}`)
    return undefined
  }
}

/** The progress text of an event, without any text of a repository or a model. */
export function progressText(event: RunEvent, repository: string): string | undefined {
  if (event.type === 'step-start' && event.step === 'open sandbox') return 'Starting a sandbox…'
  if (event.type === 'step-end' && event.step === 'open sandbox' && !event.failed) {
    return `Reading \`${repository}\`… (sandbox up in ${(event.milliseconds / 1_000).toFixed(1)} s)`
  }
  if (event.type === 'excerpts-found')
    return `Found ${event.count} excerpts in ${event.files} files; the model is answering…`
  if (event.type === 'answer-limit') return event.text
  if (event.type === 'step-start' && event.step === 'check') return 'Checking every citation…'
  return undefined
}
