// Questions that an instance left behind: taken up by whoever looks next, a poll or the cron.
import type * as House from '../src/handoff/index.js'
import { postOnPull } from './_comment.js'
import type { Door } from './_door.js'
import { notesOf } from './_exchange.js'
import { notesOfOutcome } from './_job.js'
import { divideTime } from './_time.js'

export interface Left {
  repository: House.Repository
  run: string
  id: string
  caller: string
  post?: House.AcceptedNote['post']
}

/** Goes on with it as long as this invocation may. What is settled by then, the post included, is not promised any longer. Returns it for the log. */
export async function takeUp(
  here: Door,
  service: House.Service,
  left: Left,
  deadline: number,
): Promise<Record<string, unknown>> {
  const house = await here.house()
  const settled = await settle(here, house, service, left, deadline).catch((error: unknown) => {
    // Its run was pruned, or its pull request is gone: nobody can keep that promise, and the clock would try for ever.
    if (house.isHandoffError(error, 'not-found')) return notesOf(error)
    throw error
  })
  if (settled) await house.promiseKept(service, left.id)
  return { answer: left.id, ...(settled ?? { joined: true }) }
}

/** Undefined while somebody else is at it. */
async function settle(
  here: Door,
  house: typeof House,
  service: House.Service,
  left: Left,
  deadline: number,
): Promise<Record<string, unknown> | undefined> {
  const { workBy } = divideTime(deadline, Date.now())
  const signal = AbortSignal.timeout(Math.max(1, workBy - Date.now()))
  const visit: House.Visit = { caller: left.caller, workBy, emit: () => {}, labels: { request: 'left' } }
  const taken = await house.takeLeft(service, left, visit, signal)
  if (taken?.kind === 'joined') return undefined
  const answered = taken && (taken.kind === 'done' ? { ...taken, reused: true } : await goOn(taken.work, left, signal))
  if (answered && left.post && 'pull' in left.post) {
    await postOnPull(here, service, { ...answered, seen: taken.run }, left.post.pull, signal)
  }
  return answered ? notesOfOutcome(answered) : { gone: true }
}

async function goOn(work: House.OwnWork, left: Left, signal: AbortSignal): Promise<House.AskResult> {
  await work.promise(left.post)
  return work.finish(signal)
}
