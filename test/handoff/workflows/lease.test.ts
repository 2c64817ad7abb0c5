// A question is held for a minute at a time: its holder renews the lease, and after a crash another process has it within that minute.
import { expect, test } from 'vitest'
import type { ClaimedAnswer } from '../../../src/handoff/domain/answer.js'
import { decodeAnswer } from '../../../src/handoff/domain/answer.js'
import { answerQuestion, isHandoffError } from '../../../src/handoff/index.js'
import { claimAnswer, completeAnswer } from '../../../src/handoff/store/answer-store.js'
import type { Admission } from '../../../src/handoff/workflows/answer/admission.js'
import { findAnswer, placeOf } from '../../../src/handoff/workflows/answer/find-answer.js'
import { answerOrJoin } from '../../../src/handoff/workflows/answer/join-answer.js'
import { leaseMs, newClaim } from '../../../src/handoff/workflows/answer/lease.js'
import { type ManualClock, manualClock } from '../../support/clock.js'
import { summarisedRepository } from '../../support/summarised-repository.js'
import { tokenFiles } from '../../support/token-files.js'
import { until } from '../../support/until.js'

const name = 'octo/tools'
const never = new AbortController().signal
const here = summarisedRepository(name, tokenFiles, { repeated: { searchFor: 'How is the token refreshed?' } })
const about = (text: string) => here.question(text)

/** A process with a clock of its own. */
function processAt(clock: ManualClock) {
  const context = here.stack.makeContext()
  return { ...context, ports: { ...context.ports, clock } }
}

/** A process that has claimed the question and waits for a sandbox, until `open` is called. */
async function working(text: string, clock: ManualClock) {
  const proxy = Promise.withResolvers<void>()
  const admission: Admission = {
    enter: () => ({
      ready(signal) {
        signal.addEventListener('abort', () => proxy.reject(signal.reason))
        return proxy.promise
      },
      [Symbol.dispose]: () => undefined,
    }),
  }
  const context = { ...processAt(clock), admission }
  const { id } = await findAnswer(about(text), context, never)
  const answering = answerQuestion(about(text), context, never)
  answering.catch(() => undefined)
  await until('the lease is kept', () => clock.waiting > 0)
  return { id, answering, open: () => proxy.resolve() }
}

const fileOf = (id: string) => `${here.run.directory}/analysis/qa/${id}.json`
const recordOf = (id: string) => decodeAnswer(here.stack.clouds.drive.readFile(fileOf(id))!)
const leaseOf = (id: string) => Date.parse((recordOf(id) as ClaimedAnswer).leaseUntil)
const machines = () => here.stack.clouds.sandboxes.sandboxes.length
const start = Date.now()
const at = (milliseconds: number) => manualClock({ start: start + milliseconds })

/** A process that claims the question and is never heard of again. */
async function crash(text: string): Promise<string> {
  const context = processAt(at(0))
  const found = await findAnswer(about(text), context, never)
  await claimAnswer(placeOf(found, context), newClaim(found, context, leaseMs), context.ports.clock.now(), never)
  return found.id
}

test('after a crash the same question is refused for a minute, and no longer', async () => {
  const text = 'How is the token refreshed?'
  await crash(text)
  const early = await answerQuestion(about(text), processAt(at(59_000)), never).catch((error: unknown) => error)
  expect(isHandoffError(early, 'in-progress')).toBe(true)
  const { reused, record } = await answerQuestion(about(text), processAt(at(61_000)), never)
  expect({ reused, status: record.status }).toEqual({ reused: false, status: 'done' })
})

test('a caller that joined a process which crashed answers when its lease has expired', async () => {
  const text = 'How does the service go on?'
  const id = await crash(text)
  const clock = at(0)
  const context = processAt(clock)
  const joining = answerOrJoin(await findAnswer(about(text), context, never), context, never)
  await until('it waits for the other process', () => clock.waiting > 0)
  clock.advance(61_000)
  const beats = setInterval(() => clock.advance(1_000), 20)
  const answer = await joining.finally(() => clearInterval(beats))
  expect(answer).toMatchObject({ reused: false, record: { id, status: 'done' } })
})

test('a holder that waits for a sandbox keeps its lease for as long as it waits, and answers', async () => {
  const text = 'What does requestToken need?'
  const clock = at(0)
  const { id, answering, open } = await working(text, clock)
  for (let minute = 0; minute < 5; minute += 1) {
    for (let third = 0; third < 3; third += 1) {
      clock.advance(20_000)
      await until('the lease is renewed', () => leaseOf(id) === clock.now() + 60_000)
      await until('the next renewal is planned', () => clock.waiting > 0)
    }
    const other = await answerQuestion(about(text), processAt(clock), never).catch((error: unknown) => error)
    expect(isHandoffError(other, 'in-progress')).toBe(true)
  }
  open()
  expect(await answering).toMatchObject({ reused: false, record: { id, status: 'done' } })
  expect(clock.waiting).toBe(0)
})

test('while the drive refuses the renewal the work goes on, and its answer is kept', async () => {
  const clock = at(0)
  const { id, answering, open } = await working('Where is colour defined?', clock)
  const refused = here.stack.clouds.drive.rule({
    method: 'PUT',
    path: new RegExp(id),
    fault: { kind: 'answer', status: 403, body: '{"error":"the tenant is suspended"}' },
  })
  const before = leaseOf(id)
  for (let tries = 0; tries < 15; tries += 1) {
    clock.advance(20_000)
    await until('the renewal was refused', () => clock.waiting > 0)
  }
  expect(leaseOf(id)).toBe(before)
  refused()
  open()
  expect(await answering).toMatchObject({ reused: false, record: { id, status: 'done' } })
})

test('a process that was suspended while another answered stops, pays for nothing and tells that answer', async () => {
  const text = 'What is hour used for?'
  const clock = at(0)
  const before = machines()
  const { id, answering } = await working(text, clock)
  const other = await answerQuestion(about(text), processAt(at(600_000)), never)
  expect(other.reused).toBe(false)
  clock.advance(600_000)
  expect(await answering).toMatchObject({ reused: true, record: { id, completedAt: other.record.completedAt } })
  expect(recordOf(id)).toEqual(other.record)
  expect(machines() - before).toBe(1)
})

test('a process that wakes up after its work was done does not overwrite the new answer', async () => {
  const text = 'What do the tools do?'
  const { id, answering, open } = await working(text, at(0))
  const other = await answerQuestion(about(text), processAt(at(600_000)), never)
  open()
  expect(await answering).toMatchObject({ reused: true, record: { id, completedAt: other.record.completedAt } })
  expect(recordOf(id)).toEqual(other.record)
})

test('a process whose question was taken over and is still being answered stops and writes nothing', async () => {
  const text = 'Tell me about issuedAt'
  const clock = at(0)
  const first = await working(text, clock)
  const second = await working(text, at(600_000))
  const claim = recordOf(first.id)
  clock.advance(600_000)
  const ended = await first.answering.catch((error: unknown) => error)
  expect(isHandoffError(ended, 'in-progress')).toBe(true)
  expect(recordOf(first.id)).toEqual(claim)
  second.open()
  expect(await second.answering).toMatchObject({ reused: false, record: { status: 'done' } })
})

test('an answer is kept although a renewal of its own claim came in between', async () => {
  const { id, answering, open } = await working('What does Token hold?', at(0))
  const { drive } = here.stack.context.ports
  const held = { record: recordOf(id) as ClaimedAnswer, revision: (await drive.stat(fileOf(id), never))!.revision }
  const renewed = Buffer.from(JSON.stringify({ ...held.record, leaseUntil: new Date(start + 90_000).toISOString() }))
  await drive.write(fileOf(id), renewed, { expectedRevision: held.revision, signal: never })
  const { leaseUntil: _lease, claim: _claim, ...head } = held.record
  const error = { code: 'model', message: 'It failed.' }
  const failed = { ...head, status: 'failed' as const, completedAt: new Date(start).toISOString(), error }
  expect(await completeAnswer({ drive, directory: here.run.directory, id }, held, failed, never)).toEqual(failed)
  open()
  await answering.catch(() => undefined)
})
