// Questions that an instance left behind: taken up by whoever looks next, a poll or the cron.
import type * as House from '../src/handoff/index.js'
import { postOnPull } from './_comment.js'
import type { Door } from './_door.js'
import { notesOf } from './_exchange.js'
import { notesOfOutcome } from './_job.js'
import { beforePosting, divideTime, limited } from './_time.js'

export interface Left {
  repository: House.Repository
  run: string
  id: string
  caller: string
  /** That it was asked of. */
  model: string
  /** All that was promised about it. */
  promises: House.AcceptedNote[]
}

/** Of whoever promised it. */
export function leftOf(note: House.AcceptedNote, run: string, promises: House.AcceptedNote[]): Left {
  const { repository, answer, caller, model } = note
  return { repository, run, id: answer, caller, model, promises }
}

/** Goes on with it as long as this invocation may. What is settled by then, the posts included, is not promised any longer. Returns it for the log. */
export async function takeUp(here: Door, left: Left, deadline: number): Promise<Record<string, unknown>> {
  const [house, service] = await Promise.all([here.house(), serviceFor(here, left.model)])
  const settled = await settle(here, house, service, left, deadline).catch((error: unknown) => {
    if (house.isHandoffError(error) && hopeless.has(error.code)) return notesOf(error)
    throw error
  })
  // Ours was made beside those that were left.
  const promises = [{ answer: left.id }, ...left.promises]
  if (settled) await Promise.all(promises.map((promise) => house.promiseKept(service, promise)))
  return { answer: left.id, ...(settled ?? { joined: true }) }
}

/** Its run was pruned, replaced or broken, its pull request is gone, or we may not: nobody can keep that promise, and the clock would try for ever. */
const hopeless = new Set(['not-found', 'not-sealed', 'forbidden', 'corrupt', 'unknown-version'])

/** Where the model is not offered any more, the question is told so by the usual one. */
async function serviceFor(here: Door, model: string): Promise<House.Service> {
  const usual = await here.service()
  const other = model !== usual.house.tools.model.name && here.settings.models.includes(model)
  return other ? here.service(model) : usual
}

/** Undefined while somebody else is at it. */
async function settle(
  here: Door,
  house: typeof House,
  service: House.Service,
  left: Left,
  deadline: number,
): Promise<Record<string, unknown> | undefined> {
  const now = Date.now()
  const times = divideTime(deadline, now)
  const signal = AbortSignal.timeout(Math.max(1, times.workBy - now))
  const workBy = left.promises.some(isPost) ? beforePosting(times.workBy, now) : times.workBy
  const visit: House.Visit = { caller: left.caller, workBy, emit: () => {}, labels: { request: 'left' } }
  const taken = await house.takeLeft(service, left, visit, signal)
  if (taken?.kind === 'joined') return undefined
  const answered =
    taken &&
    (taken.kind === 'done' ? { ...taken, reused: true } : await goOn(taken.work, limited(signal, workBy - now)))
  if (!answered) return { gone: true }
  for (const { post } of left.promises.filter(isPost))
    await postOnPull(here, service, { ...answered, seen: taken.run }, post.pull, signal)
  return notesOfOutcome(answered)
}

const isPost = (note: House.AcceptedNote): note is House.AcceptedNote & { post: { pull: number } } =>
  note.post !== undefined && 'pull' in note.post

/** What cannot be promised now is worked on all the same: it would else wait for its turn to run out. */
async function goOn(work: House.OwnWork, signal: AbortSignal): Promise<House.AskResult> {
  await work.promise().catch(() => undefined)
  return work.finish(signal)
}
