// A question that an instance left behind, because its time was over or because it died, goes on in another.
import { readAnswer } from '../bench/ledger.js'
import { startWalk } from '../bench/walk.js'
import type { ClaimedAnswer } from '../library/answer.js'
import { isHandoffError } from '../library/errors.js'
import { layout, type Repository } from '../library/run.js'
import { type AcceptedQuestion, acceptClaim } from './ask.js'
import type { House } from './house.js'
import { whichRun } from './which-run.js'

/** A question that somebody left behind is taken up under its old id. Undefined when there is nothing to do: it is done, or somebody is at it. */
export async function resumeQuestion(
  where: { repository: Repository; run: string; id: string; leaseMs: number; labels?: Record<string, string> },
  house: House,
  signal: AbortSignal,
): Promise<AcceptedQuestion | undefined> {
  const { tools } = house
  const walk = startWalk(tools)
  const place = layout(house.root, where.repository)
  const run = await walk.step('look up', () => whichRun(where, { run: where.run }, house, place, signal))
  const left = await readAnswer(tools.drive, run.directory, where.id, signal)
  const now = tools.now()
  if (left?.status !== 'running' || new Date(left.leaseUntil) > now) return undefined
  const earlier = left.compareWith?.run
  const base = earlier && (await walk.step('look up', () => whichRun(where, { run: earlier }, house, place, signal)))
  const wanted: ClaimedAnswer = {
    ...left,
    model: tools.model.name,
    leaseUntil: new Date(now.getTime() + where.leaseMs).toISOString(),
    claim: tools.uniqueId(),
    tries: (left.tries ?? 0) + 1,
  }
  const question = {
    text: left.question,
    ...(left.thread === undefined ? {} : { thread: left.thread }),
    ...(left.fresh ? { fresh: true } : {}),
  }
  return acceptClaim(
    { question, house, run, ...(base ? { base } : {}), walk, labels: where.labels ?? {} },
    wanted,
    signal,
  ).catch((error) => {
    if (isHandoffError(error, 'in-progress')) return undefined
    throw error
  })
}
