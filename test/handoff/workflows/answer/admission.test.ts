// A place for each question of one process: limits, fairness between callers, and places that are given back.
import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import {
  type Admission,
  type AdmissionLimits,
  makeAdmission,
} from '../../../../src/handoff/workflows/answer/admission.js'
import { readServiceSettings } from '../../../../src/service/settings.js'

const limits: AdmissionLimits = { sandboxes: 2, waiting: 10, perCaller: 10 }
const never = new AbortController().signal

/** A question that has entered: whether it may start, and the positions that it was reported. */
function enter(admission: Admission, caller: string, { sandboxes = 1, signal = never } = {}) {
  const ticket = admission.enter(caller, sandboxes)
  const question = { state: 'waiting', positions: [] as number[], leave: () => ticket[Symbol.dispose]() }
  ticket
    .ready(signal, (position) => question.positions.push(position))
    .then(
      () => {
        question.state = 'admitted'
      },
      ({ code }) => {
        question.state = String(code)
      },
    )
  return question
}

/** Lets what is decided be reported. */
const reported = () => new Promise<void>((resolve) => setImmediate(resolve))

async function states(questions: { state: string }[]): Promise<string[]> {
  await reported()
  return questions.map(({ state }) => state)
}

test('as many questions start as there are sandboxes; the next one starts when one has ended', async () => {
  const admission = makeAdmission(limits)
  const questions = ['a', 'b', 'c', 'd'].map((caller) => enter(admission, caller))
  expect(await states(questions)).toEqual(['admitted', 'admitted', 'waiting', 'waiting'])
  questions[1]!.leave()
  expect(await states(questions)).toEqual(['admitted', 'admitted', 'admitted', 'waiting'])
})

test('a question that waits learns its position, and each time that it changes', async () => {
  const admission = makeAdmission({ ...limits, sandboxes: 1 })
  const [first, second, third] = ['a', 'b', 'c'].map((caller) => enter(admission, caller))
  expect(await states([first!, second!, third!])).toEqual(['admitted', 'waiting', 'waiting'])
  expect([first!.positions, second!.positions, third!.positions]).toEqual([[], [1], [2]])
  first!.leave()
  await reported()
  expect([second!.state, second!.positions, third!.positions]).toEqual(['admitted', [1], [2, 1]])
})

describe('callers take turns', () => {
  test('a caller with one question is not behind all questions of another', async () => {
    const admission = makeAdmission({ ...limits, sandboxes: 1 })
    const many = Array.from({ length: 4 }, () => enter(admission, 'busy'))
    const one = enter(admission, 'quiet')
    expect(await states([...many, one])).toEqual(['admitted', 'waiting', 'waiting', 'waiting', 'waiting'])
    expect(one.positions).toEqual([1])
    many[0]!.leave()
    expect(await states([...many.slice(1), one])).toEqual(['waiting', 'waiting', 'waiting', 'admitted'])
  })

  test('within one caller the question that waits longest goes first', async () => {
    const admission = makeAdmission({ ...limits, sandboxes: 1 })
    const [first, second, third] = Array.from({ length: 3 }, () => enter(admission, 'a'))
    first!.leave()
    expect(await states([second!, third!])).toEqual(['admitted', 'waiting'])
  })

  test('a caller that already uses a sandbox waits for the one that uses none', async () => {
    const admission = makeAdmission(limits)
    const [running, ending] = [enter(admission, 'a'), enter(admission, 'b')]
    const [again, other] = [enter(admission, 'a'), enter(admission, 'c')]
    await reported()
    ending.leave()
    expect(await states([running, again, other])).toEqual(['admitted', 'waiting', 'admitted'])
  })
})

describe('the turn of a caller', () => {
  test('comes before the second question of another caller, also where positions are reported', async () => {
    const admission = makeAdmission({ ...limits, sandboxes: 1 })
    enter(admission, 'running')
    const [first, second, other] = [enter(admission, 'a'), enter(admission, 'a'), enter(admission, 'b')]
    await reported()
    expect([first, second, other].map(({ positions }) => positions.at(-1))).toEqual([1, 3, 2])
  })

  test('follows what its questions use now, and then who was admitted last', async () => {
    const admission = makeAdmission({ ...limits, sandboxes: 4 })
    const running = ['a', 'a', 'a', 'b'].map((caller) => enter(admission, caller))
    const [ofA, ofB] = [enter(admission, 'a'), enter(admission, 'b')]
    await reported()
    running[0]!.leave()
    expect(await states([ofA, ofB])).toEqual(['waiting', 'admitted'])
  })

  test('does not depend on questions that are over', async () => {
    const admission = makeAdmission({ ...limits, sandboxes: 1 })
    const [before, running] = [enter(admission, 'a'), enter(admission, 'b')]
    before.leave()
    const [again, later] = [enter(admission, 'a'), enter(admission, 'c')]
    await reported()
    running.leave()
    expect(await states([again, later])).toEqual(['admitted', 'waiting'])
  })
})

describe('a comparison', () => {
  test('takes two sandboxes, and smaller questions do not pass it by', async () => {
    const admission = makeAdmission(limits)
    const running = enter(admission, 'a')
    const comparison = enter(admission, 'b', { sandboxes: 2 })
    const small = enter(admission, 'c')
    expect(await states([running, comparison, small])).toEqual(['admitted', 'waiting', 'waiting'])
    running.leave()
    expect(await states([comparison, small])).toEqual(['admitted', 'waiting'])
    comparison.leave()
    expect(await states([small])).toEqual(['admitted'])
  })

  test('starts where there is a single sandbox, too', async () => {
    const admission = makeAdmission({ ...limits, sandboxes: 1 })
    expect(await states([enter(admission, 'a', { sandboxes: 2 })])).toEqual(['admitted'])
  })
})

describe('what is over a limit is refused at once', () => {
  const refused = { code: 'sandbox-limit', retryAfterSeconds: 10 }

  test('more questions than may wait', async () => {
    const admission = makeAdmission({ ...limits, sandboxes: 1, waiting: 1 })
    const [running, waiting] = [enter(admission, 'a'), enter(admission, 'b')]
    expect(() => admission.enter('c', 1)).toThrow(expect.objectContaining(refused))
    running.leave()
    expect(await states([waiting, enter(admission, 'c')])).toEqual(['admitted', 'waiting'])
  })

  test('a small question beside a comparison that waits already', async () => {
    const admission = makeAdmission({ ...limits, waiting: 1 })
    const comparison = [enter(admission, 'a'), enter(admission, 'b', { sandboxes: 2 })]
    expect(await states(comparison)).toEqual(['admitted', 'waiting'])
    expect(() => admission.enter('c', 1)).toThrow(expect.objectContaining(refused))
  })

  test('no question may wait, and one is free', async () => {
    const admission = makeAdmission({ ...limits, sandboxes: 1, waiting: 0 })
    expect(await states([enter(admission, 'a')])).toEqual(['admitted'])
    expect(() => admission.enter('b', 1)).toThrow(expect.objectContaining(refused))
  })

  test('one caller leaves three quarters of the queue to others, where nothing is set', () => {
    const { limits: usual } = readServiceSettings({})
    const admission = makeAdmission(usual)
    const taken = () => admission.enter('flood', 1)
    for (let count = 0; count < usual.waiting / 4; count += 1) taken()
    expect(taken).toThrow('as many questions under way')
    for (let other = 0; other < 100; other += 1) admission.enter(`caller ${other}`, 1)
  })

  test('more questions of one caller than it may have; another caller is let in', async () => {
    const admission = makeAdmission({ ...limits, perCaller: 2 })
    const [first] = [enter(admission, 'a'), enter(admission, 'a')]
    expect(() => admission.enter('a', 1)).toThrow(expect.objectContaining(refused))
    const other = enter(admission, 'b')
    first!.leave()
    expect(await states([other, enter(admission, 'a')])).toEqual(['admitted', 'waiting'])
  })
})

describe('a question that is aborted', () => {
  test('while it waits gives its place back: the next one is reported and starts', async () => {
    const admission = makeAdmission({ ...limits, sandboxes: 1 })
    const running = enter(admission, 'a')
    const leaving = new AbortController()
    const aborted = enter(admission, 'b', { signal: leaving.signal })
    const next = enter(admission, 'c')
    await reported()
    leaving.abort(new DOMException('gone', 'AbortError'))
    expect(await states([aborted])).toEqual(['cancelled'])
    aborted.leave()
    await reported()
    expect(next.positions).toEqual([2, 1])
    running.leave()
    expect(await states([next])).toEqual(['admitted'])
  })

  test('or admitted leaves no listener', async () => {
    const admission = makeAdmission({ ...limits, sandboxes: 1 })
    const callers = ['a', 'b'].map((caller) => ({ caller, leaving: new AbortController() }))
    const questions = callers.map(({ caller, leaving: { signal } }) => enter(admission, caller, { signal }))
    callers[1]!.leaving.abort()
    expect(await states(questions)).toEqual(['admitted', 'cancelled'])
    expect(callers.map(({ leaving }) => getEventListeners(leaving.signal, 'abort'))).toEqual([[], []])
  })

  test('before it waits is not admitted', async () => {
    const admission = makeAdmission({ ...limits, sandboxes: 1 })
    expect(await states([enter(admission, 'a', { signal: AbortSignal.abort() })])).toEqual(['cancelled'])
  })

  test('twice gives one place back', async () => {
    const admission = makeAdmission({ ...limits, sandboxes: 1 })
    const first = enter(admission, 'a')
    first.leave()
    first.leave()
    expect(await states([enter(admission, 'a'), enter(admission, 'b')])).toEqual(['admitted', 'waiting'])
  })
})

/** Every question is answered in one tick. Each caller asks its next question when its last was answered; returns the ticks that each had to wait. */
async function ticksWaited(flood: number): Promise<number[]> {
  const admission = makeAdmission({ sandboxes: 4, waiting: 400, perCaller: 100 })
  const flooded = Array.from({ length: flood }, () => enter(admission, 'flood'))
  const callers = Array.from({ length: 19 }, (_, index) => ({ name: `caller ${index}`, waited: 0, left: 5 }))
  const asking = new Map(callers.map((caller) => [caller, enter(admission, caller.name)]))
  while (asking.size > 0) {
    await reported()
    const answered = [...flooded, ...asking.values()].filter(({ state }) => state === 'admitted')
    for (const one of answered) {
      one.leave()
      one.state = 'answered'
    }
    for (const [caller, question] of asking) {
      if (question.state !== 'answered') caller.waited += 1
      else if (--caller.left > 0) asking.set(caller, enter(admission, caller.name))
      else asking.delete(caller)
    }
    while (flood > 0 && flooded.filter(({ state }) => state !== 'answered').length < flood)
      flooded.push(enter(admission, 'flood'))
  }
  return callers.map(({ waited }) => waited)
}

test('while one caller floods, nineteen others wait no longer than twice their time without it', async () => {
  const alone = await ticksWaited(0)
  const beside = await ticksWaited(100)
  expect(Math.max(...alone)).toBeGreaterThan(0)
  expect(beside.filter((waited, index) => waited > 2 * alone[index]!)).toEqual([])
})
