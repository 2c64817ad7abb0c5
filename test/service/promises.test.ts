// What was promised is kept, whoever asks the same in between, waits, leaves, or runs out of time.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { Fault, Rule } from '../../src/emulators/faulty-server.js'
import type { AnswerRecord } from '../../src/handoff/domain/answer.js'
import { listAccepted } from '../../src/handoff/store/pending-answers.js'
import { makeService, type Service } from '../../src/handoff/workflows/answer/ask-service.js'
import { summarise } from '../../src/handoff/workflows/summarise/summarise-commit.js'
import { beforePosting } from '../../src/service/http/request-deadline.js'
import { startJob } from '../../src/service/question-job.js'
import { leftOf, takeUp } from '../../src/service/resume-pending.js'
import { doorTo, laterMs, orderOf, serviceOf, takeUpAll, within } from '../support/http-fixtures.js'
import { type Place, type QuickProcess, type QuickWorld, startQuickWorld } from '../support/in-memory-context.js'
import { until } from '../support/until.js'

const never = new AbortController().signal
let world: QuickWorld
let place: Place
let directory: string
let rules: (() => void)[] = []

beforeAll(async () => {
  world = await startQuickWorld()
  place = world.place('octo/promised')
  await using process = await world.process({ patient: true })
  ;({ directory } = await summarise(place.summarise(process, 'first'), process.context, never))
}, 60_000)

afterEach(async () => {
  for (const takeBack of rules) takeBack()
  rules = []
  await Promise.all(behind.splice(0))
})

afterAll(() => world?.close())

const slowModel = (milliseconds: number) => {
  rules.push(world.clouds.model.rule({ fault: { kind: 'delay', milliseconds } }))
}
const drive = (rule: Rule) => {
  rules.push(world.clouds.drive.rule(rule))
}
const outOfTime = () => new DOMException('Out of time.', 'TimeoutError')
const gone = () => new DOMException('The client has gone.', 'AbortError')

/** What goes on when an answer is out, and has to end before the world does. */
const behind: Promise<unknown>[] = []
const background = (work: Promise<unknown>) => void behind.push(work.catch(() => undefined))

/** Somebody who asks over HTTP, as far as the door has to do with it. */
function asker(service: Service, process: QuickProcess, question: string, workMs?: number) {
  const stop = new AbortController()
  const placed = Promise.withResolvers<'accepted' | 'joined'>()
  const works = Promise.withResolvers<void>()
  const job = startJob(orderOf(service, place, process, question, workMs, background), stop.signal, {
    onAccepted: () => {
      placed.resolve('accepted')
      works.resolve()
    },
    onJoined: () => placed.resolve('joined'),
    onPosition: () => undefined,
  })
  const ended = job.outcome.then(
    ({ record }) => record.status,
    (error: { code: string }) => error.code,
  )
  return { job, ended, stop, placed: placed.promise, works: works.promise }
}

function recordOf(question: string): AnswerRecord | undefined {
  const files = world.clouds.drive.tree(`${directory}/analysis/qa`).filter((entry) => !entry.isDirectory)
  const records = files.map(({ path }) => JSON.parse(world.clouds.drive.readFile(path)!.toString()) as AnswerRecord)
  return records.find((record) => record.question === question)
}

const promises = () => world.clouds.drive.tree('/handoff/_service/accepted').filter((entry) => !entry.isDirectory)
const atWork = (made: number) => until('a machine is up', () => world.clouds.sandboxes.sandboxes.length > made)
const machines = () => world.clouds.sandboxes.sandboxes.length
const turns = () =>
  JSON.parse(world.clouds.drive.readFile('/handoff/_service/turns.json')!.toString()) as {
    running: { holder: string; until: number }[]
  }

/** Was promised an answer, and its time ran out. */
async function leftPromised(service: Service, process: QuickProcess, question: string): Promise<void> {
  const first = asker(service, process, question)
  expect(await first.placed).toBe('accepted')
  expect(await first.job.promise()).toBe(true)
  first.stop.abort(outOfTime())
  expect(await first.ended).toBe('timeout')
  expect(promises()).toHaveLength(1)
}

/** One is at work on a question, and another has joined and was promised its answer. */
async function joinedAndPromised(service: Service, process: QuickProcess, question: string) {
  const made = machines()
  const first = asker(service, process, question)
  await first.placed
  await atWork(made)
  const second = asker(service, process, question)
  expect(await second.placed).toBe('joined')
  expect(await second.job.promise()).toBe(true)
  expect(promises()).toHaveLength(1)
  return { first, second }
}

/** The clock comes, some hours later. */
async function answeredInTheEnd(process: QuickProcess, question: string, afterMs = laterMs): Promise<void> {
  await takeUpAll(serviceOf(process, afterMs), never)
  expect([recordOf(question)?.status, promises()]).toEqual(['done', []])
}

test('whoever is promised nothing, takes a promised question over and leaves, leaves it to the next', async () => {
  const question = 'Which promise is kept?'
  await using process = await world.process({ patient: true })
  const service = serviceOf(process)
  slowModel(5_000)
  await leftPromised(service, process, question)
  const made = machines()
  const second = asker(service, process, question)
  expect(await second.placed).toBe('accepted')
  await atWork(made)
  second.stop.abort(gone())
  expect(await second.ended).toBe('cancelled')
  expect(recordOf(question)?.status).toBe('running')
  rules.pop()!()
  await answeredInTheEnd(process, question)
})

test('who joined somebody and was promised the answer has it, though both run out of time', async () => {
  const question = 'Who keeps the word of a joiner?'
  await using process = await world.process({ patient: true })
  const service = serviceOf(process)
  slowModel(5_000)
  const { first, second } = await joinedAndPromised(service, process, question)
  first.stop.abort(gone())
  expect(await first.ended).toBe('cancelled')
  await second.works
  second.stop.abort(outOfTime())
  expect(await second.ended).toBe('timeout')
  rules.pop()!()
  await answeredInTheEnd(process, question)
})

test('who is overtaken takes no promise back: who has the question now may leave it too', async () => {
  const question = 'Who is overtaken?'
  await using process = await world.process({ patient: true })
  await using other = await world.process({ patient: true })
  const { model } = world.clouds
  slowModel(1_500)
  const asked = model.requests.length
  const first = asker(serviceOf(process), process, question)
  await first.placed
  await first.job.promise()
  await until('the model is asked', () => model.requests.length > asked)
  rules.pop()!()
  rules.push(model.rule({ fault: { kind: 'hang' } }))
  const made = machines()
  const second = asker(serviceOf(other, laterMs), other, question)
  expect(await second.placed).toBe('accepted')
  await atWork(made)
  expect(await first.ended).toBe('in-progress')
  expect(promises()).toHaveLength(1)
  second.stop.abort(gone())
  expect(await second.ended).toBe('cancelled')
  rules.pop()!()
  await answeredInTheEnd(process, question, 2 * laterMs)
})

test('who leaves and promised nothing takes back nothing that is promised in that moment', async () => {
  const question = 'What is promised in that moment?'
  await using process = await world.process({ patient: true })
  slowModel(5_000)
  const made = machines()
  const first = asker(serviceOf(process), process, question)
  await first.placed
  await atWork(made)
  // It looks whether anybody waits, and then says that it gave up, which takes a while.
  const from = world.clouds.drive.requests.length
  drive({ method: 'PUT', path: /analysis\/qa\//, fault: { kind: 'delay', milliseconds: 400 } })
  first.stop.abort(gone())
  const asked = () => world.clouds.drive.requests.slice(from)
  await until('it has looked', () => asked().some(({ path }) => /_service\/accepted/.test(path)))
  await until('it says so', () => asked().some(({ method, path }) => method === 'PUT' && /analysis\/qa\//.test(path)))
  const note = `/handoff/_service/accepted/${first.job.placed()!.id}-9.json`
  world.clouds.drive.write(note, '{}')
  expect(await first.ended).toBe('cancelled')
  expect(recordOf(question)?.status).toBe('failed')
  expect(promises().map(({ path }) => path)).toEqual([note])
  world.clouds.drive.remove(note)
})

test('who joined, took the question over and met what will not pass has promised nothing any more', async () => {
  const question = 'Which promise is taken back?'
  await using process = await world.process({ patient: true })
  const service = serviceOf(process)
  slowModel(5_000)
  const { first, second } = await joinedAndPromised(service, process, question)
  rules.pop()!()
  rules.push(world.clouds.model.behave({ kind: 'broken', status: 400 }))
  first.stop.abort(gone())
  expect(await second.ended).toBe('model')
  expect([recordOf(question)?.status, promises()]).toEqual(['failed', []])
})

test('what was promised about a run is answered about it, though its branch has moved on meanwhile', async () => {
  const question = 'Which run was promised?'
  await using process = await world.process({ patient: true })
  const service = serviceOf(process)
  slowModel(3_000)
  const made = machines()
  const first = asker(service, process, question)
  await first.placed
  await atWork(made)
  const order = orderOf(service, place, process, question)
  const { name } = order.request
  let moved = false
  const request = Object.defineProperty({ ...order.request }, 'name', {
    enumerable: true,
    get: () => (moved ? { ref: 'refs/heads/elsewhere' } : name),
  })
  const joined = Promise.withResolvers<void>()
  const listener = { onAccepted: () => undefined, onJoined: () => joined.resolve(), onPosition: () => undefined }
  const second = startJob({ ...order, request }, never, listener)
  await joined.promise
  await second.promise()
  moved = true
  rules.pop()!()
  first.stop.abort(gone())
  expect((await second.outcome).record.id).toBe(first.job.placed()!.id)
  expect(promises()).toEqual([])
})

test('a post that was promised about a question that never ends in time is not tried for ever', async () => {
  const question = 'Which post never comes?'
  await using process = await world.process({ patient: true })
  const service = serviceOf(process)
  slowModel(5_000)
  const order = { ...orderOf(service, place, process, question), post: { pull: 7 } }
  const stop = new AbortController()
  const accepted = Promise.withResolvers<void>()
  const listener = { onAccepted: () => accepted.resolve(), onJoined: () => undefined, onPosition: () => undefined }
  const job = startJob(order, stop.signal, listener)
  await accepted.promise
  await job.promise()
  stop.abort(outOfTime())
  await job.outcome.catch(() => undefined)
  const made = machines()
  for (let times = 0; times < 9; times += 1) {
    const [note] = await listAccepted(service.context.ports.drive, service.place, 10, never)
    if (!note) break
    await takeUp(doorTo(service), leftOf(note, note.run!, [note]), within(1_500)).catch(() => undefined)
  }
  expect([recordOf(question)?.status, promises()]).toEqual(['failed', []])
  expect(machines() - made).toBeLessThanOrEqual(5)
}, 60_000)

test('a question that was only waited with is not given up for it, however often', async () => {
  const question = 'Who waits so long?'
  await using process = await world.process({ patient: true })
  const service = serviceOf(process)
  const { turns } = await service.shared()
  const other = await turns.enter({ holder: 'other', caller: 'other', until: Date.now() + 600_000 })
  await leftPromised(service, process, question)
  const made = machines()
  for (let times = 0; times < 7; times += 1) {
    const [note] = await listAccepted(service.context.ports.drive, service.place, 10, never)
    const left = leftOf(note!, note!.run!, [note!])
    const ended = await takeUp(doorTo(service), left, within(400)).catch((error: { code: string }) => error.code)
    expect([ended, recordOf(question)?.status]).toEqual(['timeout', 'running'])
  }
  expect(machines()).toBe(made)
  await other.leave()
  await answeredInTheEnd(process, question)
}, 60_000)

test('a question that nobody could answer for a day is given up, and its promise with it', async () => {
  const question = 'Who waits for a day?'
  await using process = await world.process({ patient: true })
  const service = serviceOf(process)
  slowModel(5_000)
  await leftPromised(service, process, question)
  rules.pop()!()
  rules.push(world.clouds.model.behave({ kind: 'busy', retryAfter: '300' }))
  await takeUpAll(serviceOf(process, 25 * laterMs), never).catch(() => undefined)
  expect([recordOf(question)?.status, promises()]).toEqual(['failed', []])
})

test('an answer that is to be posted has to be there before the time is over', async () => {
  await using process = await world.process({ patient: true })
  const order = orderOf(serviceOf(process), place, process, 'What is posted in time?', 1_500)
  slowModel(5_000)
  const listener = { onAccepted: () => undefined, onJoined: () => undefined, onPosition: () => undefined }
  const { outcome } = startJob({ ...order, post: { pull: 7 } }, AbortSignal.timeout(4_000), listener)
  const began = performance.now()
  await expect(outcome).rejects.toMatchObject({ code: 'timeout' })
  expect(performance.now() - began).toBeLessThan(3_000)
  expect([0, 1_000, 300_000].map((left) => beforePosting(left, 0))).toEqual([0, 900, 290_000])
})

test('a machine that waited for its turn ends when its request has to end, and its turn after it', async () => {
  await using process = await world.process({ patient: true })
  const service = serviceOf(process)
  const table = (await service.shared()).turns
  const other = await table.enter({ holder: 'other', caller: 'other', until: Date.now() + 600_000 })
  const made = machines()
  const workBy = Date.now() + 15_000
  slowModel(3_000)
  const { ended } = asker(service, process, 'How long may a machine live?', 15_000)
  await new Promise((resolve) => setTimeout(resolve, 2_500))
  expect(machines()).toBe(made)
  await other.leave()
  await atWork(made)
  const { endsAt } = world.clouds.sandboxes.sandboxes.at(-1)!
  expect(endsAt.getTime()).toBeGreaterThan(workBy)
  expect(endsAt.getTime()).toBeLessThanOrEqual(workBy + 6_500)
  expect(turns().running.map((turn) => turn.until >= endsAt.getTime())).toEqual([true])
  expect(await ended).toBe('done')
}, 30_000)

test.each<[string, Fault]>([
  ['refuses to end', { kind: 'answer', status: 500, body: '{}' }],
  ['says nothing of the end of', { kind: 'hang' }],
])(
  'a machine that E2B %s keeps its place, and the answer is given',
  async (how, fault) => {
    await using process = await world.process({ patient: fault.kind === 'hang' })
    const service = serviceOf(process)
    rules.push(world.clouds.sandboxes.rule({ method: 'DELETE', path: /sandboxes/, fault }))
    const made = machines()
    const began = performance.now()
    const { ended, job } = asker(service, process, `Which machine stays that E2B ${how}?`)
    expect(await ended).toBe('done')
    expect(performance.now() - began).toBeLessThan(15_000)
    const { id } = job.placed()!
    expect(turns().running.map(({ holder }) => holder)).toEqual([id])
    expect(world.clouds.sandboxes.sandboxes[made]!.state).not.toBe('gone')
    for (const takeBack of rules) takeBack()
    await service.context.ports.sandboxes.kill(world.clouds.sandboxes.sandboxes[made]!.id, never)
    const later = await serviceOf(process, laterMs).shared()
    const turn = await later.turns.enter({ holder: how, caller: 'next', until: Date.now() + 2 * laterMs })
    await turn.come(AbortSignal.timeout(1_000))
    await turn.leave()
  },
  40_000,
)

test('a claim is not left standing when what was asked before cannot be listed', async () => {
  const question = 'What of a claim without a past?'
  await using process = await world.process({ patient: true })
  drive({ method: 'GET', path: /analysis\/qa(?!\/)/, fault: { kind: 'answer', status: 403, body: '{}' } })
  const { ended } = asker(serviceOf(process), process, question)
  expect(await ended).toBe('forbidden')
  expect(recordOf(question)?.status).toBe('failed')
})

test('a claim is not left standing when its asker leaves while it is being written', async () => {
  const question = 'What of one who leaves in that moment?'
  await using process = await world.process({ patient: true })
  // What became of the writing is looked up, and that takes a while.
  drive({ method: 'PUT', path: /analysis\/qa\//, times: 1, fault: { kind: 'lose-reply' } })
  drive({ method: 'HEAD', path: /analysis\/qa\//, fault: { kind: 'delay', milliseconds: 300 } })
  const { ended, stop } = asker(serviceOf(process), process, question)
  await until('it is claimed', () => recordOf(question))
  stop.abort(gone())
  expect(await ended).toBe('cancelled')
  expect(recordOf(question)?.status).toBe('failed')
})

test.each([
  ['by that model where it is offered', true],
  ['by none where it is not offered any more', false],
])('a question that was left behind is answered %s', async (_how, offered) => {
  const question = `Which model answers when it is ${offered ? '' : 'not '}offered?`
  await using process = await world.process({ patient: true })
  const usual = serviceOf(process)
  const named = (name: string): Service => {
    const model = { ...usual.context.ports.model, name }
    return makeService({ ...usual.context, ports: { ...usual.context.ports, model } }, usual.limits, usual.clock)
  }
  slowModel(3_000)
  await leftPromised(named('another'), process, question)
  rules.pop()!()
  const [note] = await listAccepted(usual.context.ports.drive, usual.place, 10, never)
  const here = {
    ...doorTo(usual),
    service: async (model?: string) => (model === undefined ? usual : named(model)),
    settings: { models: offered ? ['another'] : [] },
  } as unknown as ReturnType<typeof doorTo>
  await takeUp(here, leftOf(note!, note!.run!, [note!]), within(30_000)).catch(() => undefined)
  expect(recordOf(question)).toMatchObject({ model: 'another', status: offered ? 'done' : 'failed' })
})
