// Questions that an instance left behind: taken up by whoever looks next, a poll or the cron.
import type * as House from '../src/handoff/index.js'
import { postOnPull } from './_comment.js'
import type { Door } from './_door.js'
import { divideTime } from './_job.js'

export interface Left {
  repository: House.Repository
  run: string
  id: string
  caller: string
  post?: House.AcceptedNote['post']
}

/** Goes on with it as long as this invocation may. False when there was nothing to do. */
export async function takeUp(here: Door, service: House.Service, left: Left, deadline: number): Promise<boolean> {
  const house = await here.house()
  const { workBy } = divideTime(deadline, Date.now())
  const signal = AbortSignal.timeout(Math.max(1, workBy - Date.now()))
  const visit: House.Visit = { caller: left.caller, workBy, emit: () => {}, labels: { request: 'left' } }
  const taken = await house.takeLeft(service, left, visit, signal)
  if (taken?.kind !== 'ours') {
    if (taken?.kind === 'done') await house.promiseKept(service, left.id)
    return false
  }
  await taken.work.promise(left.post)
  const { record, reused } = await taken.work.finish(signal)
  if (left.post && 'pull' in left.post) {
    await postOnPull(here, service, { record, seen: taken.run, reused }, left.post.pull, signal)
  }
  await house.promiseKept(service, left.id)
  return true
}
