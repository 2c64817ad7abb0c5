// Questions that an instance left behind: taken up by whoever looks next, a poll or the cron.
import type * as Product from '../handoff/index.js'
import type { Door } from './app.js'
import { type Exchange, notesOf } from './http/http-function.js'
import { beforePosting, divideTime } from './http/request-deadline.js'
import { postOnPull } from './post-answer.js'
import { notesOfOutcome } from './question-job.js'

export interface Left {
  repository: Product.Repository
  run: string
  id: string
  caller: string
  /** That it was asked of. */
  model: string
  /** All that was promised about it. */
  promises: Product.AcceptedNote[]
}

/** Of whoever promised it. */
export function leftOf(note: Product.AcceptedNote, run: string, promises: Product.AcceptedNote[]): Left {
  const { repository, answer, caller, model } = note
  return { repository, run, id: answer, caller, model, promises }
}

type Notes = Record<string, unknown>
type Here = Pick<Exchange, 'limit' | 'background'>

/** What became of it, for the log, and which of its promises nobody has to keep any longer. */
interface Settled {
  notes: Notes
  over: Pick<Product.AcceptedNote, 'answer' | 'post'>[]
}

/** Goes on with it as long as this invocation may. What is settled by then is not promised any longer. Returns it for the log. */
export async function takeUp(here: Door, left: Left, exchange: Here): Promise<Notes> {
  const [context, service] = await Promise.all([here.context(), serviceFor(here, left.model)])
  const { notes, over } = await settle(here, context, service, left, exchange).catch(async (error: unknown) => {
    const over = left.promises.filter((promise) => isHopeless(context, error) || isOld(promise))
    await forget(context, service, over)
    throw error
  })
  await forget(context, service, over)
  return { answer: left.id, ...notes }
}

async function forget(context: typeof Product, service: Product.Service, over: Settled['over']): Promise<void> {
  await Promise.all(over.map((promise) => context.promiseKept(service, promise)))
}

/** Its run was pruned, replaced or broken, or its pull request is gone: the clock would try for ever. */
const isHopeless = (context: typeof Product, error: unknown) =>
  context.isHandoffError(error) && hopeless.has(error.code)
const hopeless = new Set(['not-found', 'not-sealed', 'forbidden', 'corrupt', 'unknown-version', 'invalid-input'])

/** What could not be kept for so long is waited for by nobody, whatever the reason. */
export const isOld = ({ until }: Product.AcceptedNote) => Date.now() > until + longestMs
const longestMs = 3 * 24 * 60 * 60 * 1_000

/** Where the model is not offered any more, the question is told so by the usual one. */
async function serviceFor(here: Door, model: string): Promise<Product.Service> {
  const usual = await here.service()
  const other = model !== usual.context.ports.model.name && here.settings.models.includes(model)
  return other ? here.service(model) : usual
}

async function settle(
  here: Door,
  context: typeof Product,
  service: Product.Service,
  left: Left,
  { limit, background }: Here,
): Promise<Settled> {
  const times = divideTime(limit.deadline, Date.now())
  const signal = limit.workUntil(times.workBy)
  const posts = left.promises.filter(isPost)
  const workBy = posts.length > 0 ? beforePosting(times.workBy, Date.now()) : times.workBy
  const visit: Product.Visit = { caller: left.caller, workBy, emit: () => {}, labels: { request: 'left' }, background }
  const taken = await context.takeLeft(service, left, visit, signal)
  if (taken?.kind === 'joined') return { notes: { joined: true }, over: [] }
  if (taken === undefined) return { notes: { gone: true }, over: [{ answer: left.id }, ...left.promises] }
  const answered = taken.kind === 'done' ? { ...taken, reused: true } : await goOn(taken.work, limit.workUntil(workBy))
  const kept = await Promise.all(
    posts.map((promise) => posted(here, context, service, { ...answered, seen: taken.run }, promise, signal)),
  )
  const stays = posts.filter((_promise, index) => !kept[index]!.over)
  const over = left.promises.filter((promise) => !(stays as Product.AcceptedNote[]).includes(promise))
  // Ours was made beside those that were left; in its place there may be an older one, of a version that had one note for all.
  const ours = stays.some(({ readAs }) => readAs === left.id) ? [] : [{ answer: left.id }]
  return { notes: Object.assign(notesOfOutcome(answered), ...kept.map(({ notes }) => notes)), over: [...ours, ...over] }
}

type Post = Product.AcceptedNote & { post: { pull: number } }

const isPost = (note: Product.AcceptedNote): note is Post => note.post !== undefined && 'pull' in note.post

/** Over when it is posted, or never can be; what fails otherwise may go well the next time. */
async function posted(
  here: Door,
  context: typeof Product,
  service: Product.Service,
  answered: Parameters<typeof postOnPull>[2],
  promise: Post,
  signal: AbortSignal,
): Promise<{ over: boolean; notes?: Notes }> {
  try {
    await postOnPull(here, service, answered, promise.post.pull, signal)
    return { over: true }
  } catch (error) {
    return { over: isHopeless(context, error) || isOld(promise), notes: notesOf(error) }
  }
}

/** What cannot be promised now is worked on all the same: it would else wait for its turn to run out. */
async function goOn(work: Product.OwnWork, signal: AbortSignal): Promise<Product.AskResult> {
  await work.promise().catch(() => undefined)
  return work.finish(signal)
}
