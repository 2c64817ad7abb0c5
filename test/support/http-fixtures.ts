// A question as the service answers it, without HTTP: under a name, promised before the work, in its turn and within a budget. And whoever comes
// after a process that died: the clock, which takes up what was promised, and the caller, who repeats the request.

import type { LocalDrive } from '../../src/emulators/drive9/server/main.js'
import { systemClock } from '../../src/handoff/clients/system-clock.js'
import { type Begun, beginRequest } from '../../src/handoff/store/idempotency-keys.js'
import { listAccepted } from '../../src/handoff/store/pending-answers.js'
import { sha256 } from '../../src/handoff/store/run-store.js'
import { makeService, type Service } from '../../src/handoff/workflows/answer/ask-service.js'
import type { Door } from '../../src/service/app.js'
import { timeLimit } from '../../src/service/http/request-deadline.js'
import { type Order, type Outcome, type Placed, startJob } from '../../src/service/question-job.js'
import { leftOf as leftBehind, takeUp } from '../../src/service/resume-pending.js'
import type { Place, QuickProcess } from './in-memory-context.js'

export const laterMs = 3_600_000
const limits = { sandboxes: 1, waiting: 5, perCaller: 5, tokensPerDay: 100_000_000 }
const caller = 'somebody'
const shared = '/handoff/_service'

const context = async () => ({
  ...(await import('../../src/handoff/stored-answer.js')),
  ...(await import('../../src/handoff/index.js')),
})
/** The door of an instance that has this one service. */
export const doorTo = (service: Service): Door =>
  ({
    context,
    service: async () => service,
    settings: { models: [service.context.ports.model.name] },
  }) as unknown as Door

/** As another instance has it, perhaps some time later. */
export function serviceOf({ context, later }: QuickProcess, afterMs = 0): Service {
  later(afterMs)
  return makeService(context, limits, { ...systemClock, now: () => Date.now() + afterMs })
}

/** `POST /api/ask` by somebody who wants an answer in the background, and who waits for it. */
export async function servedTo(
  service: Service,
  place: Place,
  process: QuickProcess,
  question: string,
  signal: AbortSignal,
): Promise<Outcome> {
  const now = service.clock.now()
  const names = [service.place.key(sha256(question)), service.place.delivery(sha256(question).slice(0, 32))]
  const asked = { body: sha256(place.name), now, until: now + 60_000 }
  const begun = await Promise.all(names.map((name) => beginRequest(service.context.ports.drive, name, asked, signal)))
  const ours = begun.filter((one): one is Extract<Begun, { kind: 'begun' }> => one.kind === 'begun')
  const accepted = Promise.withResolvers<void>()
  const tell = (_place: Placed) => accepted.resolve()
  const job = startJob(orderOf(service, place, process, question), signal, {
    onAccepted: tell,
    onJoined: tell,
    onPosition: () => undefined,
  })
  await Promise.race([accepted.promise, job.outcome.catch(() => undefined)])
  const promised = await job.promise().catch(() => false)
  const settle = (answered: boolean) => {
    const at = job.placed()
    const pointer = at && { run: at.handoff.run, answer: at.id }
    return Promise.all(ours.map((one) => (answered && pointer ? one.accept(pointer) : one.release())))
  }
  if (promised) await settle(true)
  try {
    const outcome = await job.outcome
    if (!promised) await settle(true)
    return outcome
  } catch (error) {
    if (!promised) await settle(false)
    throw error
  }
}

export function orderOf(
  service: Service,
  place: Place,
  process: QuickProcess,
  text: string,
  workMs = 20_000,
  background?: (work: Promise<unknown>) => void,
): Order {
  const { question, ...asked } = place.ask(process, text)
  // Nobody looks here at what an answer is shown with.
  return {
    door: doorTo(service),
    service,
    visit: {
      caller,
      workBy: service.clock.now() + workMs,
      emit: process.context.ports.emit,
      labels: asked.labels ?? {},
      ...(background ? { background } : {}),
    },
    request: { ...asked, question: { ...question, asker: caller } },
  } as Order
}

/** An invocation that has so long. */
export const within = (milliseconds: number) => ({
  limit: timeLimit(never, Date.now() + milliseconds),
  background: () => undefined,
})
const never = new AbortController().signal

/** `GET /api/cron`, to its end: every promise that was left behind. */
export async function takeUpAll(service: Service, signal: AbortSignal): Promise<void> {
  const notes = await listAccepted(service.context.ports.drive, service.place, 100, signal)
  for (const note of notes.filter(({ until }) => until <= service.clock.now()))
    await takeUp(doorTo(service), leftBehind(note, note.run!, [note]), within(60_000))
}

/** What is left on the drive of promises, turns, reservations and names that were begun, in words. */
export async function leftOf(service: Service, drive: LocalDrive): Promise<string[]> {
  const { turns, budgets } = await service.shared()
  const until = service.clock.now() + 60_000
  // There is one sandbox: somebody else's turn comes at once, or one of before is still taken.
  const turn = await turns.enter({ holder: 'another', caller: 'another', until })
  await turn.come(AbortSignal.timeout(1_000))
  await turn.leave()
  const settle = await budgets.reserve(caller, 'another', { tokens: 1, cost: 0 }, until)
  await settle()
  const files = drive.tree(shared).filter((entry) => !entry.isDirectory)
  return files.flatMap(({ path }) => {
    const kept = JSON.parse(drive.readFile(path)!.toString()) as Record<string, unknown>
    const busy = ['running', 'waiting', 'reserved'].flatMap((name) => (kept[name] as unknown[] | undefined) ?? [])
    const unsettled = path.includes('/accepted/') || kept['state'] === 'begun' || busy.length > 0
    return unsettled ? [`${path} ${JSON.stringify(kept)}`] : []
  })
}

/** What the caller was charged so far. */
export function tokensOf(drive: LocalDrive): number {
  const files = drive.tree(`${shared}/budgets`).filter((entry) => !entry.isDirectory)
  return files.reduce(
    (sum, { path }) => sum + (JSON.parse(drive.readFile(path)!.toString()) as { tokens: number }).tokens,
    0,
  )
}

/** Turns and budgets stay, as they do where questions are asked all day. */
export function forgetServed(drive: LocalDrive): void {
  const folders = ['keys', 'deliveries', 'accepted'].map((kind) => `${shared}/${kind}`)
  for (const folder of folders.filter((path) => drive.tree(path).length > 0)) drive.remove(folder)
}
