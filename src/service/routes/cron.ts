// Takes up what was promised and left behind, and forgets names of requests that are too old to be repeated.
import type * as Product from '../../handoff/index.js'
import { answerComment, permissionOf } from '../answer-comment.js'
import { type Door, door } from '../app.js'
import { bearsSecret } from '../auth/authenticate.js'
import { type Exchange, notesOf } from '../http/http-function.js'
import { jsonResponse } from '../http/json.js'
import { Refusal } from '../http/problem-details.js'
import { divideTime } from '../http/request-deadline.js'
import { leftOf, takeUp } from '../resume-pending.js'

const mostAtOnce = 100
/** Some of them are not due, and some cannot be read. */
const mostLookedAt = 400

export async function sweep(exchange: Exchange): Promise<Response> {
  const here = door()
  if (!bearsSecret(exchange.request, here.settings.cronSecret)) {
    throw new Refusal(401, 'unauthorized', 'This address is for the clock of the platform.', {
      next: 'Set CRON_SECRET, and send it as a bearer.',
      headers: { 'www-authenticate': 'Bearer realm="handoff-cron"' },
    })
  }
  const [context, service] = await Promise.all([here.context(), here.service()])
  const notes = await context.listAccepted(service.context.ports.drive, service.place, mostLookedAt, exchange.signal)
  const left = notes.filter((note) => note.until <= Date.now()).slice(0, mostAtOnce)
  // All that was promised about one answer is kept at once.
  const answers = Map.groupBy(left, ({ run, answer }) => `${run} ${answer}`)
  const taken = [...answers.values()].map(async (about) => {
    // What could not be settled now stays noted for the next time.
    const notes = await takeUpNotes(here, context, service, about, exchange).catch(notesOf)
    return { answer: about[0]!.answer, ...notes }
  })
  const work = Promise.all([
    forgetOld(service, context, exchange),
    Promise.all(taken).then((all) => exchange.note({ taken: all })),
  ])
  exchange.background(work)
  exchange.logAfter(work)
  exchange.note({ promised: notes.length, left: left.length })
  return jsonResponse(202, { promised: notes.length, left: left.length })
}

async function takeUpNotes(
  here: Door,
  context: typeof Product,
  service: Product.Service,
  about: Product.AcceptedNote[],
  exchange: Exchange,
): Promise<Record<string, unknown>> {
  const note = about[0]!
  if (note.run !== undefined) return takeUp(here, leftOf(note, note.run, about), exchange)
  const { deadline, background, limit } = exchange
  const { workBy } = divideTime(deadline, Date.now())
  const of = { here, context, service, github: await here.github(), note, workBy, background, limit }
  return answerComment(of, permissionOf(of))
}

/** Removals at once in each of the folders. */
const width = 8

/** As many as there is time for; neither folder waits for the other. */
async function forgetOld(service: Product.Service, context: typeof Product, { limit }: Exchange): Promise<void> {
  const { drive } = service.context.ports
  const signal = limit.workUntil(divideTime(limit.deadline, Date.now()).workBy)
  const before = new Date(Date.now() - 2 * context.keyLifetimeMs).toISOString()
  const forgetIn = async (folder: string) => {
    const entries = await drive.list(folder, signal)
    const old = entries.filter((entry) => entry.modifiedAt !== undefined && entry.modifiedAt < before)
    await context.mapConcurrent(width, old, ({ name }) =>
      drive.remove(`${folder}/${name}`, { recursive: false, signal }).catch(() => signal.throwIfAborted()),
    )
  }
  await Promise.allSettled([service.place.keys, service.place.deliveries].map(forgetIn))
}
