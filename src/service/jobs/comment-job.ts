// Answers a question in a GitHub comment, or carries out a correction: checks the permission, then does the same as the Action.
import * as product from '../../handoff/index.js'
import type { App } from '../app.js'
import { contextForRequest, type RequestTime } from '../context-for-request.js'
import { logFieldsFor } from '../http/http-function.js'
import type { CommentJob, CorrectionJob } from './job.js'

type Reply = product.AnswerResult & { notes: string[] }

/** Asks GitHub whether the author of the comment may ask, or correct, now. */
export async function readPermission(
  { kind, target, user }: CommentJob | CorrectionJob,
  app: App,
  signal: AbortSignal,
): Promise<product.PermissionCheck> {
  const { repository } = target.thread
  const github = await app.github()
  const allow = kind === 'correct' ? 'write' : app.settings.askPermission
  return product.checkPermission({ github, repository, user, allow }, { signal })
}

export async function carryOutCorrection(
  job: CorrectionJob,
  time: RequestTime,
  app: App,
): Promise<Record<string, unknown>> {
  const signal = time.workUntil(time.workBy)
  const may = await readPermission(job, app, signal)
  if (!may.allowed) return { refused: may.reason }
  const [github, context] = await Promise.all([app.github(), app.context()])
  const { repository, target, user: author, command } = job
  const place = placeOf(job, app)
  const { redact } = context
  const request = { github, context, repository, target, author, command, place, redact }
  const result = await product.correctComment(request, signal)
  return 'refused' in result ? { refused: result.refused.message } : { correction: result.done, places: result.places }
}

/** Where links of the comment lead. */
const placeOf = ({ repository: { host, owner, name } }: Pick<CommentJob, 'repository'>, { settings }: App) => ({
  host,
  repository: `${owner}/${name}`,
  serverUrl: settings.github.serverUrl,
  permalinks: 'github' as const,
})

export async function answerComment(job: CommentJob, time: RequestTime, app: App): Promise<Record<string, unknown>> {
  const signal = time.workUntil(time.workBy)
  const may = await readPermission(job, app, signal)
  if (!may.allowed) return { refused: may.reason }
  const [github, base] = await Promise.all([app.github(), app.context()])
  const notices: string[] = []
  const ending = await product.answerInComment<Reply>({
    github,
    target: job.target,
    question: job.question,
    asker: job.user.login,
    redact: base.redact,
    place: placeOf(job, app),
    clock: base.ports.clock,
    onNotice: (text) => notices.push(text),
    signal,
    answer: (wanted, onProgress) => answerFirstRun(job, wanted, { app, base, github, time, onProgress, signal }),
  })
  if ('error' in ending && product.passesByItself(ending.error)) throw ending.error
  return {
    end: ending.end,
    ...(notices.length === 0 ? {} : { notices }),
    ...('answer' in ending && ending.answer ? { answer: ending.answer.record.id, reused: ending.answer.reused } : {}),
    ...('error' in ending ? logFieldsFor(ending.error) : {}),
  }
}

interface AnswerOptions {
  app: App
  base: product.AppContext
  github: product.GitHub
  time: RequestTime
  onProgress: (text: string) => void
  signal: AbortSignal
}

/** Answers from the first place that has a run. */
async function answerFirstRun(
  job: CommentJob,
  { thread, places }: product.ThreadQuestion,
  answering: AnswerOptions,
): Promise<Reply> {
  for (const place of places) {
    try {
      const answer = await answerRun(job, thread, place.name, answering)
      return { ...answer, notes: place.note === undefined ? [] : [place.note] }
    } catch (error) {
      const absent = product.isHandoffError(error, 'not-found') || product.isHandoffError(error, 'not-sealed')
      if (!absent || place === places.at(-1)) throw error
    }
  }
  throw new product.HandoffError('not-found', 'There is no summary yet.')
}

async function answerRun(
  { repository, question, fresh, depth, user, target, caller }: CommentJob,
  thread: string,
  name: product.RunName,
  { app, base, github, time, onProgress, signal }: AnswerOptions,
): Promise<product.AnswerResult> {
  const fullName = `${repository.owner}/${repository.name}`
  const context = contextForRequest(base, {
    ...time,
    emit(event) {
      const text = product.progressText(event, fullName)
      if (text !== undefined) onProgress(text)
    },
  })
  const request: product.AnswerRequest = {
    repository,
    strict: true,
    cloneUrl: `${app.settings.github.serverUrl}/${fullName}.git`,
    name,
    caller,
    labels: { request: 'comment' },
    github: async () => github,
    question: {
      text: question,
      asker: `github:${user.login}`,
      thread,
      depth,
      // A second delivery of the same comment finds the answer of the first.
      ...(fresh ? { fresh: true, nonce: `comment ${target.thread.kind} ${target.question}` } : {}),
    },
  }
  return product.answerOrJoin(await product.findAnswer(request, context, signal), context, signal)
}
