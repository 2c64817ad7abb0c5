// The state that holds across instances, on a real drive: many processes at once, clocks moved by hand, and what is left when somebody dies.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type LocalDrive, startDrive } from '../../../src/emulators/drive9/server/main.js'
import type { Fault } from '../../../src/emulators/faulty-server.js'
import { makeDrive } from '../../../src/handoff/clients/drive9/client.js'
import { systemClock } from '../../../src/handoff/clients/system-clock.js'
import type { Clock } from '../../../src/handoff/domain/clock.js'
import { HandoffError, isHandoffError } from '../../../src/handoff/domain/errors.js'
import { makeBudgets } from '../../../src/handoff/store/caller-budgets.js'
import { beginRequest } from '../../../src/handoff/store/idempotency-keys.js'
import { sharedFile } from '../../../src/handoff/store/optimistic-file.js'
import { makeTurns, type Turns } from '../../../src/handoff/store/sandbox-slots.js'
import { servicePlace } from '../../../src/handoff/store/service-paths.js'
import { manualClock } from '../../support/clock.js'
import { until } from '../../support/until.js'

let local: LocalDrive
let root: string
let count = 0
const never = new AbortController().signal

beforeAll(async () => {
  local = await startDrive()
})

beforeEach(() => {
  count += 1
  root = `/state-${count}/_service`
  local.clearRules()
})

afterAll(async () => {
  await local?.close()
})

const drive = () => makeDrive({ server: local.url, key: local.ownerKey })
/** One whose calls fail at the first failure. */
const hasty = () => makeDrive({ server: local.url, key: local.ownerKey, times: { tries: 1, pauseMs: 1 } })
const noService: Fault = { kind: 'answer', status: 503, body: '{"error":"storage backend unavailable"}' }

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'done',
    (error: unknown) => (isHandoffError(error) ? error.code : String(error)),
  )
}

function counter(clock: Clock = systemClock) {
  return sharedFile<{ count: number; revision?: number }>({
    drive: drive(),
    path: `${root}/turns.json`,
    clock,
    decode: (bytes) => JSON.parse(new TextDecoder().decode(bytes)) as { count: number; revision?: number },
    encode: (state) => new TextEncoder().encode(JSON.stringify(state)),
    empty: () => ({ count: 0 }),
    crowded: ({ count }) => new HandoffError('sandbox-limit', `Crowded at ${count}.`),
  })
}

/** Before each of so many writes somebody else writes: `next` says what, given what stands there. */
function othersAreQuicker(times: number, next: (text: string | undefined) => string): void {
  const path = `${root}/turns.json`
  let left = times
  const match = ({ method, path: at }: { method: string; path: string }) => {
    if (method === 'PUT' && at.includes(root) && left-- > 0) local.write(path, next(local.readFile(path)?.toString()))
    return false
  }
  local.rule({ match, fault: { kind: 'hang' } })
}

const countOne = (text: string | undefined) => JSON.stringify({ count: text ? JSON.parse(text).count + 1 : 1 })

test('three processes count to 150 together, and nothing is lost; few writes do it', async () => {
  const files = [counter(), counter(), counter()]
  const add = (state: { count: number }) => {
    state.count += 1
    return state.count
  }
  const before = local.requests.filter(({ method }) => method === 'PUT').length
  const seen = await Promise.all(Array.from({ length: 150 }, (_none, index) => files[index % 3]!.update(add)))
  expect(new Set(seen).size).toBe(150)
  expect(await counter().update((state) => state.count)).toBe(150)
  expect(local.requests.filter(({ method }) => method === 'PUT').length - before).toBeLessThan(75)
})

test('a change that throws changes nothing, and a look that writes nothing is made on what stands there now', async () => {
  const [one, two] = [counter(), counter()]
  await one.update((state) => {
    state.count = 7
  })
  await two.update((state) => {
    state.count = 8
  })
  expect(await one.update((state) => state.count)).toBe(8)
  await expect(
    one.update(() => {
      throw new Error('not so')
    }),
  ).rejects.toThrow('not so')
  expect(await two.update((state) => state.count)).toBe(8)
})

const asked = async (work: () => Promise<unknown>) => {
  const before = local.requests.length
  await work()
  return local.requests.slice(before).map(({ method }) => method)
}

test('one look tells content and revision; what says no revision, or a wrong one, is looked at twice', async () => {
  const add = (state: { count: number }) => {
    state.count += 1
    return state.count
  }
  const path = `${root}/turns.json`
  expect(await asked(() => counter().update(add))).toEqual(['GET', 'PUT'])
  expect(await asked(() => counter().update(add))).toEqual(['GET', 'PUT'])
  local.write(path, JSON.stringify({ count: 5 }))
  expect(await asked(() => counter().update(add))).toEqual(['GET', 'HEAD', 'GET', 'PUT'])
  local.write(path, JSON.stringify({ count: 7, revision: 2 }))
  expect(await asked(() => counter().update(add))).toEqual(['GET', 'PUT', 'GET', 'HEAD', 'GET', 'PUT'])
  expect(JSON.parse(local.readFile(path)!.toString())).toEqual({ count: 8, revision: 6 })
})

test('who loses against others all the time goes on as long as there is time, and then says what the file is for', async () => {
  const still = { now: () => 1_000, sleep: async () => {} }
  othersAreQuicker(150, countOne)
  const add = (state: { count: number }) => {
    state.count += 1
    return state.count
  }
  expect(await counter(still).update(add)).toBe(151)
  local.clearRules()
  othersAreQuicker(Number.POSITIVE_INFINITY, countOne)
  const clock = manualClock({ jump: true })
  const start = clock.now()
  await expect(counter(clock).update(add)).rejects.toMatchObject({ code: 'sandbox-limit' })
  expect(clock.now() - start).toBeGreaterThanOrEqual(20_000)
  const longest = Math.max(...clock.slept)
  expect(longest).toBeGreaterThan(500)
  expect(longest).toBeLessThanOrEqual(2_000)
})

const limits = { sandboxes: 2, waiting: 3, perCaller: 10 }
const turns = (clock = systemClock, more = {}) =>
  makeTurns(drive(), `${root}/turns.json`, { ...limits, ...more }, clock)
const soon = () => Date.now() + 60_000

test('no more turns than there are, over two processes; who leaves makes room for who waits', async () => {
  const [here, there] = [turns(), turns()]
  const first = await here.enter({ holder: 'a', caller: 'x', until: soon() })
  const second = await there.enter({ holder: 'b', caller: 'x', until: soon() })
  const third = await there.enter({ holder: 'c', caller: 'x', until: soon() })
  await Promise.all([first.come(never), second.come(never)])
  const positions: number[] = []
  let came = false
  const coming = third
    .come(never, (position) => positions.push(position))
    .then(() => {
      came = true
    })
  expect(await here.stateOf('c')).toBe('waiting')
  expect(came).toBe(false)
  await first.leave()
  await coming
  expect(positions).toEqual([1])
  expect(await here.stateOf('c')).toBe('running')
  expect(await here.stateOf('a')).toBe('none')
})

test('who only looks writes nothing, and who is refused neither', async () => {
  const turn = await turns().enter({ holder: 'a', caller: 'x', until: soon(), sandboxes: 2 })
  await turn.come(never)
  expect(await asked(() => turns().stateOf('a'))).toEqual(['GET'])
  expect(await asked(() => codeOf(turns().enter({ holder: 'a', caller: 'x', until: soon() })))).toEqual(['GET'])
  const budgets = () => makeBudgets(drive(), servicePlace(root), { tokensPerDay: 100 }, systemClock)
  const reserve = () => codeOf(budgets().reserve('x', 'a', { tokens: 80, cost: 0 }, soon()))
  expect(await asked(reserve)).toEqual(['GET', 'PUT'])
  expect(await asked(reserve)).toEqual(['GET'])
})

test('turns go round: one question of another caller comes before the tenth of the same', async () => {
  const all = turns(systemClock, { waiting: 20, sandboxes: 1 })
  const busy = await all.enter({ holder: 'busy', caller: 'many', until: soon() })
  const order: string[] = []
  const waiting = []
  for (const [holder, caller] of [
    ['m1', 'many'],
    ['m2', 'many'],
    ['s1', 'single'],
  ] as const) {
    const turn = await all.enter({ holder, caller, until: soon() })
    waiting.push(
      turn.come(never).then(async () => {
        order.push(holder)
        await turn.leave()
      }),
    )
  }
  const other = await turns(systemClock, { sandboxes: 2, waiting: 20 }).enter({
    holder: 'x',
    caller: 'many',
    until: soon(),
  })
  await other.leave()
  await busy.leave()
  await Promise.all(waiting)
  expect(order[0]).toBe('s1')
})

test('what was accepted long ago and put back waits before what came meanwhile', async () => {
  const all = turns(systemClock, { sandboxes: 1, waiting: 9 })
  const enter = (holder: string, since?: number) =>
    all.enter({ holder, caller: 'x', until: soon(), ...(since === undefined ? {} : { since }) })
  const busy = await enter('busy')
  const now = Date.now()
  const wanted: [string, number?][] = [
    ['new'],
    ['old', now - 60_000],
    ['odd', Number.NaN],
    ['to come', now + 60_000],
    ['newest'],
  ]
  const waiting = []
  for (const [holder, since] of wanted) waiting.push(await enter(holder, since))
  const order: string[] = []
  const coming = waiting.map(async (turn, index) => {
    await turn.come(never)
    order.push(wanted[index]![0])
    await turn.leave()
  })
  await busy.leave()
  await Promise.all(coming)
  expect(order).toEqual(['old', 'new', 'odd', 'to come', 'newest'])
})

test('a full queue and a busy caller are told when to come back; the same question twice is not', async () => {
  const all = turns(systemClock, { sandboxes: 1, waiting: 1, perCaller: 2 })
  await all.enter({ holder: 'a', caller: 'x', until: soon() })
  expect(await codeOf(all.enter({ holder: 'a', caller: 'y', until: soon() }))).toBe('in-progress')
  await all.enter({ holder: 'b', caller: 'x', until: soon() })
  expect(await codeOf(all.enter({ holder: 'c', caller: 'x', until: soon() }))).toBe('budget')
  expect(await codeOf(all.enter({ holder: 'd', caller: 'y', until: soon() }))).toBe('sandbox-limit')
})

test('only turns that somebody came for say how long others wait; a busy caller waits until one of their own ends', async () => {
  const clock = manualClock({ start: 1_000_000 })
  const table = turns(clock, { sandboxes: 10, waiting: 0, perCaller: 9 })
  const enter = (holder: string, caller: string, sandboxes = 1) =>
    table.enter({ holder, caller, until: clock.now() + 300_000, sandboxes })
  const after = (refused: Promise<unknown>) => refused.catch((error: HandoffError) => error.retryAfterSeconds)
  for (let count = 0; count < 20; count += 1) await (await enter('refused elsewhere', 'x')).leave()
  for (let count = 0; count < 9; count += 1) await enter(`x${count}`, 'x')
  expect(await after(enter('one more', 'x'))).toBe(15)
  expect(await after(enter('too many', 'y', 2))).toBe(2)
  const worked = await enter('y', 'y')
  await worked.come(never)
  clock.advance(115_000)
  await worked.leave()
  expect(await after(enter('one more', 'x'))).toBe(35)
})

test('who cannot get into a crowded table is told to come again, after a time that is true', async () => {
  othersAreQuicker(Number.POSITIVE_INFINITY, (text) => {
    const state = text ? JSON.parse(text) : { version: 1, running: [], waiting: [], meanMs: 15_000 }
    return JSON.stringify({ ...state, meanMs: state.meanMs + 1 })
  })
  const entering = turns(manualClock({ jump: true })).enter({ holder: 'a', caller: 'x', until: soon() })
  await expect(entering).rejects.toMatchObject({ code: 'sandbox-limit', retryAfterSeconds: 20 })
})

test('a turn whose holder died runs out, and so does a place in the queue', async () => {
  const clock = manualClock({ start: Date.now() })
  const all = turns(clock, { sandboxes: 1, waiting: 1 })
  await all.enter({ holder: 'dead', caller: 'x', until: clock.now() + 5_000 })
  await all.enter({ holder: 'dead too', caller: 'x', until: clock.now() + 5_000 })
  clock.advance(31_000)
  const mine = await all.enter({ holder: 'mine', caller: 'x', until: clock.now() + 5_000 })
  await mine.come(never)
  expect(await all.stateOf('dead')).toBe('none')
  expect(await all.stateOf('mine')).toBe('running')
})

test('who needs two at once is given both together, and is not passed by', async () => {
  const clock = manualClock({ start: 1_000_000 })
  const table = makeTurns(drive(), `${root}/turns.json`, { sandboxes: 2, waiting: 9, perCaller: 9 }, clock)
  const enter = (holder: string, sandboxes: number) =>
    table.enter({ holder, caller: holder, until: clock.now() + 20_000, sandboxes })
  const one = await enter('one', 1)
  const pair = await enter('pair', 2)
  const late = await enter('late', 1)
  const states = () => Promise.all(['one', 'pair', 'late'].map((holder) => table.stateOf(holder)))
  expect(await states()).toEqual(['running', 'waiting', 'waiting'])
  await one.leave()
  expect(await states()).toEqual(['none', 'running', 'waiting'])
  await pair.leave()
  expect(await states()).toEqual(['none', 'none', 'running'])
  await late.leave()
  expect(await codeOf(enter('three', 3))).toBe('missing-setting')
})

test('who comes back late takes nothing from who took the same up meanwhile: neither a turn nor a place', async () => {
  const clock = manualClock({ start: 1_000_000 })
  const [here, there] = [turns(clock, { sandboxes: 1 }), turns(clock, { sandboxes: 1 })]
  const enter = (table: Turns, holder: string, lastsMs: number) =>
    table.enter({ holder, caller: 'x', until: clock.now() + lastsMs })
  const late = await enter(here, 'a', 10_000)
  clock.advance(10_001)
  const [now, next] = [await enter(there, 'a', 300_000), await enter(there, 'b', 300_000)]
  await late.leave()
  expect([await here.stateOf('a'), await here.stateOf('b')]).toEqual(['running', 'waiting'])
  const slow = await enter(here, 'c', 300_000)
  clock.advance(31_000)
  const quick = await enter(there, 'c', 300_000)
  const coming = codeOf(slow.come(never))
  await until('it looks', () => clock.waiting === 1)
  clock.advance(1_000)
  expect(await coming).toBe('in-progress')
  await slow.leave()
  expect(await here.stateOf('c')).toBe('waiting')
  await Promise.all([now, next, quick].map((turn) => turn.leave()))
})

test('two of one process who wait for the same, one after the other, are each told what is theirs', async () => {
  const clock = manualClock({ start: 1_000_000 })
  const table = turns(clock, { sandboxes: 1 })
  const enter = (holder: string) => table.enter({ holder, caller: 'x', until: clock.now() + 300_000 })
  const busy = await enter('busy')
  const [slow, coming] = [await enter('a'), [] as Promise<string>[]]
  clock.advance(31_000)
  const quick = await enter('a')
  for (const turn of [slow, quick]) coming.push(codeOf(turn.come(never)))
  await until('they look', () => clock.waiting === 1)
  await busy.leave()
  clock.advance(1_000)
  expect(await Promise.all(coming)).toEqual(['in-progress', 'done'])
})

test('a place and a turn that an older version wrote, without a word, are known by what they are for', async () => {
  const clock = manualClock({ start: 1_000_000 })
  const table = turns(clock, { sandboxes: 1 })
  const path = `${root}/turns.json`
  const turn = await table.enter({ holder: 'a', caller: 'x', until: clock.now() + 300_000 })
  const state = JSON.parse(local.readFile(path)!.toString())
  delete state.running[0].word
  local.write(path, JSON.stringify(state))
  expect(await codeOf(turns(clock).enter({ holder: 'a', caller: 'y', until: clock.now() + 9_000 }))).toBe('in-progress')
  await turn.leave()
  expect(await table.stateOf('a')).toBe('none')
})

test('a turn is given back though the drive fails for a moment; where it fails for long, who gives back is told and may try again', async () => {
  const clock = manualClock({ jump: true })
  const table = makeTurns(hasty(), `${root}/turns.json`, { ...limits, sandboxes: 1 }, clock)
  const enter = (lastsMs = 300_000) => table.enter({ holder: 'a', caller: 'x', until: clock.now() + lastsMs })
  const first = await enter()
  local.rule({ path: new RegExp(root), fault: noService, times: 5 })
  await first.leave()
  expect(await table.stateOf('a')).toBe('none')
  const second = await enter()
  const works = local.rule({ path: new RegExp(root), fault: noService })
  const start = clock.now()
  expect(await codeOf(second.leave())).toBe('drive')
  const patience = clock.now() - start
  expect(patience).toBeGreaterThan(5_000)
  expect(patience).toBeLessThanOrEqual(10_000)
  works()
  await second.leave()
  expect(await table.stateOf('a')).toBe('none')
  const third = await enter(1_000)
  local.rule({ path: new RegExp(root), fault: noService })
  // It runs out by itself.
  await third.leave()
  expect(clock.now() - start - patience).toBeLessThan(2_500)
})

test('an entry that nobody knows to be written does not stay: neither a turn nor a reservation', async () => {
  const clock = manualClock({ start: Date.parse('2026-11-18T10:00:00Z') })
  const until = clock.now() + 300_000
  const table = makeTurns(hasty(), `${root}/turns.json`, limits, clock)
  const budgets = makeBudgets(hasty(), servicePlace(root), { tokensPerDay: 100 }, clock)
  for (const take of [
    () => table.enter({ holder: 'a', caller: 'x', until }),
    () => budgets.reserve('x', 'a', { tokens: 80, cost: 0 }, until),
  ]) {
    const puts = () => local.requests.filter(({ method }) => method === 'PUT').length
    local.rule({ method: 'PUT', path: new RegExp(root), fault: { kind: 'lose-reply' }, times: 1 })
    // It is written, and cannot be looked at just then.
    const before = puts()
    const match = ({ method }: { method: string }) => method === 'HEAD' && puts() > before
    local.rule({ match, fault: noService, times: 1 })
    expect(await codeOf(take())).toBe('drive')
    local.clearRules()
    expect(await codeOf(take())).toBe('done')
  }
})

test('what was spent is charged though the drive fails when it is settled, and once', async () => {
  const clock = manualClock({ start: Date.parse('2026-11-18T10:00:00Z'), jump: true })
  const budgets = makeBudgets(hasty(), servicePlace(root), { tokensPerDay: 100 }, clock)
  const reserve = (tokens: number) => budgets.reserve('x', 'a', { tokens, cost: 0 }, clock.now() + 300_000)
  const settle = await reserve(80)
  const works = local.rule({ path: new RegExp(root), fault: noService })
  expect(await codeOf(settle({ tokens: 30, cost: 0 }))).toBe('drive')
  works()
  await settle()
  await settle({ tokens: 50, cost: 0 })
  expect(await codeOf(reserve(71))).toBe('budget')
  expect(await codeOf(reserve(70))).toBe('done')
})

test('who stops waiting is told so, and gives the place back', async () => {
  const all = turns(systemClock, { sandboxes: 1 })
  await all.enter({ holder: 'a', caller: 'x', until: soon() })
  const second = await all.enter({ holder: 'b', caller: 'x', until: soon() })
  const stop = new AbortController()
  const coming = codeOf(second.come(stop.signal))
  stop.abort()
  expect(await coming).toBe('cancelled')
  await second.leave()
  expect(await all.stateOf('b')).toBe('none')
})

test('a budget is reserved before and settled after, over two processes, and is whole again the next day', async () => {
  const clock = manualClock({ start: Date.parse('2026-11-18T20:00:00Z') })
  const make = () => makeBudgets(drive(), servicePlace(root), { tokensPerDay: 100 }, clock)
  const [here, there] = [make(), make()]
  const later = () => clock.now() + 60_000
  const settle = await here.reserve('x', 'one', { tokens: 80, cost: 0 }, later())
  const refused = await there.reserve('x', 'two', { tokens: 80, cost: 0 }, later()).catch((error: unknown) => error)
  expect(refused).toMatchObject({ code: 'budget', retryAfterSeconds: 10 })
  await settle({ tokens: 10, cost: 0 })
  await (await there.reserve('x', 'two', { tokens: 80, cost: 0 }, later()))({ tokens: 80, cost: 0 })
  const spent = await here.reserve('x', 'three', { tokens: 80, cost: 0 }, later()).catch((error: unknown) => error)
  expect(spent).toMatchObject({ code: 'budget', retryAfterSeconds: 4 * 3_600 })
  await there.reserve('y', 'four', { tokens: 80, cost: 0 }, later())
  clock.advance(5 * 3_600_000)
  await here.reserve('x', 'five', { tokens: 80, cost: 0 }, later())
})

test('a reservation of somebody who died does not stay', async () => {
  const clock = manualClock({ start: Date.parse('2026-11-18T10:00:00Z') })
  const budgets = makeBudgets(drive(), servicePlace(root), { costPerDay: 1 }, clock)
  await budgets.reserve('x', 'dead', { tokens: 0, cost: 0.9 }, clock.now() + 1_000)
  clock.advance(2_000)
  expect(await codeOf(budgets.reserve('x', 'next', { tokens: 0, cost: 0.9 }, clock.now() + 1_000))).toBe('done')
})

test('a request with a name begins once, is known when it was accepted, and is open again when it failed or its worker died', async () => {
  const path = `${root}/keys/a.json`
  const at = (now: number, body = 'a') =>
    beginRequest(drive(), path, { body: body.repeat(64), now, until: now + 1_000 }, never)
  const begun = await Promise.all(Array.from({ length: 8 }, () => at(1_000)))
  const [first] = begun.filter((one) => one.kind === 'begun')
  expect(begun.map(({ kind }) => kind).sort()).toEqual(['begun', ...Array.from({ length: 7 }, () => 'in-progress')])
  expect((await at(1_500, 'b')).kind).toBe('other-body')
  await first!.release()
  const second = await at(1_600)
  expect(second.kind).toBe('begun')
  expect((await at(1_700)).kind).toBe('in-progress')
  const third = await at(3_000)
  expect(third.kind).toBe('begun')
  if (third.kind === 'begun') await third.accept({ run: 'r', answer: 'x' })
  expect(await at(3_100)).toMatchObject({ kind: 'known', pointer: { run: 'r', answer: 'x' } })
  // The one that was overtaken cannot undo what came after it.
  if (second.kind === 'begun') await second.release()
  expect((await at(3_200)).kind).toBe('known')
  await until('a day later it is forgotten', async () => (await at(3_200 + 86_400_001, 'b')).kind === 'begun')
})

test('whoever leaves while a name is being written hears so at once, and the name is free again', async () => {
  const path = `${root}/keys/left.json`
  const stop = new AbortController()
  const behind: Promise<unknown>[] = []
  // It is written; what became of that is looked up, and takes a while.
  const takeBack = [
    local.rule({ method: 'PUT', path: /left/, times: 1, fault: { kind: 'lose-reply' } }),
    local.rule({ method: 'HEAD', path: /left/, times: 1, fault: { kind: 'delay', milliseconds: 300 } }),
  ]
  const asked = { body: 'a'.repeat(64), now: 1_000, until: 60_000 }
  const asking = beginRequest(drive(), path, asked, stop.signal, (work) => behind.push(work))
  await until('it is written', () => local.readFile(path))
  stop.abort()
  await expect(asking).rejects.toMatchObject({ code: 'cancelled' })
  await Promise.all(behind)
  for (const back of takeBack) back()
  expect((await beginRequest(drive(), path, { ...asked, now: 1_100 }, never)).kind).toBe('begun')
})

test.each(['lose-reply', 'twice'] as const)(
  'whatever the network does to the writes (%s), of those who begin in the same millisecond one has begun',
  async (kind) => {
    const path = `${root}/keys/a.json`
    const takeBack = local.rule({ method: 'PUT', fault: { kind }, times: 2 })
    const at = () => beginRequest(drive(), path, { body: 'a'.repeat(64), now: 1_000, until: 2_000 }, never)
    const begun = await Promise.all([at(), at()])
    takeBack()
    expect(begun.map((one) => one.kind).sort()).toEqual(['begun', 'in-progress'])
  },
)

test.each(['lose-reply', 'twice'] as const)(
  'whatever the network does to the writes (%s), of those who enter for the same one has the turn',
  async (kind) => {
    const clock = manualClock({ start: 1_000_000 })
    const enter = () =>
      makeTurns(drive(), `${root}/turns.json`, { sandboxes: 5, waiting: 5, perCaller: 5 }, clock).enter({
        holder: 'a question',
        caller: 'x',
        until: clock.now() + 60_000,
      })
    const takeBack = local.rule({ method: 'PUT', fault: { kind }, times: 2 })
    const entered = await Promise.all([codeOf(enter()), codeOf(enter())])
    takeBack()
    expect(entered.sort()).toEqual(['done', 'in-progress'])
  },
)

test('a reservation that the network delivers twice is made once', async () => {
  const clock = manualClock({ start: Date.parse('2026-11-18T10:00:00Z') })
  const budgets = makeBudgets(drive(), servicePlace(root), { tokensPerDay: 100 }, clock)
  const takeBack = local.rule({ method: 'PUT', fault: { kind: 'twice' }, times: 1 })
  expect(await codeOf(budgets.reserve('x', 'one', { tokens: 60, cost: 0 }, clock.now() + 1_000))).toBe('done')
  takeBack()
})
