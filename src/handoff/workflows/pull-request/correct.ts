// Carries out `/correct` on a comment of handoff: finds what the comment shows and the lines that it cites, writes or removes the correction, and shows
// it in that comment. The entry point has checked the permission.
import type { ReadContext } from '../../context.js'
import {
  anyMarker,
  correctionReplyMarker,
  readShownAnswer,
  summaryMarker,
} from '../../domain/answers/comment-marker.js'
import type { Target } from '../../domain/answers/parse-ask-comment.js'
import type { AnswerPlace } from '../../domain/answers/permalinks.js'
import {
  type CorrectCommand,
  type Correction,
  correctionLimits,
  evidenceOf,
  namedPlaces,
  requireText,
} from '../../domain/corrections/correction.js'
import { correctedComment } from '../../domain/corrections/render-corrections.js'
import { HandoffError, isHandoffError } from '../../domain/errors.js'
import type { Author, Call, Comment, GitHub } from '../../domain/github.js'
import { fitMarkdown } from '../../domain/markdown/fit.js'
import { safeText } from '../../domain/markdown/sanitize.js'
import { type Layout, layout, type Repository } from '../../domain/run.js'
import { type Evidence, statementsOf } from '../../domain/summary/summary-record.js'
import { changeCorrections } from '../../store/correction-store.js'
import { type ChosenRun, type RunName, resolveRun } from '../answer/resolve-run.js'
import { type AuditTools, noteCorrection } from '../audit-log.js'
import { getAnswer } from '../browse.js'
import { correctionsOf } from '../read-corrections.js'
import { readChanges, readStatements } from '../read-sealed-files.js'
import { questionKey } from './status-comment.js'

export type CorrectContext = ReadContext & AuditTools

interface CorrectRequest {
  github: GitHub
  context: CorrectContext
  repository: Repository
  /** The comment with the command, and its thread. */
  target: Target
  author: Author
  command: CorrectCommand
  /** Where links lead. */
  place: AnswerPlace
  /** Removes our own keys from foreign text. */
  redact: (text: string) => string
}

type CorrectResult = { done: 'written' | 'removed'; places: number } | { refused: HandoffError }

/** A command that cannot be carried out gets a reply that says why; other failures reject. */
export async function correctComment(request: CorrectRequest, signal: AbortSignal): Promise<CorrectResult> {
  const { github, target } = request
  const call = { signal }
  try {
    const result = await carryOut(request, call)
    await github.addReaction(questionKey(target), 'rocket', call)
    return result
  } catch (error) {
    if (!isHandoffError(error, 'invalid-input') && !isHandoffError(error, 'not-found')) throw error
    const marker = correctionReplyMarker(target.question)
    const body = `${marker}\n😕 Nothing was changed. ${safeText([error.message, error.next ?? ''].join(' ').trim())}`
    await github.addReaction(questionKey(target), 'confused', call)
    await github.ensureComment(target.thread, { marker, body }, call)
    return { refused: error }
  }
}

async function carryOut(request: CorrectRequest, call: Call): Promise<CorrectResult> {
  const { context, repository, command, target } = request
  const place = layout(context.root, repository)
  const subject = await findSubject(request, call)
  if (command.remove) {
    const removed = await removeCorrections(request, subject, place, call)
    await settle('removed', removed)
    return { done: 'removed', places: removed.length }
  }
  const correction = newCorrection(request, subject)
  await changeCorrections(
    context.ports.drive,
    place,
    (found) => (found.some(({ id }) => id === correction.id) ? found : [...withRoom(found), correction]),
    call.signal,
  )
  await settle('written', [correction])
  return { done: 'written', places: correction.places.length }

  async function settle(done: 'written' | 'removed', corrections: readonly Correction[]): Promise<void> {
    const by = request.author.login
    const noted = { ...subject, run: subject.run.handoff, corrections }
    await Promise.all([
      noteCorrection(context, repository, { id: commandId(target), by, done }, noted),
      showIn(request, subject, call),
    ])
  }

  function newCorrection({ author, redact }: CorrectRequest, { run, answer, places }: Subject): Correction {
    const text = requireText(redact(command.text))
    return {
      id: commandId(target),
      at: new Date(context.ports.clock.now()).toISOString(),
      by: author.login,
      text,
      answer,
      repositoryId: run.handoff.repositoryId,
      commit: run.handoff.commit,
      places: placesFor(text, places, answer !== undefined),
    }
  }
}

const commandId = ({ thread, question }: Target) => `${thread.kind}-${question}`

function withRoom(found: readonly Correction[]): readonly Correction[] {
  if (found.length < correctionLimits.corrections) return found
  throw new HandoffError('invalid-input', `The repository has ${found.length} corrections, and no more are taken.`, {
    next: 'Remove one that is no longer needed with /correct --remove below the comment that shows it.',
  })
}

/** The cited lines that the text names. Without any, a correction of an answer is about all that the answer cites. */
function placesFor(text: string, places: readonly Evidence[], isAnswer: boolean): Evidence[] {
  const named = namedPlaces(text, places)
  if (named.length > 0 || isAnswer) return (named.length > 0 ? named : [...places]).slice(0, correctionLimits.places)
  throw new HandoffError('invalid-input', 'The correction of a summary has to name lines that the summary cites.', {
    next: 'Write them as the summary does, for example: /correct src/main.ts:10-12 is called once at start.',
  })
}

async function removeCorrections(
  { context, command }: CorrectRequest,
  { answer }: Subject,
  place: Layout,
  { signal }: Call,
): Promise<Correction[]> {
  let removed: Correction[] = []
  const isMeant = (one: Correction) =>
    one.answer === answer && (command.text === '' || namedPlaces(command.text, one.places).length > 0)
  await changeCorrections(
    context.ports.drive,
    place,
    (found) => {
      const left = found.filter((one) => !isMeant(one))
      if (left.length < found.length) removed = found.filter(isMeant)
      return left.length === found.length ? found : left
    },
    signal,
  )
  if (removed.length > 0) return removed
  throw new HandoffError('not-found', 'There is no correction here to remove.', {
    next: 'Write /correct --remove and the link of the comment that shows the correction.',
  })
}

// ── what is corrected ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Subject {
  comment: Comment
  run: ChosenRun
  /** The answer that the comment shows; a summary where absent. */
  answer?: string
  /** What it cites. */
  places: Evidence[]
}

/** The comment that the command links to, or the newest one before it in its thread. */
async function findSubject(request: CorrectRequest, call: Call): Promise<Subject> {
  const { github, context, target, command } = request
  const own = await github.ownComments(target.thread, { marker: anyMarker }, call)
  const subjects = own.filter(({ body }) => isAnswer(body) || body.startsWith(summaryMarker))
  const linked = command.comment
  const comment =
    linked === undefined
      ? subjects
          .filter(({ id }) => id < target.question)
          .toSorted(answersLast)
          .at(-1)
      : subjects.find(({ id }) => id === linked)
  if (comment === undefined) throw nothingToCorrect(linked !== undefined)
  const find = (name: RunName) => resolveRun({ repository: request.repository }, name, context, call.signal)
  if (comment.body.startsWith(summaryMarker)) {
    const { head } = await github.pull(target.thread.repository, target.thread.number, call)
    const run = await find({ commit: head.sha })
    const [summary, changes] = await Promise.all([
      readStatements(context, run, call.signal),
      readChanges(context, run, call.signal),
    ])
    const statements = [...changes.flatMap((change) => change.statements), ...(summary ? statementsOf(summary) : [])]
    return { comment, run, places: statements.flatMap(({ citations }) => citations) }
  }
  const shown = readShownAnswer(comment.body)
  if (shown === undefined) throw nothingToCorrect(linked !== undefined)
  const run = await find({ run: shown.run })
  const record = await getAnswer(context, run, shown.id, call.signal)
  const places = record.status === 'done' ? evidenceOf(record) : []
  if (places.length > 0) return { comment, run, answer: shown.id, places }
  throw new HandoffError('invalid-input', 'The answer cites no line, so a correction of it would never end.', {
    next: 'Ask again with /ask --fresh, or correct an answer that cites lines.',
  })
}

const isAnswer = (body: string) => readShownAnswer(body) !== undefined

/** An answer before the summary: the summary's comment is one of the first, and changes. */
const answersLast = (a: Comment, b: Comment) => Number(isAnswer(a.body)) - Number(isAnswer(b.body)) || a.id - b.id

const nothingToCorrect = (isLinked: boolean) =>
  new HandoffError(
    'not-found',
    isLinked
      ? 'The link is not to an answer or a summary in this thread.'
      : 'No answer or summary is above the command.',
    {
      next: 'Write /correct in the thread of the answer, or begin with the link of its comment: /correct <link> <text>.',
    },
  )

/** The comment shows the corrections that hold now. */
async function showIn(request: CorrectRequest, { comment, run, answer }: Subject, call: Call): Promise<void> {
  const { github, context, place, redact } = request
  const all = await correctionsOf(context, run, call.signal)
  const own = all.filter((one) => one.answer === answer).map((one) => ({ ...one, text: redact(one.text) }))
  const body = fitMarkdown(correctedComment(comment.body, own, place), longestComment)
  if (body !== comment.body) await github.updateComment(comment, body, call)
}

/** GitHub rejects comments over 65,536 characters. A text has at least as many bytes as characters. */
const longestComment = 65_000
