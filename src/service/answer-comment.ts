// A question in a comment: the conversation below it, to its end. The same as in the Action; here is how the service comes by the answer.
import type * as Product from '../handoff/index.js'
import type { Door } from './app.js'
import { type Exchange, notesOf } from './http/http-function.js'
import { problemOf } from './http/problem-details.js'
import { notesOfOutcome, type Outcome, type Placed, startJob } from './question-job.js'
import { isOld } from './resume-pending.js'

export interface Talk {
  here: Door
  context: typeof Product
  service: Product.Service
  github: Product.GitHub
  note: Product.AcceptedNote
  /** When the work must be over, in milliseconds since 1970. */
  workBy: number
  background: Exchange['background']
  limit: Exchange['limit']
}

type Asked = NonNullable<Product.AcceptedNote['asked']>
type Reply = Outcome & { notes: string[] }
type Progress = (text: string) => void

/** Whether whoever wrote the comment may ask, as GitHub says it now. */
export async function permissionOf({ here, context, github, note, workBy, limit }: Talk): Promise<Product.MayAsk> {
  const { asked, post } = note
  if (!asked || !post || !('thread' in post)) throw new Error('This note is not of a comment.')
  const signal = limit.workUntil(workBy)
  const { repository } = post.thread
  return context.mayAsk({ github, repository, user: asked.user, allow: here.settings.askPermission }, { signal })
}

/**
 * Nobody is answered without the right, whoever comes to answer: the delivery, or the clock. What GitHub does not tell now stays noted. Returns what
 * came of it, for the log.
 */
export async function answerComment(of: Talk, permission: Promise<Product.MayAsk>): Promise<Record<string, unknown>> {
  const may = await permission.catch(async (error: unknown) => {
    if (!mayWait(of.note, error)) await of.context.promiseKept(of.service, of.note)
    throw error
  })
  if (may.allowed) return talk(of)
  await refuse(of, may.reason === 'bot')
  return { refused: may.reason }
}

/** A person sees at once that nobody is working on it; a bot hears nothing, two of them would talk for ever. */
async function refuse({ context, service, github, note, workBy, limit }: Talk, silent: boolean): Promise<void> {
  const signal = limit.workUntil(workBy)
  if (!silent && note.post && 'thread' in note.post) {
    await github
      .addReaction(context.questionKey(note.post), 'confused', { signal, patient: false })
      .catch(() => undefined)
  }
  await context.promiseKept(service, note)
}

async function talk(of: Talk): Promise<Record<string, unknown>> {
  const { here, context, service, github, note, workBy, limit } = of
  const { asked, post } = note
  if (!asked || !post || !('thread' in post)) return {}
  const signal = limit.workUntil(workBy)
  const { host, owner, name } = note.repository
  const { serverUrl } = here.settings.github
  const ending = await context.talk<Reply>({
    github,
    target: post,
    question: asked.text,
    asker: asked.user.login,
    redact: service.context.redact,
    place: { host, repository: `${owner}/${name}`, serverUrl, permalinks: 'github' },
    clock: service.clock,
    onNotice: () => {},
    signal,
    answer: (wanted, onProgress) => answer(of, asked, wanted, onProgress, signal),
  })
  // What time, a limit or an outage of GitHub ended stays noted, and the clock goes on with it; but not for ever.
  const waits = 'error' in ending && mayWait(note, ending.error)
  if (!waits) await context.promiseKept(service, note)
  return {
    end: ending.end,
    ...('answer' in ending && ending.answer ? notesOfOutcome(ending.answer) : {}),
    ...('error' in ending ? notesOf(ending.error) : {}),
  }
}

const mayWait = (note: Product.AcceptedNote, error: unknown) => mayPass.has(problemOf(error).code) && !isOld(note)

const mayPass = new Set(['timeout', 'sandbox-limit', 'model-limit', 'sandbox', 'drive', 'git'])

/** From the first of the places that has a run. */
async function answer(
  of: Talk,
  asked: Asked,
  { thread, places }: Product.TalkQuestion,
  onProgress: Progress,
  signal: AbortSignal,
): Promise<Reply> {
  const { context } = of
  for (const place of places) {
    try {
      const outcome = await answerAt(of, asked, thread, place.name, onProgress, signal)
      return { ...outcome, notes: place.note === undefined ? [] : [place.note] }
    } catch (error) {
      const unread = context.isHandoffError(error, 'not-found') || context.isHandoffError(error, 'not-sealed')
      if (!unread || place === places.at(-1)) throw error
    }
  }
  throw new context.HandoffError('not-found', 'There is no summary yet.')
}

function answerAt(
  { here, context, service, github, note, workBy, background }: Talk,
  asked: Asked,
  thread: string,
  name: Product.RunName,
  onProgress: Progress,
  signal: AbortSignal,
): Promise<Outcome> {
  const { repository } = note
  const fullName = `${repository.owner}/${repository.name}`
  const { serverUrl } = here.settings.github
  const emit = (event: Product.RunEvent) => {
    const text = context.progressOf(event, fullName)
    if (text !== undefined) onProgress(text)
  }
  const order = {
    door: here,
    service,
    visit: { caller: note.caller, workBy, emit, labels: { request: 'webhook' }, background },
    request: {
      repository,
      strict: true,
      cloneUrl: `${serverUrl}/${fullName}.git`,
      name,
      github: async () => github,
      question: {
        text: asked.text,
        asker: asked.asker,
        thread,
        ...(asked.fresh ? { fresh: true, nonce: note.answer } : {}),
      },
    },
  }
  const listener = {
    onAccepted: (_place: Placed) => {},
    onJoined: (_place: Placed) => onProgress('Somebody asked the same; waiting for that answer…'),
    onPosition: (position: number) => onProgress(`Waiting for a sandbox; ${position} in the queue…`),
  }
  return startJob(order, signal, listener).outcome
}
